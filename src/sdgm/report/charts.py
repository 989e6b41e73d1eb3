"""Charts as SVG: axes, lines, areas and dots in the classes of the style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sdgm._typing import FloatArray
from sdgm.report.formats import number
from sdgm.report.templates import environment, short

# pixels around a chart: room for the labels of ticks on the left, and of ticks and axis below
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 34
Ticks = Sequence[tuple[float, str]]


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


class Mark(NamedTuple):
    """An element of a picture, with a text that is shown when it is pointed at."""

    element: str
    attributes: dict[str, Any]
    title: str = ""


@dataclass
class Chart:
    """A frame with axes, and marks from the lowest to the topmost."""

    title: str  # with the description, for screen readers
    description: str
    x: Scale
    y: Scale
    width: int = 420
    height: int = 190
    x_label: str = ""
    y_label: str = ""
    x_ticks: Ticks | None = None
    y_ticks: Ticks | None = None
    left: int = LEFT
    marks: list[Mark] = field(default_factory=list)
    top: ClassVar[int] = TOP

    @property
    def right(self) -> int:
        return self.width - RIGHT

    @property
    def bottom(self) -> int:
        return self.height - BOTTOM

    def px(self, values: Any) -> FloatArray:
        """Horizontal positions."""
        return self.left + (self.right - self.left) * self.x(values)

    def py(self, values: Any) -> FloatArray:
        """Vertical positions."""
        return self.bottom - (self.bottom - self.top) * self.y(values)

    @property
    def x_places(self) -> list[tuple[float, str]]:
        """Positions and texts of the horizontal ticks."""
        ticks = self.x_ticks or [(t, number(t)) for t in self.x.ticks(5)]
        return [(float(self.px(value)), text) for value, text in ticks]

    @property
    def y_places(self) -> list[tuple[float, str]]:
        """Positions and texts of the vertical ticks."""
        ticks = self.y_ticks or [(t, number(t)) for t in self.y.ticks(4)]
        return [(float(self.py(value)), text) for value, text in ticks]

    def line(self, x: Any, y: Any, class_: str, *, steps: bool = False) -> None:
        """A line through points; gaps where a value is missing."""
        self.path(_line(self.px(x), self.py(y), steps=steps), f"line {class_}")

    def area(self, x: Any, low: Any, high: Any, class_: str) -> None:
        """The area between two lines."""
        px = self.px(x)
        forth = _points(px, self.py(high))
        back = _points(px[::-1], self.py(np.asarray(low)[::-1]))
        self.path(f"M{forth} L{back}Z", f"area {class_}")

    def dots(self, x: Any, y: Any, class_: str) -> None:
        """Dots in one path; the style sheet sets their size."""
        pairs = zip(self.px(x), self.py(y), strict=True)
        finite = [(a, b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
        self.path("".join(f"M{a:.1f} {b:.1f}h0" for a, b in finite), f"dots {class_}")

    def path(self, d: str, class_: str) -> None:
        """A path, unless it is empty."""
        if d:
            self.marks.append(Mark("path", {"d": d, "class": class_}))

    def circle(self, x: float, y: float, radius: float, class_: str, title: str) -> None:
        """A circle of a radius in the units of the picture, with a text when pointed at."""
        place = {"cx": short(float(self.px(x))), "cy": short(float(self.py(y)))}
        self.marks.append(Mark("circle", {**place, "r": short(radius), "class": class_}, title))

    def svg(self, *, cursor: bool = False) -> str:
        """The picture; with a cursor that the script moves along x."""
        return environment().get_template("chart.svg.j2").module.svg(self, cursor)


def _line(px: FloatArray, py: FloatArray, *, steps: bool) -> str:
    """Path data, broken where a coordinate is missing."""
    parts, pen_up, last = [], True, 0.0
    for a, b in zip(px, py, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            pen_up = True
            continue
        if pen_up:
            parts.append(f"M{a:.1f} {b:.1f}")
        elif steps:
            parts.append(f"H{a:.1f}V{b:.1f}" if b != last else f"H{a:.1f}")
        else:
            parts.append(f"L{a:.1f} {b:.1f}")
        pen_up, last = False, b
    return "".join(parts)


def _points(px: FloatArray, py: FloatArray) -> str:
    return " ".join(f"{a:.1f} {b:.1f}" for a, b in zip(px, py, strict=True))
