"""Follow every link of a built site, and find what it would load from elsewhere.

    python tools/check_site.py site

Pages, pictures, files and headings that links lead to must be there. Pages must be readable without
a network: scripts, styles and pictures come from the site itself.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# elements that load something, against those that lead somewhere
LOADED = {"script", "img", "source", "iframe", "video", "object", "link"}


@dataclass
class Page(HTMLParser):
    """Names of places in a page, and what it leads to: element and address."""

    places: set[str] = field(default_factory=set)
    addresses: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember an element."""
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.places.add(value)
            if value and name in {"href", "src", "data"}:
                self.addresses.append((tag, value))


def pages_of(site: Path) -> dict[Path, Page]:
    """All pages, read."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    return pages


def problem_of(tag: str, address: str, path: Path, pages: dict[Path, Page]) -> str | None:
    """What is wrong with one address of a page, or None."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        loads = tag in LOADED and parts.scheme != "data"
        return "is loaded from elsewhere" if loads else None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return "does not exist"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
        return "has no such heading"
    return None


def problems_of(site: Path) -> list[str]:
    """What is wrong with the addresses of a site, one line each."""
    pages = pages_of(site.resolve())
    return [
        f"{path.relative_to(site.resolve())}: {address} {problem}"
        for path, page in pages.items()
        if path.name != "404.html"  # is shown at any address, and so has absolute ones
        for tag, address in page.addresses
        if (problem := problem_of(tag, address, path, pages))
    ]


def main(folder: str) -> int:
    """Print the problems; 1 if there are any."""
    site = Path(folder)
    if not (site / "index.html").is_file():
        print(f"{site} has no index.html; build the documentation first", file=sys.stderr)
        return 1
    problems = problems_of(site)
    print(*problems, f"{len(pages_of(site))} pages, {len(problems)} bad links", sep="\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "site"))
