"""The Gaussians of a fitted mixture of two inputs, as ellipses."""

from __future__ import annotations

from enum import StrEnum
from itertools import combinations
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.gaussians import gaussian_from_weights, is_gaussian
from sdgm.estimators.quadratics import quadratic_weights, shared_form
from sdgm.plotting.plane import (
    draw_rows,
    draw_zero_line,
    finish_plane,
    leads,
    legend_below,
    plane_of,
)
from sdgm.plotting.style import class_color, given_or_new

# radii of the ellipses in standard deviations, with width of their line and opacity inside
SIGMAS = ((1.0, 2.0, 0.20), (2.0, 1.2, 0.10))
# components that are nowhere more probable than this are not drawn: nothing is theirs to show
SMALLEST_POSTERIOR = 0.01
LINE_COLOR = "0.25"
LINE_DASHES = (0, (1.2, 1.2))


class Shared(StrEnum):
    """Which quadratic form is added to all components before they are drawn."""

    ROWS = "rows"
    ZERO = "zero"

    @classmethod
    def _missing_(cls, value: object) -> Shared:
        known = ", ".join(repr(str(member)) for member in cls)
        raise ValueError(f"shared must be one of {known}, got {value!r}.")


class ComponentsDisplay:
    """The components of a mixture of two inputs as ellipses of one and two standard deviations.

    A component is ``exp(w_k'phi(x))``, which is a Gaussian where its quadratic form is negative
    definite. But the classifier knows its components only up to a form that all of them share: it
    cancels in the softmax (Eq. 1), and no row can tell. So every picture of them takes one:

    - ``shared="rows"``: the form for which the mixture has the mean and covariance of the rows, and
      is the most likely for them. All components are Gaussians then, and their shares sum to one.
    - ``shared="zero"``: none, the weights as they were learned. The prior draws them towards zero,
      so that many a component is no Gaussian; lines show where it wins instead.

    Neither adds to or takes from what the classifier says; densities are not what it has learned.

    Make it with `from_estimator`.

    Parameters
    ----------
    means, covariances : arrays of shape (n_components, 2) and (n_components, 2, 2)
        Of the components that are Gaussians; NaN for the others.
    shares : array of shape (n_components,) or None
        Of the mixture; None where the components are no densities.
    component_class : array of shape (n_components,)
        Class index of each component.
    x1, x2 : arrays of shape (n1,) and (n2,)
        Coordinates of the grid.
    P_cm : array of shape (n2, n1, n_components)
        Component posterior on the grid.
    classes : array of shape (n_classes,)
        Labels.
    X, y : arrays of shape (n_samples, 2) and (n_samples,)
        Rows to draw.
    names : (str, str)
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    ellipses_ : dict from component index to list of Ellipse
        Of one and of two standard deviations.
    winning_lines_ : list of ContourSet
        Around the regions where components win that are not Gaussians, one per pair of neighbours.
    texts_ : dict from component index to Text
        Share of a Gaussian at its mean, or word that a component is not one where it wins.
    points_ : list of PathCollection
        One per class that has rows; empty without rows.
    legend_ : Legend or None
    """

    ax_: Axes
    figure_: Any
    ellipses_: dict[int, list[Any]]
    winning_lines_: list[Any]
    texts_: dict[int, Any]
    points_: list[Any]
    legend_: Any

    def __init__(
        self,
        *,
        means: FloatArray,
        covariances: FloatArray,
        shares: FloatArray | None,
        component_class: IntArray,
        x1: FloatArray,
        x2: FloatArray,
        P_cm: FloatArray,
        classes: np.ndarray[Any, Any],
        X: FloatArray,
        y: np.ndarray[Any, Any],
        names: tuple[str, str],
    ) -> None:
        self.means = means
        self.covariances = covariances
        self.shares = shares
        self.component_class = component_class
        self.x1 = x1
        self.x2 = x2
        self.P_cm = P_cm
        self.classes = classes
        self.X = X
        self.y = y
        self.names = names

    @property
    def gaussian(self) -> BoolArray:
        """Which components are Gaussians."""
        return np.asarray(np.isfinite(self.means).all(axis=-1))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        shared: str = Shared.ROWS,
        grid_resolution: int = 300,
        margin: float = 0.08,
        ax: Axes | None = None,
        legend: bool = True,
        rows: bool = True,
    ) -> Self:
        """Draw the components of a fitted mixture of two inputs over the rows X, y.

        Parameters
        ----------
        estimator : fitted `SDGMClassifier` or `KernelSDGMClassifier`
            Whose scores are quadratic functions of the inputs; of kernels, "linear" and "poly" up
            to degree 2.
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
        shared : {"rows", "zero"}, default="rows"
            The form added to all components, which the classifier leaves open; see above.
        grid_resolution : int, default=300
            Points of the grid along each axis.
        margin : float, default=0.08
            Space around the rows, relative to their range.
        ax : matplotlib Axes, optional
            Where to draw; on a new figure of pyplot's if not given.
        legend : bool, default=True
            Whether to put a legend below the axes.
        rows : bool, default=True
            Whether to draw the rows.

        Returns
        -------
        display : ComponentsDisplay

        Examples
        --------
        Two of Ripley's four Gaussians are centred at (-0.7, 0.3) and (0.3, 0.3):

        >>> from sdgm import KernelSDGMClassifier
        >>> from sdgm.datasets import make_ripley
        >>> from sdgm.plotting import new_axes
        >>> X, y, _, _ = make_ripley(n_train=1000).split()
        >>> model = KernelSDGMClassifier(n_components=2, random_state=0).fit(X, y)
        >>> display = ComponentsDisplay.from_estimator(model, X, y, ax=new_axes())
        >>> bool(display.gaussian.all()), round(float(display.shares.sum()), 6)
        (True, 1.0)
        """
        plane = plane_of(X, grid_resolution=grid_resolution, margin=margin)
        w = quadratic_weights(estimator.model_)
        shares = None
        if Shared(shared) is Shared.ROWS:
            w = w + shared_form(w, plane.rows)
            shares = np.exp(gaussian_from_weights(w, 2).log_scale)
        means, covariances = np.full((len(w), 2), np.nan), np.full((len(w), 2, 2), np.nan)
        gaussian = is_gaussian(w, 2)
        means[gaussian], covariances[gaussian], _ = gaussian_from_weights(w[gaussian], 2)
        display = cls(
            means=means,
            covariances=covariances,
            shares=shares,
            component_class=estimator.component_class_,
            x1=plane.x1,
            x2=plane.x2,
            P_cm=plane.on_grid(estimator.predict_component_proba(plane.points)),
            classes=estimator.classes_,
            X=plane.rows,
            y=np.asarray(y),
            names=plane.names,
        )
        return display.plot(ax=ax, legend=legend, rows=rows)

    def plot(self, *, ax: Axes | None = None, legend: bool = True, rows: bool = True) -> Self:
        """Draw on given axes, or on a new figure of pyplot's.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        legend, rows : bool, default=True

        Returns
        -------
        self
        """
        self.ax_ = given_or_new(ax)
        self.figure_ = self.ax_.figure
        self.ellipses_, self.texts_ = {}, {}
        seen = self.P_cm.max(axis=(0, 1)) >= SMALLEST_POSTERIOR
        for k in np.flatnonzero(seen & self.gaussian):
            self.ellipses_[int(k)] = self._draw_ellipses(int(k))
        self._draw_where_others_win()
        self.points_ = draw_rows(self.ax_, self.X, self.y, self.classes, size=14) if rows else []
        finish_plane(self.ax_, self.x1, self.x2, self.names)
        self.legend_ = legend_below(self.ax_, self._handles(), n_columns=2) if legend else None
        return self

    def _draw_ellipses(self, k: int) -> list[Any]:
        """Lines of equal density, and the component's share in the middle."""
        color = class_color(int(self.component_class[k]))
        m1, m2 = self.means[k]
        variances, directions = np.linalg.eigh(self.covariances[k])
        angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
        ellipses = []
        for sigmas, width, opacity in SIGMAS:
            short, long = 2.0 * sigmas * np.sqrt(variances)
            style: dict[str, Any] = {"facecolor": (*color, opacity), "edgecolor": color}
            shape = Ellipse((m1, m2), long, short, angle=angle, lw=width, zorder=2, **style)
            ellipses.append(self.ax_.add_patch(shape))
        if self.shares is not None:
            self.texts_[k] = self._boxed_text(k, self.means[k], f"{100 * self.shares[k]:.0f} %")
        return ellipses

    def _draw_where_others_win(self) -> None:
        """Lines around the regions of components that are not Gaussians, with a word inside."""
        self.winning_lines_ = []
        winner = self.P_cm.argmax(axis=-1)
        for i, j in combinations(np.unique(winner), 2):
            if not (self.gaussian[i] and self.gaussian[j]):
                for lead in leads(self.P_cm[..., [i, j]], (winner == i) | (winner == j)):
                    line = draw_zero_line(
                        self.ax_,
                        self.x1,
                        self.x2,
                        lead,
                        color=LINE_COLOR,
                        width=1.6,
                        style=LINE_DASHES,
                    )
                    self.winning_lines_.append(line)
        for k in np.unique(winner):
            if not self.gaussian[k]:
                x2, x1 = (index.mean() for index in np.nonzero(winner == k))
                place = self.x1[round(x1)], self.x2[round(x2)]
                self.texts_[int(k)] = self._boxed_text(int(k), place, "no Gaussian")

    def _boxed_text(self, k: int, place: Any, text: str) -> Any:
        color = class_color(int(self.component_class[k]))
        return self.ax_.text(
            place[0],
            place[1],
            text,
            ha="center",
            va="center",
            fontweight="bold",
            clip_on=True,
            zorder=6,
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": color, "alpha": 0.85},
        )

    def _handles(self) -> list[Any]:
        """Rows, ellipses with the form they depend on, and lines around what has none."""
        handles: list[Any] = list(self.points_)
        form = "mean and covariance of the rows" if self.shares is not None else "shared form zero"
        if self.ellipses_:
            name = f"1 and 2 standard deviations ({form})"
            style: dict[str, Any] = {"marker": "o", "ms": 11, "mfc": "0.85", "mec": "0.3"}
            handles.append(Line2D([], [], ls="none", mew=1.4, label=name, **style))
        if self.winning_lines_:
            name = f"where components win that are not Gaussians ({form})"
            handles.append(Line2D([], [], color=LINE_COLOR, ls=LINE_DASHES, lw=1.6, label=name))
        return handles
