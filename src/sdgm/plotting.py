"""Pictures of fitted classifiers, in scikit-learn's Display convention (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Self

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray

try:
    from matplotlib.axes import Axes
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'sdgm.plotting needs matplotlib: pip install "sdgm[plot]"', name=error.name
    ) from error

# Okabe and Ito's colours, which colour-blind readers tell apart; black is left for boundaries
CLASS_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
CLASS_MARKERS = ("o", "^", "s", "D", "v", "P", "X")
# how much of its colour a region has where its class is certain; the rest is white
SHADE = 0.36
DASHES = (0, (4, 2))
FRAME_COLOR = "0.6"
FIGURE_SIZE = (7.2, 5.4)
# points between the axes and the legend below, room for tick and axis labels
LEGEND_DISTANCE = 36


def new_axes(figsize: tuple[float, float] = FIGURE_SIZE) -> Axes:
    """Axes on a figure that pyplot does not know, for pictures that go to a file.

    Parameters
    ----------
    figsize : (width, height) in inches

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = new_axes()
    >>> ax.figure.get_layout_engine() is not None
    True
    """
    return Figure(figsize=figsize, layout="constrained").add_subplot()


class BoundaryDisplay:
    """A classifier of two inputs: where it says which class, how surely, and by which component.

    Regions are shaded in the colour of their class, the paler the less sure. Dashed lines, as in
    Figure 1 of the paper: black where the two most probable classes are equally so, coloured where
    two components of the class that wins there are. Training rows are markers, and those that are
    relevance vectors have a circle.

    Make it with `from_estimator`.

    Parameters
    ----------
    x1, x2 : arrays of shape (n1,) and (n2,)
        Coordinates of the grid.
    P_c : array of shape (n2, n1, n_classes)
        Class posterior on the grid.
    P_cm : array of shape (n2, n1, n_components), or None
        Component posterior, if the classifier has components.
    component_class : array of shape (n_components,), or None
        Class index of each component.
    classes : array of shape (n_classes,)
        Labels.
    X, y : arrays of shape (n_samples, 2) and (n_samples,)
        Rows to draw.
    relevance_vectors : array of shape (n_vectors, 2), or None
    names : (str, str)
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    surface_ : AxesImage
        The shading.
    class_lines_ : list of ContourSet
        One per pair of classes that meet.
    component_lines_ : dict from class index to list of ContourSet
        One per pair of its components that meet; only classes where some do.
    points_ : list of PathCollection
        One per class that has rows.
    relevance_points_ : PathCollection or None
    legend_ : Legend or None
    """

    ax_: Axes
    figure_: Any
    surface_: Any
    class_lines_: list[Any]
    component_lines_: dict[int, list[Any]]
    points_: list[Any]
    relevance_points_: Any
    legend_: Any

    def __init__(
        self,
        *,
        x1: FloatArray,
        x2: FloatArray,
        P_c: FloatArray,
        P_cm: FloatArray | None,
        component_class: IntArray | None,
        classes: np.ndarray[Any, Any],
        X: FloatArray,
        y: np.ndarray[Any, Any],
        relevance_vectors: FloatArray | None,
        names: tuple[str, str],
    ) -> None:
        self.x1 = x1
        self.x2 = x2
        self.P_c = P_c
        self.P_cm = P_cm
        self.component_class = component_class
        self.classes = classes
        self.X = X
        self.y = y
        self.relevance_vectors = relevance_vectors
        self.names = names

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
        legend: bool = True,
    ) -> Self:
        """Draw a fitted classifier of two inputs over the rows X, y.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba`
            Component boundaries need `predict_component_proba` as well, circles
            ``relevance_vectors_``; without them they are left out.
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
        grid_resolution : int, default=500
            Points of the grid along each axis.
        margin : float, default=0.08
            Space around the rows, relative to their range.
        ax : matplotlib Axes, optional
            Where to draw; on a new figure of pyplot's if not given.
        legend : bool, default=True
            Whether to put a legend below the axes.

        Returns
        -------
        display : BoundaryDisplay

        Examples
        --------
        >>> from sdgm import KernelSDGMClassifier
        >>> from sdgm.datasets import make_ripley
        >>> X, y, _, _ = make_ripley().split()
        >>> model = KernelSDGMClassifier(random_state=0).fit(X, y)
        >>> display = BoundaryDisplay.from_estimator(model, X, y, ax=new_axes())
        >>> display.figure_.savefig("boundary.png", dpi=150)  # doctest: +SKIP
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(
                f"X has shape {rows.shape}; a boundary can be drawn for two inputs only."
            )
        low, high = rows.min(axis=0), rows.max(axis=0)
        space = margin * np.where(high > low, high - low, 1.0)
        x1, x2 = np.linspace(low - space, high + space, grid_resolution).T
        grid = np.stack(np.meshgrid(x1, x2), axis=-1)  # (n2, n1, 2)
        points: Any = grid.reshape(-1, 2)
        names = ("$x_1$", "$x_2$")
        if hasattr(X, "columns"):
            names = (str(X.columns[0]), str(X.columns[1]))
            points = type(X)(dict(zip(X.columns, points.T, strict=True)))

        def on_grid(values: FloatArray) -> FloatArray:
            return values.reshape(*grid.shape[:2], -1)

        P_cm = component_class = None
        if hasattr(estimator, "predict_component_proba"):
            P_cm = on_grid(estimator.predict_component_proba(points))
            component_class = estimator.component_class_
        display = cls(
            x1=x1,
            x2=x2,
            P_c=on_grid(estimator.predict_proba(points)),
            P_cm=P_cm,
            component_class=component_class,
            classes=estimator.classes_,
            X=rows,
            y=np.asarray(y),
            relevance_vectors=getattr(estimator, "relevance_vectors_", None),
            names=names,
        )
        return display.plot(ax=ax, legend=legend)

    def plot(self, *, ax: Axes | None = None, legend: bool = True) -> Self:
        """Draw on given axes, or on a new figure of pyplot's.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        legend : bool, default=True

        Returns
        -------
        self
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=FIGURE_SIZE, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw_shading()
        self._draw_boundaries()
        self._draw_rows()
        ax.set(xlabel=self.names[0], ylabel=self.names[1], aspect="equal")
        ax.set(xlim=self.x1[[0, -1]], ylim=self.x2[[0, -1]])
        ax.spines[:].set_color(FRAME_COLOR)
        ax.tick_params(color=FRAME_COLOR)
        self.legend_ = self._draw_legend() if legend else None
        return self

    def _draw_shading(self) -> None:
        """The winner's colour, mixed with white by its lead over the second."""
        two_best = np.sort(self.P_c, axis=-1)[..., -2:]
        lead = (two_best[..., 1] - two_best[..., 0])[..., None]
        color = np.array([self._color(c) for c in range(len(self.classes))])
        winner = color[self.P_c.argmax(axis=-1)]  # (n2, n1, 3)
        self.surface_ = self.ax_.imshow(
            1.0 - SHADE * lead * (1.0 - winner),
            extent=(self.x1[0], self.x1[-1], self.x2[0], self.x2[-1]),
            origin="lower",
            interpolation="bilinear",
            zorder=0,
        )

    def _draw_boundaries(self) -> None:
        """Lines between classes, and between the components of a class where it wins."""
        winner = self.P_c.argmax(axis=-1)
        everywhere = np.ones(winner.shape, dtype=bool)
        self.class_lines_ = [
            self._draw_zero_line(lead, "black", width=2.0, zorder=3)
            for lead in leads(self.P_c, everywhere)
        ]
        self.component_lines_ = {}
        if self.P_cm is None:
            return
        for c in range(len(self.classes)):
            own = self.P_cm[..., self.component_class == c]
            lines = [
                self._draw_zero_line(lead, self._color(c), width=1.8, zorder=2)
                for lead in leads(own, winner == c)
            ]
            if lines:
                self.component_lines_[c] = lines

    def _draw_zero_line(self, values: Any, color: Any, *, width: float, zorder: float) -> Any:
        return self.ax_.contour(
            self.x1,
            self.x2,
            values,
            levels=[0.0],
            colors=[color],
            linewidths=width,
            linestyles=[DASHES],
            zorder=zorder,
        )

    def _draw_rows(self) -> None:
        """Rows by class, and circles around relevance vectors."""
        self.points_ = []
        for c, label in enumerate(self.classes):
            own = self.X[self.y == label]
            if len(own):
                points = self.ax_.scatter(
                    own[:, 0],
                    own[:, 1],
                    s=26,
                    color=self._color(c),
                    marker=CLASS_MARKERS[c % len(CLASS_MARKERS)],
                    edgecolors="white",
                    linewidths=0.5,
                    zorder=4,
                    label=f"class {label}",
                )
                self.points_.append(points)
        self.relevance_points_ = None
        if self.relevance_vectors is not None and len(self.relevance_vectors):
            self.relevance_points_ = self.ax_.scatter(
                self.relevance_vectors[:, 0],
                self.relevance_vectors[:, 1],
                s=130,
                facecolors="none",
                edgecolors="black",
                linewidths=1.8,
                zorder=5,
                clip_on=False,
                label=f"relevance vectors ({len(self.relevance_vectors)})",
            )

    def _draw_legend(self) -> Any:
        """Below the axes, so that it covers no rows."""
        handles: list[Any] = list(self.points_)
        for c in self.component_lines_:
            name = f"between components of class {self.classes[c]}"
            handles.append(Line2D([], [], color=self._color(c), ls=DASHES, label=name))
        name = "between classes (P = 0.5)" if len(self.classes) == 2 else "between classes"
        handles.append(Line2D([], [], color="black", ls=DASHES, lw=2.0, label=name))
        if self.relevance_points_ is not None:
            handles.append(self.relevance_points_)
        down = ScaledTranslation(0.0, -LEGEND_DISTANCE / 72.0, self.figure_.dpi_scale_trans)
        return self.ax_.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=self.ax_.transAxes + down,
            borderaxespad=0.0,
            ncols=3,
            frameon=False,
        )

    def _color(self, c: int) -> tuple[float, float, float]:
        return to_rgb(CLASS_COLORS[c % len(CLASS_COLORS)])


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
