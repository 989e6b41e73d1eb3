"""What sections are made of: figures, tables, legends and marks of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sdgm.report.charts import N_COLORS, class_name
from sdgm.report.markup import MINUS, Html, number, tag

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


def marker_index(c: int) -> int:
    """Which outline class c has; it changes when the colours start anew."""
    return (c + c // N_COLORS) % len(MARKERS)


def swatch(c: int) -> Html:
    """The mark of class c in a line of text."""
    return tag(
        "svg",
        tag("path", d=MARKERS[marker_index(c)], class_=class_name(c, "f")),
        viewBox="-1.3 -1.3 2.6 2.6",
        class_="swatch",
        aria_hidden="true",
    )


def class_label(c: int, name: str) -> Html:
    """Mark and name of a class, kept together."""
    return tag("span", swatch(c), name, class_="class-label")


def legend(names: Sequence[str], *more: Html) -> Html:
    """All classes in one line, and other marks."""
    items = [tag("li", class_label(c, name)) for c, name in enumerate(names)]
    return tag("ul", items, [tag("li", each) for each in more], class_="legend")


def section(key: str, title: str, *children: Any) -> Html:
    """A section with its heading; the style sheet counts."""
    return tag("section", tag("h2", title, id=f"{key}-title"), *children, id=key)


def figure(content: Any, caption: Any, class_: str = "") -> Html:
    """A picture and what is to be seen in it."""
    return tag("figure", content, tag("figcaption", caption), class_=class_ or None)


def table(
    head: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    *,
    caption: str | None = None,
    class_: str = "",
    text_columns: int = 1,
) -> Html:
    """A table whose first columns are text and whose others are numbers.

    Wide ones scroll; their caption stands above and does not.
    """

    def cells(row: Sequence[Any], name: str) -> list[Html]:
        made = []
        for i, cell in enumerate(row):
            is_head = name == "th" or i == 0
            scope = None if not is_head else "col" if name == "th" else "row"
            class_of = None if i < text_columns else "number"
            made.append(tag("th" if is_head else "td", cell, scope=scope, class_=class_of))
        return made

    body = tag(
        "table",
        tag("thead", tag("tr", cells(head, "th"))),
        tag("tbody", [tag("tr", cells(row, "td")) for row in rows]),
        class_=class_ or None,
    )
    name = caption or "table"
    scrolling = tag("div", body, class_="scroll", tabindex="0", role="group", aria_label=name)
    if caption is None:
        return scrolling
    return tag("div", tag("p", caption, class_="caption"), scrolling, class_="captioned")


def weight_bar(weight: float, std: float | None, largest: float) -> Html:
    """A weight as a bar from zero, with a whisker of one posterior standard deviation."""
    half, height = 70.0, 12.0
    unit = half / largest if largest > 0 else 0.0
    end = half + unit * weight
    whisker = None
    if std is not None and math.isfinite(std):
        low = max(end - unit * std, 0.0)
        high = min(end + unit * std, 2 * half)
        whisker = tag("path", d=f"M{low:.1f} 6H{high:.1f}", class_="whisker")
    return tag(
        "svg",
        tag("path", d="M70 0V12", class_="axis"),
        tag(
            "rect",
            x=min(half, end),
            y=2.5,
            width=max(abs(end - half), 0.6),
            height=7.0,
            class_="bar-plus" if weight >= 0 else "bar-minus",
        ),
        whisker,
        viewBox=f"0 0 {2 * half:g} {height:g}",
        class_="bar",
        aria_hidden="true",
    )


def plus_minus(weight: float, std: float | None) -> Html:
    """A weight with its posterior standard deviation, both to the digits that it leaves certain."""
    if std is None or not math.isfinite(std) or std <= 0.0:
        return tag("span", number(weight), class_="n")
    decimals = max(1 - math.floor(math.log10(std)), 0)
    if decimals > 5 or abs(weight) >= 1e6:
        return tag("span", f"{number(weight)} ± {number(std, 2)}", class_="n")
    text = f"{weight:,.{decimals}f} ± {std:,.{decimals}f}".replace("-", MINUS)
    return tag("span", text, class_="n")
