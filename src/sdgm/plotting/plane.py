"""What pictures of two inputs share: the grid, the rows, lines where two things are equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from sdgm._typing import BoolArray, FloatArray
from sdgm.plotting.style import (
    DASHES,
    LEGEND_DISTANCE,
    class_color,
    class_marker,
    quiet_frame,
)


class Plane(NamedTuple):
    """A grid over the rows of a table with two columns.

    Attributes
    ----------
    x1, x2 : arrays of shape (n1,) and (n2,)
        Coordinates of the grid.
    rows : array of shape (n_samples, 2)
    points : table of shape (n2 * n1, 2)
        The grid for a classifier: a frame of the same kind as X if X is one.
    names : (str, str)
        Names of the columns.
    """

    x1: FloatArray
    x2: FloatArray
    rows: FloatArray
    points: Any
    names: tuple[str, str]

    def on_grid(self, values: FloatArray) -> FloatArray:
        """Values at the points as an array of shape (n2, n1, n)."""
        return values.reshape(len(self.x2), len(self.x1), -1)


def plane_of(X: Any, *, grid_resolution: int, margin: float) -> Plane:
    """The grid that covers the rows of X.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
    grid_resolution : int
        Points of the grid along each axis.
    margin : float
        Space around the rows, relative to their range.

    Examples
    --------
    >>> plane = plane_of([[0.0, 0.0], [1.0, 10.0]], grid_resolution=3, margin=0.0)
    >>> plane.x2
    array([ 0.,  5., 10.])
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(
            f"X has shape {rows.shape}; this picture can be drawn for two inputs only: fit and "
            f"draw two columns."
        )
    low, high = rows.min(axis=0), rows.max(axis=0)
    space = margin * np.where(high > low, high - low, 1.0)
    x1, x2 = np.linspace(low - space, high + space, grid_resolution).T
    points: Any = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    names = ("$x_1$", "$x_2$")
    if hasattr(X, "columns"):
        names = (str(X.columns[0]), str(X.columns[1]))
        points = type(X)(dict(zip(X.columns, points.T, strict=True)))
    return Plane(x1, x2, rows, points, names)


def leads(P: FloatArray, where: BoolArray) -> Iterator[Any]:
    """For every pair of neighbours, the lead of one over the other where one of them is highest.

    Parameters
    ----------
    P : array of shape (n2, n1, n)
        Probabilities of which the highest wins.
    where : boolean array of shape (n2, n1)
        Points that count.

    Yields
    ------
    lead : masked array of shape (n2, n1)
        Its zero line is the boundary between the two.
    """
    winner = np.where(where, P.argmax(axis=-1), -1)
    for i, j in combinations(np.unique(winner[where]), 2):
        lead = np.ma.masked_array(P[..., i] - P[..., j], (winner != i) & (winner != j))
        if lead.min() < 0.0 < lead.max():
            yield lead


def draw_zero_line(
    ax: Axes,
    x1: FloatArray,
    x2: FloatArray,
    values: Any,
    *,
    color: Any = "black",
    width: float = 2.0,
    style: Any = DASHES,
    zorder: float = 3,
) -> Any:
    """The line where values on the grid are zero, as a ContourSet."""
    return ax.contour(
        x1,
        x2,
        values,
        levels=[0.0],
        colors=[color],
        linewidths=width,
        linestyles=[style],
        zorder=zorder,
    )


def draw_class_lines(
    ax: Axes, x1: FloatArray, x2: FloatArray, P_c: FloatArray, *, width: float = 2.0
) -> list[Any]:
    """Where the two most probable classes are equally so: one ContourSet per pair that meets."""
    everywhere = np.ones(P_c.shape[:2], dtype=bool)
    return [draw_zero_line(ax, x1, x2, lead, width=width) for lead in leads(P_c, everywhere)]


def draw_rows(
    ax: Axes,
    X: FloatArray,
    y: np.ndarray[Any, Any],
    classes: np.ndarray[Any, Any],
    *,
    size: float = 26.0,
) -> list[Any]:
    """Markers by class: one PathCollection per class that has rows."""
    points = []
    for c, label in enumerate(classes):
        own = X[y == label]
        if len(own):
            artist = ax.scatter(
                own[:, 0],
                own[:, 1],
                s=size,
                color=class_color(c),
                marker=class_marker(c),
                edgecolors="white",
                linewidths=0.5,
                zorder=4,
                label=f"class {label}",
            )
            points.append(artist)
    return points


def finish_plane(ax: Axes, x1: FloatArray, x2: FloatArray, names: tuple[str, str]) -> None:
    """Names, limits and a quiet frame."""
    ax.set(xlabel=names[0], ylabel=names[1], aspect="equal")
    ax.set(xlim=x1[[0, -1]], ylim=x2[[0, -1]])
    quiet_frame(ax)


def legend_below(ax: Axes, handles: Sequence[Any], n_columns: int = 3) -> Any:
    """A legend below the axes, so that it covers no rows."""
    down = ScaledTranslation(0.0, -LEGEND_DISTANCE / 72.0, ax.figure.dpi_scale_trans)
    return ax.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + down,
        borderaxespad=0.0,
        ncols=n_columns,
        frameon=False,
    )
