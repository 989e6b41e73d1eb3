"""How the pictures of all pages look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

# colours that everyone can tell apart (Okabe and Ito)
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
PURPLE, ORANGE = "#CC79A7", "#E69F00"
DPI = 150


def panels(n_rows: int, n_columns: int, size: tuple[float, float], **sharing: Any) -> Any:
    """A figure and its axes, as an array of rows and columns."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **sharing)


def logarithmic(ax: Any, *, label: Any = lambda value, _: f"{value:,g}") -> None:
    """Logarithmic axes with plain numbers, on a grid."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(label))
    ax.yaxis.set_minor_formatter(NullFormatter())
    low, high = ax.get_ylim()
    if high < 100.0 * low:  # a power of ten now and then is too little
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.grid(color="0.9")
    ax.set_axisbelow(True)


def slope_one(ax: Any, ends: Any, height: float) -> None:
    """A dotted line through (ends[0], height) that grows as its argument does."""
    ends = [float(end) for end in ends]
    ax.plot(ends, [height, height * ends[1] / ends[0]], ":", color=GREY, lw=1.2)
    middle = (ends[0] * ends[1]) ** 0.5
    ax.annotate("slope 1", (middle, height * middle / ends[0]), color=GREY, fontsize=8.5,
                xytext=(4, -4), textcoords="offset points", va="top")  # fmt: skip


def time_label(seconds: float, _: Any = None) -> str:
    """A tick of a logarithmic axis."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"


def save(figure: Figure, path: Path, dpi: float = DPI) -> None:
    """In a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
