"""How far the weights' posterior leaves the class probabilities open, over two inputs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D

from sdgm._typing import FloatArray
from sdgm.plotting.plane import draw_class_lines, draw_rows, finish_plane, legend_below, plane_of
from sdgm.plotting.style import DASHES, given_or_new

# white to dark, so that print without colour keeps the order; no hue of a class
COLOR_MAP = LinearSegmentedColormap.from_list("sdgm", ["white", "#C9BEDC", "#8C78B4", "#46327E"])


class UncertaintyDisplay:
    """A classifier of two inputs: how much its probabilities vary over the weights' posterior.

    Shading is the standard deviation of P(class | x) when the weights are drawn from their Laplace
    posterior, as given by ``predict_proba_averaged(X, return_std=True)``. It is the part of the
    doubt that more rows would remove: small even at the boundary, where P is 0.5, if many rows fix
    it there. The dashed line is the boundary between classes.

    Make it with `from_estimator`.

    Parameters
    ----------
    x1, x2 : arrays of shape (n1,) and (n2,)
        Coordinates of the grid.
    std : array of shape (n2, n1)
        Standard deviation on the grid.
    P_c : array of shape (n2, n1, n_classes)
        Class posterior on the grid.
    classes : array of shape (n_classes,)
        Labels.
    X, y : arrays of shape (n_samples, 2) and (n_samples,)
        Rows to draw.
    names : (str, str)
        Labels of the axes.
    std_name : str
        Label of the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    surface_ : AxesImage
        The shading.
    colorbar_ : Colorbar
    class_lines_ : list of ContourSet
        One per pair of classes that meet.
    points_ : list of PathCollection
        One per class that has rows; empty without rows.
    legend_ : Legend or None
    """

    ax_: Axes
    figure_: Any
    surface_: Any
    colorbar_: Any
    class_lines_: list[Any]
    points_: list[Any]
    legend_: Any

    def __init__(
        self,
        *,
        x1: FloatArray,
        x2: FloatArray,
        std: FloatArray,
        P_c: FloatArray,
        classes: np.ndarray[Any, Any],
        X: FloatArray,
        y: np.ndarray[Any, Any],
        names: tuple[str, str],
        std_name: str,
    ) -> None:
        self.x1 = x1
        self.x2 = x2
        self.std = std
        self.P_c = P_c
        self.classes = classes
        self.X = X
        self.y = y
        self.names = names
        self.std_name = std_name

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
        """Draw the uncertainty of a fitted classifier of two inputs over the rows X, y.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba_averaged`
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
        class_label : label, optional
            Class whose probability is meant; if not given, the most probable one at every point.
            With two classes it makes no difference.
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
        display : UncertaintyDisplay

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
        classes = estimator.classes_
        if class_label is None:
            c = mean.argmax(axis=-1)
            of = "P(class | x)"
        else:
            if class_label not in classes.tolist():
                raise ValueError(
                    f"class_label {class_label!r} is not among the classes {classes.tolist()}; "
                    f"pass one of them."
                )
            c = np.full(mean.shape[:2], classes.tolist().index(class_label))
            of = f"P({class_label} | x)"
        display = cls(
            x1=plane.x1,
            x2=plane.x2,
            std=np.take_along_axis(std, c[..., None], axis=-1)[..., 0],
            P_c=plane.on_grid(estimator.predict_proba(plane.points)),
            classes=classes,
            X=plane.rows,
            y=np.asarray(y),
            names=plane.names,
            std_name=f"posterior standard deviation of {of}",
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
        self.surface_ = self.ax_.imshow(
            self.std,
            extent=(self.x1[0], self.x1[-1], self.x2[0], self.x2[-1]),
            origin="lower",
            interpolation="bilinear",
            cmap=COLOR_MAP,
            vmin=0.0,
            zorder=0,
        )
        # beside the axes and as high as they are
        place = self.ax_.inset_axes((1.02, 0.0, 0.03, 1.0))
        self.colorbar_ = self.figure_.colorbar(self.surface_, cax=place, label=self.std_name)
        self.colorbar_.outline.set_visible(False)
        self.class_lines_ = draw_class_lines(self.ax_, self.x1, self.x2, self.P_c)
        self.points_ = draw_rows(self.ax_, self.X, self.y, self.classes) if rows else []
        finish_plane(self.ax_, self.x1, self.x2, self.names)
        self.legend_ = None
        if legend:
            line = Line2D([], [], color="black", ls=DASHES, lw=2.0, label="between classes")
            self.legend_ = legend_below(self.ax_, [*self.points_, line])
        return self
