"""Posterior uncertainty of the class probabilities over two inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D

from sdgm._typing import FloatArray
from sdgm.plotting.boundary import LARGE
from sdgm.plotting.plane import PlaneDisplay, plane_of
from sdgm.plotting.style import DASHES, index_of

# white to dark, so that print without colour keeps the order; no hue of a class
COLOR_MAP = LinearSegmentedColormap.from_list("sdgm", ["white", "#C9BEDC", "#8C78B4", "#46327E"])


@dataclass(kw_only=True, eq=False, repr=False)
class UncertaintyDisplay(PlaneDisplay):
    """Posterior standard deviation of the probabilities of a classifier with two features.

    The shading is the standard deviation of P(class | x) under the Laplace posterior of the
    weights, as returned by ``predict_proba_averaged(X, return_std=True)``. It is the uncertainty
    that more data would reduce: with many rows nearby it is small even at the boundary, where P is
    0.5. The dashed line is the boundary between classes.

    Make it with `from_estimator`.

    Parameters
    ----------
    std : array of shape (n2, n1)
        Standard deviation on the grid.
    std_name : str
        Label of the colour bar.
    x1, x2, P_c, classes, X, y, names :
        As in `BoundaryDisplay`.

    Attributes
    ----------
    colorbar_ : Colorbar
    ax_, figure_, surface_, class_lines_, points_, legend_ :
        As in `BoundaryDisplay`.
    """

    std: FloatArray
    P_c: FloatArray
    std_name: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        class_label: Any = None,
        grid_resolution: int = 300,
        margin: float = 0.08,
        ax: Axes | None = None,
        legend: bool = True,
        rows: bool = True,
    ) -> Self:
        """Plot the uncertainty of a fitted classifier with two features and the rows X, y.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba_averaged`
        X, y : array-likes of shape (n_samples, 2) and (n_samples,)
        class_label : label, optional
            Class whose probability is meant; if not given, the most probable one at every point.
            With two classes it makes no difference.
        grid_resolution : int, default=300
        margin, ax, legend, rows :
            As in `BoundaryDisplay.from_estimator`.

        Examples
        --------
        >>> from sdgm import KernelSDGMClassifier
        >>> from sdgm.datasets import make_ripley
        >>> from sdgm.plotting import new_axes
        >>> X, y, _, _ = make_ripley().split()
        >>> model = KernelSDGMClassifier(random_state=0).fit(X, y)
        >>> display = UncertaintyDisplay.from_estimator(
        ...     model, X, y, grid_resolution=50, ax=new_axes()
        ... )
        >>> display.figure_.savefig("uncertainty.png", dpi=150)  # doctest: +SKIP
        """
        plane = plane_of(X, grid_resolution=grid_resolution, margin=margin)
        mean, std = map(
            plane.on_grid, estimator.predict_proba_averaged(plane.points, return_std=True)
        )
        c, of = mean.argmax(axis=-1), "P(class | x)"
        if class_label is not None:
            c[:] = index_of("class_label", class_label, "classes", estimator.classes_)
            of = f"P({class_label} | x)"
        display = cls(
            std=np.take_along_axis(std, c[..., None], axis=-1)[..., 0],
            P_c=plane.on_grid(estimator.predict_proba(plane.points)),
            std_name=f"posterior standard deviation of {of}",
            **plane.fields(estimator, y),
        )
        return display.plot(ax=ax, legend=legend, rows=rows)

    def plot(self, *, ax: Axes | None = None, legend: bool = True, rows: bool = True) -> Self:
        """Draw, with parameters as in `from_estimator`; returns self."""
        self._start(ax)
        self._draw_image(self.std, cmap=COLOR_MAP, vmin=0.0)
        # beside the axes and as high as they are
        place = self.ax_.inset_axes((1.02, 0.0, 0.03, 1.0))
        self.colorbar_ = self.figure_.colorbar(self.surface_, cax=place, label=self.std_name)
        self.colorbar_.outline.set_visible(False)
        self._draw_class_lines(self.P_c, width=LARGE.class_line)
        if rows:
            self._draw_rows(size=LARGE.rows)
        self._finish()
        if legend:
            look: dict[str, Any] = {"color": "black", "ls": DASHES, "lw": LARGE.class_line}
            line = Line2D([], [], label="between classes", **look)
            self._draw_legend([*self.points_, line])
        return self
