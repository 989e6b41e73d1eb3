"""Where a classifier of two inputs says which class, how surely, and by which component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sdgm._typing import FloatArray, IntArray
from sdgm.plotting.plane import PlaneDisplay, leads, plane_of
from sdgm.plotting.style import DASHES, SHADE, class_color, component_dashes


class Look(NamedTuple):
    """Sizes of markers and circles in square points, widths of lines in points."""

    rows: float
    circles: float
    circle_width: float
    class_line: float
    component_line: float


# for a figure of its own, and for several small pictures side by side
LARGE = Look(rows=26, circles=130, circle_width=1.8, class_line=2.0, component_line=1.8)
SMALL = Look(rows=12, circles=60, circle_width=1.2, class_line=1.6, component_line=1.4)


@dataclass(kw_only=True, eq=False, repr=False)
class BoundaryDisplay(PlaneDisplay):
    """Decision regions of a classifier with two features.

    Regions have the colour of the predicted class, paler where the probability is lower. As in
    Figure 1 of the paper, black dashed lines are boundaries between classes, and coloured lines are
    boundaries between components of the predicted class, with different dashes for every class.
    Training rows are markers; relevance vectors are circled.

    Make it with `from_estimator`.

    Parameters
    ----------
    x1, x2 : arrays of shape (n1,) and (n2,)
        Coordinates of the grid.
    P_c : array of shape (n2, n1, n_classes)
        Class posterior on the grid.
    P_cm, component_class : arrays of shape (n2, n1, n_components) and (n_components,), or None
        Component posterior on the grid and class index of each component, if available.
    classes : array of shape (n_classes,)
    X, y : arrays of shape (n_samples, 2) and (n_samples,)
        Rows to draw.
    relevance_vectors : array of shape (n_vectors, 2), or None
    names : (str, str)
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    surface_ : AxesImage
        The shading.
    class_lines_ : list of ContourSet
        One per pair of classes that meet.
    component_lines_ : dict from class index to list of ContourSet
        One per pair of neighbouring components of the class.
    points_ : list of PathCollection
        One per class that has rows; empty without rows.
    relevance_points_ : PathCollection or None
    legend_ : Legend or None
    """

    P_c: FloatArray
    P_cm: FloatArray | None
    component_class: IntArray | None
    relevance_vectors: FloatArray | None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        grid_resolution: int = 500,
        margin: float = 0.08,
        ax: Axes | None = None,
        legend: bool | None = None,
        rows: bool = True,
        relevance: bool = True,
        compact: bool = False,
    ) -> Self:
        """Plot a fitted classifier with two features and the rows X, y.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba`
            Component boundaries need `predict_component_proba`, and circles need
            ``relevance_vectors_``; otherwise they are left out.
        X, y : array-likes of shape (n_samples, 2) and (n_samples,)
        grid_resolution : int, default=500
            Number of grid points per axis.
        margin : float, default=0.08
            Space around the rows, relative to their range.
        ax : matplotlib Axes, optional
            By default a new pyplot figure.
        legend : bool, optional
            Whether to put a legend below the axes; by default unless ``compact``.
        rows, relevance : bool, default=True
            Whether to draw the rows, and the circles around relevance vectors.
        compact : bool, default=False
            For small panels: small markers, no ticks and no axis labels.

        Examples
        --------
        >>> from sdgm import KernelSDGMClassifier
        >>> from sdgm.datasets import make_ripley
        >>> from sdgm.plotting import new_axes
        >>> X, y, _, _ = make_ripley().split()
        >>> model = KernelSDGMClassifier(random_state=0).fit(X, y)
        >>> display = BoundaryDisplay.from_estimator(model, X, y, ax=new_axes())
        >>> display.figure_.savefig("boundary.png", dpi=150)  # doctest: +SKIP
        """
        plane = plane_of(X, grid_resolution=grid_resolution, margin=margin)
        P_cm = component_class = None
        if hasattr(estimator, "predict_component_proba"):
            P_cm = plane.on_grid(estimator.predict_component_proba(plane.points))
            component_class = estimator.component_class_
        display = cls(
            P_c=plane.on_grid(estimator.predict_proba(plane.points)),
            P_cm=P_cm,
            component_class=component_class,
            relevance_vectors=getattr(estimator, "relevance_vectors_", None),
            **plane.fields(estimator, y),
        )
        return display.plot(ax=ax, legend=legend, rows=rows, relevance=relevance, compact=compact)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        legend: bool | None = None,
        rows: bool = True,
        relevance: bool = True,
        compact: bool = False,
    ) -> Self:
        """Draw, with parameters as in `from_estimator`; returns self."""
        self._start(ax)
        self._look = SMALL if compact else LARGE
        self._draw_shading()
        self._draw_class_lines(self.P_c, width=self._look.class_line)
        self._draw_component_lines()
        if rows:
            self._draw_rows(size=self._look.rows)
        self.relevance_points_ = self._draw_circles() if relevance else None
        self._finish()
        if compact:
            self.ax_.set(xticks=[], yticks=[], xlabel="", ylabel="")
        if legend or (legend is None and not compact):
            self._draw_legend(self.legend_handles())
        return self

    def legend_handles(self) -> list[Any]:
        """The artists that the legend names, for one legend of several pictures; after `plot`."""
        look = self._look
        handles: list[Any] = list(self.points_)
        for c in self.component_lines_:
            name = f"between components of class {self.classes[c]}"
            style: dict[str, Any] = {"color": class_color(c), "ls": component_dashes(c)}
            handles.append(Line2D([], [], lw=look.component_line, label=name, **style))
        name = "between classes (P = 0.5)" if len(self.classes) == 2 else "between classes"
        handles.append(Line2D([], [], color="black", ls=DASHES, lw=look.class_line, label=name))
        if self.relevance_points_ is not None:
            handles.append(self.relevance_points_)
        return handles

    def _draw_shading(self) -> None:
        """The winner's colour, mixed with white by its lead over the second."""
        two_best = np.sort(self.P_c, axis=-1)[..., -2:]
        lead = (two_best[..., 1] - two_best[..., 0])[..., None]
        color = np.array([class_color(c) for c in range(len(self.classes))])
        winner = color[self.P_c.argmax(axis=-1)]  # (n2, n1, 3)
        self._draw_image(1.0 - SHADE * lead * (1.0 - winner))

    def _draw_component_lines(self) -> None:
        """Lines between the components of a class, where the class wins."""
        self.component_lines_: dict[int, list[Any]] = {}
        if self.P_cm is None:
            return
        winner = self.P_c.argmax(axis=-1)
        for c in range(len(self.classes)):
            own = self.P_cm[..., self.component_class == c]
            look: dict[str, Any] = {"color": class_color(c), "style": component_dashes(c)}
            lines = [
                self._draw_zero_line(lead, width=self._look.component_line, zorder=2, **look)
                for lead in leads(own, winner == c)
            ]
            if lines:
                self.component_lines_[c] = lines

    def _draw_circles(self) -> Any:
        """Circles around relevance vectors, if there are any."""
        if self.relevance_vectors is None or not len(self.relevance_vectors):
            return None
        return self.ax_.scatter(
            self.relevance_vectors[:, 0],
            self.relevance_vectors[:, 1],
            s=self._look.circles,
            facecolors="none",
            edgecolors="black",
            linewidths=self._look.circle_width,
            zorder=5,
            clip_on=False,
            label=f"relevance vectors ({len(self.relevance_vectors)})",
        )
