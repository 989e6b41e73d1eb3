"""Pictures of two inputs: the grid, and a base class for displays that draw over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    given_or_new,
    quiet_frame,
)

# both axes have one scale unless one range is more than this many times the other: the picture
# would be a narrow strip
MAX_EQUAL_RATIO = 4.0


class Plane(NamedTuple):
    """A grid over the rows of a table with two columns."""

    x1: FloatArray  # (n1,), coordinates of the grid
    x2: FloatArray  # (n2,)
    rows: FloatArray  # (n_samples, 2)
    points: Any  # (n2 * n1, 2), the grid for a classifier: a frame of the kind of X if X is one
    names: tuple[str, str]  # of the columns

    def on_grid(self, values: FloatArray) -> FloatArray:
        """Values at the points as an array of shape (n2, n1, n)."""
        return values.reshape(len(self.x2), len(self.x1), -1)

    def fields(self, estimator: Any, y: Any) -> dict[str, Any]:
        """What every `PlaneDisplay` is made of."""
        grid = {"x1": self.x1, "x2": self.x2, "X": self.rows, "names": self.names}
        return {**grid, "y": np.asarray(y), "classes": estimator.classes_}


def plane_of(X: Any, *, grid_resolution: int, margin: float) -> Plane:
    """The grid that covers the rows of X, with a margin relative to their range.

    Examples
    --------
    >>> plane = plane_of([[0.0, 0.0], [1.0, 10.0]], grid_resolution=3, margin=0.0)
    >>> plane.x2
    array([ 0.,  5., 10.])
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(
            f"X has shape {rows.shape}, but this plot needs two features; fit and plot two columns."
        )
    low, high = rows.min(axis=0), rows.max(axis=0)
    space = margin * np.where(high > low, high - low, 1.0)
    x1, x2 = np.linspace(low - space, high + space, grid_resolution).T
    points: Any = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    names = ("$x_1$", "$x_2$")
    if hasattr(X, "columns"):
        kind = type(X)  # of pyarrow with other names than pandas and polars
        columns = X.column_names if hasattr(kind, "column_names") else X.columns
        names = (str(columns[0]), str(columns[1]))
        points = getattr(kind, "from_pydict", kind)(dict(zip(columns, points.T, strict=True)))
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


@dataclass(kw_only=True, eq=False, repr=False)
class PlaneDisplay:
    """A picture of two inputs; subclasses have a `plot` that draws what is theirs."""

    x1: FloatArray
    x2: FloatArray
    classes: np.ndarray[Any, Any]
    X: FloatArray
    y: np.ndarray[Any, Any]
    names: tuple[str, str]

    def _start(self, ax: Axes | None) -> None:
        self.ax_ = given_or_new(ax)
        self.figure_: Any = self.ax_.figure
        self.points_: list[Any] = []
        self.legend_: Any = None

    def _draw_image(self, values: FloatArray, **options: Any) -> None:
        """Values or colours on the grid as shading, behind everything else."""
        self.surface_ = self.ax_.imshow(
            values,
            extent=(self.x1[0], self.x1[-1], self.x2[0], self.x2[-1]),
            origin="lower",
            interpolation="bilinear",
            zorder=0,
            **options,
        )

    def _draw_zero_line(
        self, values: Any, *, color: Any, width: float, style: Any, zorder: float = 3
    ) -> Any:
        """The line where values on the grid are zero, as a ContourSet."""
        look: dict[str, Any] = {"colors": [color], "linewidths": width, "linestyles": [style]}
        return self.ax_.contour(self.x1, self.x2, values, levels=[0.0], zorder=zorder, **look)

    def _draw_class_lines(self, P_c: FloatArray, *, width: float) -> None:
        """Where the two most probable classes are equally so: a ContourSet per pair that meets."""
        everywhere = np.ones(P_c.shape[:2], dtype=bool)
        self.class_lines_ = [
            self._draw_zero_line(lead, color="black", width=width, style=DASHES)
            for lead in leads(P_c, everywhere)
        ]

    def _draw_rows(self, *, size: float) -> None:
        """Markers by class: one PathCollection per class that has rows."""
        for c, label in enumerate(self.classes):
            own = self.X[self.y == label]
            if len(own):
                artist = self.ax_.scatter(
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
                self.points_.append(artist)

    def _finish(self) -> None:
        """Names, limits, one scale for both axes where that can be, and a quiet frame."""
        width, height = self.x1[-1] - self.x1[0], self.x2[-1] - self.x2[0]
        is_strip = max(width, height) > MAX_EQUAL_RATIO * min(width, height)
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_.set(aspect="auto" if is_strip else "equal")
        self.ax_.set(xlim=self.x1[[0, -1]], ylim=self.x2[[0, -1]])
        quiet_frame(self.ax_)

    def _draw_legend(self, handles: Sequence[Any], n_columns: int = 3) -> None:
        """A legend below the axes, so that it covers no rows."""
        inches = LEGEND_DISTANCE / 72.0  # from points
        down = ScaledTranslation(0.0, -inches, self.ax_.figure.dpi_scale_trans)
        self.legend_ = self.ax_.legend(
            handles=list(handles),
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=self.ax_.transAxes + down,
            borderaxespad=0.0,
            ncols=n_columns,
            frameon=False,
        )
