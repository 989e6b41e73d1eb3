"""Figure 1 of the paper: decision boundaries of five classifiers on Ripley's problem.

Logistic regression stands for the fully connected layer with a softmax, and scikit-learn's
Gaussian process with an rbf kernel of learned width for the one of the paper. The paper gives no
settings for this figure: the relevance vector machine has its defaults here, the SDGM the settings
of Table 1, and the discriminative mixture a ridge so weak that it keeps its redundant components,
as it does in the paper. The default ridge empties some of them and errs less, so the figure gives
that number too. Takes about five seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression

from reproduction.figures.files import save_picture
from sdgm import DiscriminativeGMMClassifier, RVMClassifier
from sdgm.datasets import Dataset
from sdgm.demo import COMPONENTS_PER_CLASS, fit_and_measure, ripley

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sdgm.plotting import BoundaryDisplay

NAME = "boundaries"
FIGURE_SIZE = (9.6, 5.3)
DPI = 160
GRID, QUICK_GRID = 400, 80
# of the mixture: strong enough for finite weights, too weak to empty components; and the default
WEAK_RIDGE, DEFAULT_RIDGE = 0.01, 1.0


@dataclass(frozen=True)
class Panel:
    """One classifier of the figure.

    Attributes
    ----------
    name : str
    model : fitted classifier
    error : float
        Share of test rows that are misclassified.
    n_weights : int
        Numbers it predicts from: weights that are not zero, constants included, or the training
        rows of the Gaussian process.
    """

    name: str
    model: Any
    error: float
    n_weights: int


def draw_boundaries(folder: Path, *, seed: int = 0, quick: bool = False) -> list[Path]:
    """Draw Figure 1 into ``boundaries.png`` and ``boundaries.svg``.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    seed : int, default=0
        Of the k-means starts, and of the rows where they have to be drawn.
    quick : bool, default=False
        A coarse grid, and a Gaussian process whose kernel is not learned.

    Returns
    -------
    files : list of Path
    """
    data = ripley(seed)
    figure = boundaries_figure(
        data,
        fitted_panels(data, seed, quick=quick),
        note=("Rows drawn from Ripley's Gaussians,\nnot the published ones.\n\n" * data.generated)
        + ridge_note(data, seed),
        grid=QUICK_GRID if quick else GRID,
    )
    folder = Path(folder)
    return save_picture(figure, folder / NAME, dpi=DPI)


def fitted_panels(data: Dataset, seed: int, *, quick: bool) -> list[Panel]:
    """The five classifiers, fitted and measured, in the order of the paper's figure."""
    X, y, _, _ = data.split()
    optimizer = None if quick else "fmin_l_bfgs_b"
    kernel = ConstantKernel(10.0) * RBF(0.5)
    logistic = LogisticRegression().fit(X, y)
    process = GaussianProcessClassifier(kernel, optimizer=optimizer, random_state=seed).fit(X, y)
    rvm = RVMClassifier(random_state=seed).fit(X, y)
    mixture = fitted_mixture(data, seed, WEAK_RIDGE)
    sdgm, _ = fit_and_measure("paper", data, seed)
    models = [
        ("Logistic regression", logistic, logistic.coef_.size + logistic.intercept_.size),
        ("Gaussian process", process, len(X)),
        ("Relevance vector machine", rvm, rvm.n_active_weights_),
        ("Discriminative GMM", mixture, mixture.n_active_weights_),
        ("SDGM", sdgm, sdgm.n_active_weights_),
    ]
    return [
        Panel(name, model, error_rate(model, data), int(n_weights))
        for name, model, n_weights in models
    ]


def fitted_mixture(data: Dataset, seed: int, ridge: float) -> DiscriminativeGMMClassifier:
    """The discriminative mixture with a given precision of its prior."""
    X, y, _, _ = data.split()
    mixture = DiscriminativeGMMClassifier(COMPONENTS_PER_CLASS, alpha=ridge, random_state=seed)
    return mixture.fit(X, y)


def error_rate(model: Any, data: Dataset) -> float:
    """Share of test rows that are misclassified."""
    _, _, X_test, y_test = data.split()
    return float(np.mean(model.predict(X_test) != y_test))


def ridge_note(data: Dataset, seed: int) -> str:
    """What the mixture's ridge is, and what the default would give."""
    error = error_rate(fitted_mixture(data, seed, DEFAULT_RIDGE), data)
    return (
        f"Discriminative GMM with a ridge of {WEAK_RIDGE:g},\nclose to maximum likelihood; with "
        f"{DEFAULT_RIDGE:g},\nthe default, its test error is {100 * error:.1f}%."
    )


def boundaries_figure(data: Dataset, panels: list[Panel], *, note: str, grid: int) -> Figure:
    """The panels in two rows, with legend and note in the sixth place."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=FIGURE_SIZE, layout="constrained")
    *axes, corner = figure.subplots(2, 3).flat
    X, y, _, _ = data.split()
    displays = [draw_panel(panel, X, y, ax, grid) for panel, ax in zip(panels, axes, strict=True)]
    draw_legend(displays, corner)
    corner.text(0.03, -0.02, note, transform=corner.transAxes, va="bottom", fontsize=8.5)
    return figure


def draw_panel(panel: Panel, X: Any, y: Any, ax: Axes, grid: int) -> BoundaryDisplay:
    """One classifier over the training rows, with its numbers above."""
    from sdgm.plotting import BoundaryDisplay

    display = BoundaryDisplay.from_estimator(
        panel.model, X, y, ax=ax, grid_resolution=grid, compact=True
    )
    numbers = f"test error {100 * panel.error:.1f}%,  {panel.n_weights} weights"
    ax.set_title(f"{panel.name}\n", fontsize=11, fontweight="bold")
    ax.text(0.5, 1.03, numbers, transform=ax.transAxes, ha="center", fontsize=9.5)
    return display


def draw_legend(displays: list[BoundaryDisplay], ax: Axes) -> None:
    """One legend of all panels, that of the last first, which has most."""
    handles: dict[str, Any] = {}
    for display in reversed(displays):
        for handle in display.legend_handles():
            # how many relevance vectors there are differs between panels
            handles.setdefault(str(handle.get_label()).split(" (")[0], handle)
    ax.set_axis_off()
    # below the line of a title, as high as the pictures beside it
    ax.legend(
        handles=handles.values(),
        labels=handles.keys(),
        loc="upper left",
        bbox_to_anchor=(0.0, 1.04),
        frameon=False,
        fontsize=10,
    )
