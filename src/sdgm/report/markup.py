"""HTML that is escaped by construction, and texts and numbers fit to be read."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from typing import Any

# in JSON inside of a script element these could end it, or a line of the script
IN_SCRIPTS = {each: f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
# as printed: a true minus sign, and a dash where there is no number
MINUS, NO_NUMBER = "\u2212", "\u2013"
VOID = {"meta", "input", "br", "col"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | None | Iterable[Any]


def tag(name: str, *children: Child, **attributes: Any) -> Html:
    """An element; every text in it is escaped unless it is `Html`.

    Parameters
    ----------
    name : str
    children : str, Html, None or iterables of them
    attributes :
        Underscores become hyphens, one at the end is dropped; None and False are left out.

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{html.escape(_text(value), quote=True)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Child) -> Html:
    """The markup of all of them, one after the other."""
    if children is None:
        return Html("")
    if isinstance(children, Html):
        return children
    if isinstance(children, str | int):
        return Html(html.escape(str(children), quote=True))
    return Html("".join(joined(child) for child in children))


def _text(value: Any) -> str:
    """A value of an attribute; coordinates need no more than hundredths."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def script_json(value: Any) -> Html:
    r"""JSON that can stand in a script element, whatever the texts in it.

    Examples
    --------
    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, written in IN_SCRIPTS.items():
        text = text.replace(character, written)
    # half of a pair of surrogates cannot be written as UTF-8
    return Html("".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text))


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, and a true minus sign.

    Examples
    --------
    >>> number(0.012345), number(123456.0), number(2.0)
    ('0.0123', '123,456', '2')
    """
    if value is None or not math.isfinite(value):
        return NO_NUMBER
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 9 or size < -4:
        mantissa = value / 10.0**size
        power = str(size).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{mantissa:.{digits - 1}f}·10{power}".replace("-", MINUS)
    text = f"{value:,.{max(digits - 1 - size, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", MINUS)


def fixed(value: float | None, decimals: int) -> str:
    """A number with so many decimals, for columns of a table."""
    if value is None or not math.isfinite(value):
        return NO_NUMBER
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def percent(share: float | None) -> str:
    """A share with a decimal.

    Examples
    --------
    >>> percent(0.0912)
    '9.1 %'
    """
    return NO_NUMBER if share is None or not math.isfinite(share) else f"{100.0 * share:.1f} %"
