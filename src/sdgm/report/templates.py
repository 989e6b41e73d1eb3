"""The templates of a report; every text that enters one is escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from sdgm.report.formats import fixed, number, percent, plus_minus, short_count
from sdgm.text import counted, listed, shown

N_COLORS = 7  # .c0 to .c6 in assets/style.css
# outlines in a square of side 2 around zero: circle, triangle, square, diamond, and so on
MARKERS = (
    "M-.9 0a.9.9 0 1 0 1.8 0a.9.9 0 1 0-1.8 0Z",
    "M0-1L1 .8H-1Z",
    "M-.8-.8H.8V.8H-.8Z",
    "M0-1.1L1.1 0 0 1.1-1.1 0Z",
    "M0 1L1-.8H-1Z",
    "M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
    "M0-1.1L.3-.35 1.1-.3.5.25.7 1 0 .6-.7 1-.5.25-1.1-.3-.3-.35Z",
)


@cache
def environment() -> Any:
    """Jinja's environment with our filters; autoescape is on for every template."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError:
        raise ImportError(
            'Reports need jinja2, which is not installed: pip install "sdgm[report]"'
        ) from None
    made = Environment(
        loader=PackageLoader("sdgm.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    texts = counted, listed, shown, fixed, number, percent, plus_minus, short_count
    made.filters |= {each.__name__: each for each in (*texts, color, marker, short)}
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made


def rendered(template: str, **values: Any) -> str:
    """The text of a template."""
    return environment().get_template(template).render(**values)


def asset(name: str) -> str:
    """A style sheet or script of the package."""
    return files("sdgm.report").joinpath("assets", name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The name of an inline style or script in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def color(c: int, prefix: str = "c") -> str:
    """Class of the style sheet for class or curve c."""
    return f"{prefix}{c % N_COLORS}"


def marker(c: int) -> str:
    """Outline of class c; it changes when the colours start again."""
    return MARKERS[(c + c // N_COLORS) % len(MARKERS)]


def short(value: float) -> str:
    """A coordinate to hundredths."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
