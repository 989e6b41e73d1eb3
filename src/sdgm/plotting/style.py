"""What the pictures share: colours, markers, line styles and axes."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can distinguish; black is for boundaries
CLASS_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
CLASS_MARKERS = ("o", "^", "s", "D", "v", "P", "X")
# share of the class colour where the class is certain, the rest is white: markers stand out
SHADE = 0.36
# boundaries between classes
DASHES = (0, (4, 2))
# boundaries between components, by class, so that classes can be distinguished without colour
COMPONENT_DASHES = ((0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)), (0, (6, 2, 1, 1, 1, 2)), (0, (9, 2)))
FRAME_COLOR = "0.6"
# width and height in inches, 4 to 3
FIGURE_SIZE = (7.2, 5.4)
# points between the axes and the legend below, room for tick and axis labels
LEGEND_DISTANCE = 36


def new_axes(figsize: tuple[float, float] = FIGURE_SIZE) -> Axes:
    """Axes on a figure, of a size in inches, that pyplot does not know: for pictures in files.

    Examples
    --------
    >>> ax = new_axes()
    >>> ax.figure.get_layout_engine() is not None
    True
    """
    return Figure(figsize=figsize, layout="constrained").add_subplot()


def given_or_new(ax: Axes | None, figsize: tuple[float, float] = FIGURE_SIZE) -> Axes:
    """The given axes, or axes of a new pyplot figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def two_panels(ax: Any, heights: tuple[float, float], figsize: tuple[float, float]) -> list[Axes]:
    """A pair of axes, one above the other with a shared x axis, in the place of one.

    A pair is taken as it is; None is a new pyplot figure.
    """
    if ax is not None and not isinstance(ax, Axes):
        upper, lower = ax
        return [upper, lower]
    place = given_or_new(ax, figsize)
    where = place.get_subplotspec()
    if where is None:
        raise ValueError(
            "axes that are not part of a grid cannot be split into two panels; pass axes made by "
            "add_subplot, or a pair of them."
        )
    grid = where.subgridspec(2, 1, height_ratios=heights)
    figure = place.figure
    place.remove()
    upper = figure.add_subplot(grid[0])
    lower = figure.add_subplot(grid[1], sharex=upper)
    upper.tick_params(labelbottom=False)
    for each in upper, lower:
        quiet_frame(each)
    return [upper, lower]


def quiet_frame(ax: Axes) -> None:
    """Frame and ticks in grey, behind what is drawn."""
    ax.spines[:].set_color(FRAME_COLOR)
    ax.tick_params(color=FRAME_COLOR, which="both")


def index_of(name: str, label: Any, kind: str, labels: Any) -> int:
    """Position of a label that a user named, among labels or classes."""
    known = labels.tolist()
    if label not in known:
        raise ValueError(f"{name} {label!r} is not among the {kind} {known}; pass one of them.")
    return int(known.index(label))


def class_color(c: int) -> tuple[float, float, float]:
    """Colour of class or curve c, as red, green and blue."""
    return to_rgb(CLASS_COLORS[c % len(CLASS_COLORS)])


def class_marker(c: int) -> str:
    """Marker of class or curve c."""
    return CLASS_MARKERS[c % len(CLASS_MARKERS)]


def component_dashes(c: int) -> Any:
    """Line style between components of class c."""
    return COMPONENT_DASHES[c % len(COMPONENT_DASHES)]
