"""The prior of a weight: why a growing precision removes it (Figure 4 of the paper).

The paper draws the first panel, ``N(w | 0, 1 / alpha)``, which closes in on zero as alpha grows.
The other two are after Tipping (2001): what is left of the prior when alpha, given a Gamma
distribution, is integrated out. The paper maximises over alpha instead and gives it no
distribution; the panels show the preference for zeros that both come from. Takes a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln

from reproduction.figures.files import save_picture
from sdgm._typing import FloatArray
from sdgm.plotting import CLASS_COLORS, DASHES, FRAME_COLOR

# after sdgm.plotting, which says which extra is missing
from matplotlib.figure import Figure  # isort: skip
from matplotlib.layout_engine import ConstrainedLayoutEngine  # isort: skip

ALPHAS = (1.0, 10.0, 100.0)
# shape a and rate b of the distribution of alpha, equal, so that its mean is one
SHAPES = (1.0, 0.1, 0.01)
# from light to dark: the same hue, so that order shows in print without colour
BLUES = ("#7FB8D8", "#2F8FC4", "#00496F")
GREY = "0.35"
DELTA_COLOR = CLASS_COLORS[1]
DPI = 200


def draw_prior(folder: Path, *, seed: int = 0, quick: bool = False) -> list[Path]:
    """Draw the prior of a weight as its precision grows, and with the precision integrated out.

    Parameters
    ----------
    folder : Path
        Where to write ``prior.png`` and ``prior.svg``; made if need be.
    seed : int, default=0
        Not used: nothing is drawn at random.
    quick : bool, default=False
        Coarser curves.

    Returns
    -------
    paths : list of Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in draw_prior(Path(folder), quick=True)]
    ['prior.png', 'prior.svg']
    """
    n_points = 101 if quick else 251
    figure = Figure(figsize=(10.2, 3.5), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, middle, right = figure.subplots(1, 3)
    draw_growing_precision(left, n_points)
    draw_marginals(middle, n_points)
    draw_two_weights(right, n_points)
    titles = "prior of given precision", "precision integrated out", "the same for two weights"
    for ax, letter, title in zip((left, middle, right), "abc", titles, strict=True):
        ax.set_title(f"({letter}) {title}", fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[:].set_color(FRAME_COLOR)
        ax.tick_params(color=FRAME_COLOR, labelsize=8)
    return save_picture(figure, folder / "prior", dpi=DPI)


def prior_density(w: FloatArray, alpha: float) -> FloatArray:
    """Prior of a weight, ``N(w | 0, 1 / alpha)`` (Eq. 9).

    Parameters
    ----------
    w : array
    alpha : float
        Precision.

    Returns
    -------
    density : array of the shape of w

    Examples
    --------
    >>> prior_density(np.array([0.0, 1.0]), alpha=4.0).round(4)
    array([0.7979, 0.108 ])
    """
    density: FloatArray = np.sqrt(alpha / (2 * np.pi)) * np.exp(-0.5 * alpha * w**2)
    return density


def marginal_density(w: FloatArray, a: float, b: float) -> FloatArray:
    """Prior of a weight whose precision has the distribution Gamma(alpha | a, b): Student's t.

    For small a and b it is close to a multiple of ``1 / |w|`` from ``sqrt(2 b)`` on.

    Parameters
    ----------
    w : array
    a, b : float
        Shape and rate.

    Returns
    -------
    density : array of the shape of w

    Examples
    --------
    >>> marginal_density(np.array([0.0, 1.0]), a=0.5, b=0.5).round(4)  # Cauchy
    array([0.3183, 0.1592])
    """
    # Gamma(a + 1/2) / (Gamma(a) sqrt(2 pi b)) (1 + w^2 / 2b)^-(a + 1/2)
    log_scale = gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(2 * np.pi * b)
    density: FloatArray = np.exp(log_scale - (a + 0.5) * np.log1p(w**2 / (2 * b)))
    return density


def draw_growing_precision(ax: Any, n_points: int) -> None:
    """The Gaussian prior for a few precisions, and the spike that they tend to."""
    w = np.linspace(-3.0, 3.0, 2 * n_points - 1)
    label_at = ((1.25, 0.25), (0.45, 0.75), (0.17, 2.4))
    for alpha, color, (x, y) in zip(ALPHAS, BLUES, label_at, strict=True):
        density = prior_density(w, alpha)
        ax.plot(w, density, color=color, lw=1.8)
        ax.fill_between(w, density, color=color, alpha=0.12, lw=0)
        ax.text(x, y, rf"$\alpha = {alpha:g}$", color=color, va="bottom", fontsize=9)
    spike = {"arrowstyle": "-|>", "color": DELTA_COLOR, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=(0.0, 4.75), xytext=(0.0, 0.0), arrowprops=spike)
    ax.text(0.17, 4.55, r"$\alpha \to \infty$: $w = 0$", color=DELTA_COLOR, va="center", fontsize=9)
    ax.set(xlim=(-3, 3), ylim=(0, 4.9), xlabel=r"weight $w_{cmh}$")
    ax.set_ylabel(r"$\mathcal{N}(w_{cmh} \mid 0,\ \alpha_{cmh}^{-1})$")


def draw_marginals(ax: Any, n_points: int) -> None:
    """Density of one weight on a logarithmic axis, beside the Gaussian of the mean precision."""
    w = np.linspace(-4.0, 4.0, 2 * n_points - 1)
    ax.plot(w, prior_density(w, 1.0), color=GREY, lw=1.3, ls=DASHES, label=r"$\alpha = 1$")
    for a, color in zip(SHAPES, BLUES, strict=True):
        ax.plot(w, marginal_density(w, a, a), color=color, lw=1.8, label=f"$a = b = {a:g}$")
    ax.set(xlim=(-4, 4), ylim=(8e-4, 2), yscale="log", xlabel="weight $w$")
    ax.set_ylabel(r"$\int\,\mathcal{N}(w \mid 0, \alpha^{-1})\,\Gamma(\alpha \mid a, b)\,d\alpha$")
    ax.legend(fontsize=8, frameon=False, loc="upper right", borderaxespad=0.0)


def draw_two_weights(ax: Any, n_points: int) -> None:
    """Lines of equal density for two weights: circles for one precision, stars without it."""
    a = SHAPES[-1]
    w = np.linspace(-2.0, 2.0, n_points)
    one = np.log(marginal_density(w, a, a))
    both = one[:, None] + one  # (n_points, n_points)
    # the lines through these points of the diagonal
    places = np.array([1.3, 0.9, 0.6, 0.35, 0.15])
    levels = 2.0 * np.log(marginal_density(places, a, a))
    ax.contourf(
        w,
        w,
        both,
        levels=[*levels, both.max()],
        colors=["#E3F0F7", "#C0DDEC", "#92C3DE", "#5BA3CB", "#1F78AE"],
    )
    angle = np.linspace(0.0, 2 * np.pi, 181)
    for radius in (0.5, 1.0, 1.5):
        ax.plot(radius * np.cos(angle), radius * np.sin(angle), color=GREY, lw=1.0, ls=DASHES)
    ax.text(1.12, 1.1, r"$\alpha = 1$", color=GREY, fontsize=9)
    ax.text(1.95, 1.9, f"$a = b = {a:g}$", color=BLUES[-1], ha="right", va="top", fontsize=9)
    ax.set(xlim=(-2, 2), ylim=(-2, 2), aspect="equal", xlabel="$w_1$", ylabel="$w_2$")
    ax.set_xticks([-2, -1, 0, 1, 2])
    ax.set_yticks([-2, -1, 0, 1, 2])
