"""Tables and numbers on the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "pages"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [" | ".join(map(str, row)) for row in (head, ["---"] * len(head), *rows)]
    return "".join(f"| {line} |\n" for line in lines)


def number(value: float | None, form: str) -> str:
    """A number in a format; empty where there is none."""
    return "" if value is None else format(value, form)


def percent(share: float | None, digits: int = 2) -> str:
    """A share in percent, without the sign, which the head of the column has."""
    return "" if share is None else f"{100 * share:.{digits}f}"


def duration(seconds: float) -> str:
    """Three digits in the unit that suits."""
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{1000 * seconds:.3g} ms"


def texts(name: str) -> dict[str, str]:
    """Paragraphs of ``pages/NAME.md``, each after a comment with its own name."""
    parts = (PAGES / f"{name}.md").read_text(encoding="utf-8").split("<!-- ")[1:]
    return dict(part.split(" -->\n", 1) for part in parts)


def write_filled(output: Path, name: str, **values: Any) -> Path:
    """The page ``pages/NAME.md`` with values in its braces, among the results."""
    return write(output / "results" / f"{name}.md", [filled(name, **values)])


def filled(name: str, **values: Any) -> str:
    """``pages/NAME.md`` with values in its braces."""
    return (PAGES / f"{name}.md").read_text(encoding="utf-8").format(**values)


def write(path: Path, parts: Iterable[str]) -> Path:
    """A page of paragraphs and tables, an empty line between two of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(part.strip("\n") for part in parts) + "\n", encoding="utf-8")
    return path
