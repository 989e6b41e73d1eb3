"""The Gaussians of a fitted mixture of two inputs, as ellipses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from sdgm._choice import choice
from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.model.gaussians import gaussian_from_weights, is_gaussian
from sdgm.estimators.quadratics import quadratic_weights, shared_form
from sdgm.plotting.plane import PlaneDisplay, leads, plane_of
from sdgm.plotting.style import class_color

# radii of the ellipses in standard deviations, with width of their line and opacity inside
SIGMAS = ((1.0, 2.0, 0.20), (2.0, 1.2, 0.10))
# components that are nowhere more probable than this are not drawn: they win nowhere
SMALLEST_POSTERIOR = 0.01
# around components that are not Gaussian: grey, since no class owns such a line
WINNING_COLOR = "0.25"
WINNING_DASHES = (0, (1.2, 1.2))  # dotted: the ellipses have solid lines
WINNING_WIDTH = 1.6  # between those of the two ellipses, in `SIGMAS`
# of markers, smaller than elsewhere so that the ellipses can be seen
ROW_SIZE = 14.0


class Shared(StrEnum):
    """Which quadratic form is added to all components before they are drawn."""

    ROWS = "rows"
    ZERO = "zero"


@dataclass(kw_only=True, eq=False, repr=False)
class ComponentsDisplay(PlaneDisplay):
    """Components of a mixture of two features as ellipses of one and two standard deviations.

    A component ``exp(w_k'phi(x))`` is a Gaussian if its quadratic form is negative definite. A
    form that all components share cancels in the softmax (Eq. 1), so a plot has to choose one:

    - ``shared="rows"``: the form for which the mixture has the mean and covariance of the rows and
      the highest likelihood on them. All components are Gaussian then, and their shares sum to one.
    - ``shared="zero"``: none, the fitted weights. The prior shrinks them towards zero, so many
      components are not Gaussian; lines show the regions in which these are the most probable.

    The choice does not change the probabilities, because the classifier does not model densities.

    Make it with `from_estimator`.

    Parameters
    ----------
    means, covariances : arrays of shape (n_components, 2) and (n_components, 2, 2)
        Of the components that are Gaussian; NaN for the others.
    shares : array of shape (n_components,) or None
        Of the mixture; None where the components are not densities.
    x1, x2, P_cm, component_class, classes, X, y, names :
        As in `BoundaryDisplay`.

    Attributes
    ----------
    ellipses_ : dict from component index to list of Ellipse
        Of one and of two standard deviations.
    winning_lines_ : list of ContourSet
        Around the regions of components that are not Gaussian, one per pair of neighbours.
    texts_ : dict from component index to Text
        Share of a Gaussian at its mean, or "not Gaussian" in the region of such a component.
    ax_, figure_, points_, legend_ :
        As in `BoundaryDisplay`.
    """

    means: FloatArray
    covariances: FloatArray
    shares: FloatArray | None
    component_class: IntArray
    P_cm: FloatArray

    @property
    def gaussian(self) -> BoolArray:
        """Which components are Gaussian."""
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
        """Plot the components of a fitted mixture of two features and the rows X, y.

        Parameters
        ----------
        estimator : fitted `SDGMClassifier` or `KernelSDGMClassifier`
            Its scores must be quadratic functions of the features: of the kernels, "linear" and
            "poly" up to degree 2.
        X, y : array-likes of shape (n_samples, 2) and (n_samples,)
        shared : {"rows", "zero"}, default="rows"
            The form added to all components, which the classifier does not determine; see above.
        grid_resolution : int, default=300
        margin, ax, legend, rows :
            As in `BoundaryDisplay.from_estimator`.

        Examples
        --------
        Two of Ripley's four Gaussians are centred at (-0.7, 0.3) and (0.3, 0.3):

        >>> from sdgm import KernelSDGMClassifier
        >>> from sdgm.datasets import make_ripley
        >>> from sdgm.plotting import new_axes
        >>> X, y, _, _ = make_ripley(n_train=1000).split()
        >>> model = KernelSDGMClassifier(2, kernel="poly", teacher=None, random_state=0).fit(X, y)
        >>> display = ComponentsDisplay.from_estimator(model, X, y, ax=new_axes())
        >>> bool(display.gaussian.all()), round(float(display.shares.sum()), 6)
        (True, 1.0)
        """
        plane = plane_of(X, grid_resolution=grid_resolution, margin=margin)
        w = quadratic_weights(estimator.model_)
        shares = None
        if choice("shared", shared, Shared) is Shared.ROWS:
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
            P_cm=plane.on_grid(estimator.predict_component_proba(plane.points)),
            **plane.fields(estimator, y),
        )
        return display.plot(ax=ax, legend=legend, rows=rows)

    def plot(self, *, ax: Axes | None = None, legend: bool = True, rows: bool = True) -> Self:
        """Draw, with parameters as in `from_estimator`; returns self."""
        self._start(ax)
        self.texts_: dict[int, Any] = {}
        seen = self.P_cm.max(axis=(0, 1)) >= SMALLEST_POSTERIOR
        drawn = np.flatnonzero(seen & self.gaussian).tolist()
        self.ellipses_ = {k: self._draw_ellipses(k) for k in drawn}
        self._draw_winning_lines()
        if rows:
            self._draw_rows(size=ROW_SIZE)
        self._finish()
        if legend:
            self._draw_legend(self._handles(), n_columns=2)
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
            self.texts_[k] = self._boxed_text(k, self.means[k], f"{100 * self.shares[k]:.0f}%")
        return ellipses

    def _draw_winning_lines(self) -> None:
        """Lines around the regions of components that are not Gaussian, with a label inside."""
        self.winning_lines_: list[Any] = []
        winner = self.P_cm.argmax(axis=-1)
        look: dict[str, Any] = {
            "color": WINNING_COLOR,
            "width": WINNING_WIDTH,
            "style": WINNING_DASHES,
        }
        for i, j in combinations(np.unique(winner), 2):
            if not (self.gaussian[i] and self.gaussian[j]):
                for lead in leads(self.P_cm[..., [i, j]], (winner == i) | (winner == j)):
                    self.winning_lines_.append(self._draw_zero_line(lead, **look))
        for k in np.unique(winner).tolist():
            if not self.gaussian[k]:
                x2, x1 = (index.mean() for index in np.nonzero(winner == k))
                place = self.x1[round(x1)], self.x2[round(x2)]
                self.texts_[k] = self._boxed_text(k, place, "not Gaussian")

    def _boxed_text(self, k: int, place: Any, text: str) -> Any:
        color = class_color(int(self.component_class[k]))
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": color, "alpha": 0.85}
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontweight": "bold", "bbox": box}
        return self.ax_.text(place[0], place[1], text, clip_on=True, zorder=6, **look)

    def _handles(self) -> list[Any]:
        """Rows, ellipses with the form they depend on, and lines around components without one."""
        handles: list[Any] = list(self.points_)
        form = "mean and covariance of the rows" if self.shares is not None else "no shared form"
        if self.ellipses_:
            name = f"1 and 2 standard deviations ({form})"
            style: dict[str, Any] = {"marker": "o", "ms": 11, "mfc": "0.85", "mec": "0.3"}
            handles.append(Line2D([], [], ls="none", mew=1.4, label=name, **style))
        if self.winning_lines_:
            name = f"regions of components that are not Gaussian ({form})"
            handles.append(
                Line2D([], [], color=WINNING_COLOR, ls=WINNING_DASHES, lw=WINNING_WIDTH, label=name)
            )
        return handles
