"""Charts as SVG: axes, lines, areas and dots in the classes of the style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.report.markup import Html, number, tag

LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 34.0
N_COLORS = 7


@dataclass(frozen=True)
class Scale:
    """From values to a length, linear or logarithmic.

    Examples
    --------
    >>> Scale(1.0, 100.0, log=True)(np.array([1.0, 10.0, 100.0]))
    array([0. , 0.5, 1. ])
    """

    low: float
    high: float
    log: bool = False

    def __call__(self, values: Any) -> FloatArray:
        """Values as shares of the way from low to high."""
        values = np.asarray(values, dtype=np.float64)
        if self.log:
            return np.log(values / self.low) / math.log(self.high / self.low)
        return (values - self.low) / (self.high - self.low)

    def ticks(self, n: int = 5) -> list[float]:
        """Round values between low and high, about n of them."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            if last - first >= 1:
                return [10.0**e for e in range(first, last + 1, (last - first) // n + 1)]
            candidates = [m * 10.0**e for e in range(first - 1, last + 1) for m in (1.0, 2.0, 5.0)]
            return [t for t in candidates if self.low <= t <= self.high]
        raw = (self.high - self.low) / n
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw)
        first_tick = math.ceil(self.low / step - 1e-9)
        last_tick = math.floor(self.high / step + 1e-9)
        found = [k * step for k in range(first_tick, last_tick + 1)]
        return found if len(found) > 1 or n > 20 else self.ticks(2 * n)


def spanning(values: Any, *, log: bool = False, margin: float = 0.05) -> Scale:
    """A scale over finite values, with some room."""
    finite = np.asarray(values, dtype=np.float64).ravel()
    finite = finite[np.isfinite(finite) & ((finite > 0) if log else True)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if log:
        low, high = max(low, 1e-300), max(high, 1e-300)
        room = max((high / low) ** margin, 1.05)
        return Scale(low / room, high * room, log=True)
    size = max(abs(low), abs(high))
    room = margin * (high - low) if high - low > 1e-9 * size else 0.5 * max(size, 1e-9)
    return Scale(low - room, high + room)


@dataclass
class Chart:
    """A frame with axes, drawn into from below to above.

    Attributes
    ----------
    title, description : str
        For those who do not see it.
    x, y : Scale
    width, height : float
        In the units of the picture.
    x_label, y_label : str
    x_ticks, y_ticks : sequence of (value, text), optional
    """

    title: str
    description: str
    x: Scale
    y: Scale
    width: float = 420.0
    height: float = 190.0
    x_label: str = ""
    y_label: str = ""
    x_ticks: Sequence[tuple[float, str]] | None = None
    y_ticks: Sequence[tuple[float, str]] | None = None
    left: float = LEFT
    marks: list[Html] = field(default_factory=list)

    def px(self, values: Any) -> FloatArray:
        """Horizontal positions."""
        return self.left + (self.width - self.left - RIGHT) * self.x(values)

    def py(self, values: Any) -> FloatArray:
        """Vertical positions."""
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * self.y(values)

    def line(self, x: Any, y: Any, class_: str, *, steps: bool = False) -> None:
        """A line through points; gaps where a value is missing."""
        path = _path(self.px(x), self.py(y), steps=steps)
        if path:
            self.marks.append(tag("path", d=path, class_=f"line {class_}"))

    def area(self, x: Any, low: Any, high: Any, class_: str) -> None:
        """The area between two lines."""
        px = self.px(x)
        forth = _points(px, self.py(high))
        back = _points(px[::-1], self.py(np.asarray(low)[::-1]))
        self.marks.append(tag("path", d=f"M{forth} L{back}Z", class_=f"area {class_}"))

    def dots(self, x: Any, y: Any, class_: str) -> None:
        """Dots, all in one path; the style sheet says how large."""
        px, py = self.px(x), self.py(y)
        fits = np.isfinite(px) & np.isfinite(py)
        if fits.any():
            pairs = zip(px[fits], py[fits], strict=True)
            path = "".join(f"M{_short(a)} {_short(b)}h0" for a, b in pairs)
            self.marks.append(tag("path", d=path, class_=f"dots {class_}"))

    def circle(self, x: float, y: float, radius: float, class_: str, title: str = "") -> None:
        """A circle of a radius in the units of the picture, with a word when pointed at."""
        self.marks.append(
            tag(
                "circle",
                tag("title", title) if title else None,
                cx=float(self.px(x)),
                cy=float(self.py(y)),
                r=radius,
                class_=class_,
            )
        )

    def text(self, x: float, y: float, text: str, class_: str = "", anchor: str = "start") -> None:
        """A word at a place."""
        self.marks.append(
            tag(
                "text",
                text,
                x=float(self.px(x)),
                y=float(self.py(y)),
                class_=f"note {class_}",
                text_anchor=anchor,
            )
        )

    def svg(self, *, cursor: bool = False, class_: str = "") -> Html:
        """The picture; with a cursor that the script moves along x."""
        right, bottom = self.width - RIGHT, self.height - BOTTOM
        moved = None
        if cursor:
            moved = tag(
                "line", x1=right, x2=right, y1=TOP, y2=bottom, class_="cursor", visibility="hidden"
            )
        return tag(
            "svg",
            tag("title", self.title),
            tag("desc", self.description),
            self._axes(right, bottom),
            self.marks,
            moved,
            role="img",
            aria_label=f"{self.title}. {self.description}",
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            width=self.width,
            height=self.height,
            class_=f"chart {class_}".strip(),
            data_left=self.left,
            data_right=right,
            data_low=repr(self.x.low),
            data_high=repr(self.x.high),
            data_log="1" if self.x.log else None,
        )

    def _axes(self, right: float, bottom: float) -> list[Html]:
        parts = []
        for value, text in self.y_ticks or [(t, number(t)) for t in self.y.ticks(4)]:
            place = float(self.py(value))
            parts.append(tag("line", x1=self.left, x2=right, y1=place, y2=place, class_="grid"))
            parts.append(
                tag("text", text, x=self.left - 6, y=place + 3.5, text_anchor="end", class_="tick")
            )
        for value, text in self.x_ticks or [(t, number(t)) for t in self.x.ticks(5)]:
            place = float(self.px(value))
            parts.append(tag("line", x1=place, x2=place, y1=bottom, y2=bottom + 4, class_="axis"))
            parts.append(
                tag("text", text, x=place, y=bottom + 15, text_anchor="middle", class_="tick")
            )
        parts.append(tag("line", x1=self.left, x2=right, y1=bottom, y2=bottom, class_="axis"))
        if self.x_label:
            middle = (self.left + right) / 2
            parts.append(
                tag(
                    "text",
                    self.x_label,
                    x=middle,
                    y=self.height - 4,
                    text_anchor="middle",
                    class_="label",
                )
            )
        if self.y_label:
            middle = (TOP + bottom) / 2
            parts.append(
                tag(
                    "text",
                    self.y_label,
                    transform=f"translate(11 {middle:g}) rotate(-90)",
                    text_anchor="middle",
                    class_="label",
                )
            )
        return parts


def class_name(c: int, prefix: str = "c") -> str:
    """Class of the style sheet for class or curve c."""
    return f"{prefix}{c % N_COLORS}"


def _path(px: FloatArray, py: FloatArray, *, steps: bool = False) -> str:
    """Path data, broken where a coordinate is missing."""
    parts, pen_up, last = [], True, 0.0
    for a, b in zip(px, py, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            pen_up = True
            continue
        if pen_up:
            parts.append(f"M{_short(a)} {_short(b)}")
        elif steps:
            parts.append(f"H{_short(a)}V{_short(b)}" if b != last else f"H{_short(a)}")
        else:
            parts.append(f"L{_short(a)} {_short(b)}")
        pen_up, last = False, b
    return "".join(parts)


def _points(px: FloatArray, py: FloatArray) -> str:
    return " ".join(f"{_short(a)} {_short(b)}" for a, b in zip(px, py, strict=True))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
