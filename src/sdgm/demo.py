"""The demo: Ripley's problem in the dual form, as in Table 1 and Figure 1 of the paper.

Settings are the paper's: three components per class, kernel ``(x'z + 1)^2``, inputs not scaled. The
presets `paper` and `fast` learn the same model from the same start. Takes about two seconds.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import log_loss

from sdgm.atomic import checked_path
from sdgm.core.inference.preset import Preset
from sdgm.datasets import Dataset, MissingDataError, load_ripley, make_ripley
from sdgm.datasets.ripley import bayes_posterior
from sdgm.estimators.dual import KernelSDGMClassifier

if TYPE_CHECKING:
    from sdgm.plotting import BoundaryDisplay

COMPONENTS_PER_CLASS = 3  # the paper's, in Table 1
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Outcome:
    """What came out of one way to learn, in the columns of the demo's table; None if not known."""

    error: float  # share of test rows that are misclassified
    log_loss: float | None = None  # on the test rows
    weights: tuple[int, int] | None = None  # before and after learning
    components: tuple[tuple[int, ...], tuple[int, ...]] | None = None  # likewise, per class
    relevance_vectors: int | None = None
    seconds: float | None = None  # to fit


# Table 1 (error, weights left; 5 N weights at the start, as the MGP) and the text on Figure 3
PUBLISHED = Outcome(error=0.091, weights=(1250, 6), components=((3, 3), (2, 2)))


@dataclass(frozen=True)
class DemoResult:
    """The demo's data, models and numbers."""

    data: Dataset  # the published rows, or rows drawn from the same distribution
    models: dict[Preset, KernelSDGMClassifier]
    outcomes: dict[Preset, Outcome]
    bayes: Outcome  # of Bayes' rule with the true Gaussians, on the same test rows
    picture: Path | None  # the file written


def run_demo(
    *,
    seed: int = 0,
    preset: Preset | str = Preset.PAPER,
    output: str | os.PathLike[str] | None = None,
) -> DemoResult:
    """Learn Ripley's problem with both presets, measure, and draw one of them.

    Parameters
    ----------
    seed : int, default=0
        Of the k-means start, and of the rows where they have to be drawn.
    preset : {"paper", "fast"}, default="paper"
        Which of the two models the picture shows.
    output : path, optional
        File to write the picture to: .png, .svg or .pdf. Needs matplotlib.

    Examples
    --------
    >>> from sdgm.demo import run_demo
    >>> outcome = run_demo(seed=0).outcomes["fast"]
    >>> outcome.error < 0.11, outcome.weights[1] < 12
    (True, True)
    """
    preset = Preset(preset)
    path = None if output is None else checked_output(Path(output))
    data = ripley(seed)
    models, outcomes = {}, {}
    for each in Preset.PAPER, Preset.FAST:
        models[each], outcomes[each] = fit_and_measure(each, data, seed)
    _, _, X_test, y_test = data.split()
    P_c = bayes_posterior(X_test)
    bayes = Outcome(float(np.mean(P_c.argmax(axis=1) != y_test)), float(log_loss(y_test, P_c)))
    result = DemoResult(data, models, outcomes, bayes, path)
    if path is not None:
        display = draw_demo(result, preset)
        display.figure_.savefig(path, dpi=150, bbox_inches="tight")
    return result


def ripley(seed: int) -> Dataset:
    """The published rows if they are found, else rows from their generator."""
    try:
        return load_ripley()
    except MissingDataError:
        return make_ripley(random_state=seed)


def paper_model(preset: Preset | str, seed: int) -> KernelSDGMClassifier:
    """The paper's model of Ripley's problem, not fitted yet."""
    kernel: dict[str, Any] = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
    return KernelSDGMClassifier(
        COMPONENTS_PER_CLASS, **kernel, standardize=False, preset=preset, random_state=seed
    )


def fit_and_measure(
    preset: Preset | str, data: Dataset, seed: int
) -> tuple[KernelSDGMClassifier, Outcome]:
    """One model of the training rows, and how it does on the test rows."""
    X_train, y_train, X_test, y_test = data.split()
    model = paper_model(preset, seed)
    start = perf_counter()
    model.fit(X_train, y_train)
    seconds = perf_counter() - start
    components = (COMPONENTS_PER_CLASS,) * len(model.classes_)
    return model, Outcome(
        error=float(np.mean(model.predict(X_test) != y_test)),
        log_loss=float(log_loss(y_test, model.predict_proba(X_test))),
        weights=(model.n_initial_weights_, model.n_active_weights_),
        components=(components, tuple(model.n_components_.tolist())),
        relevance_vectors=len(model.relevance_vectors_),
        seconds=seconds,
    )


def draw_demo(result: DemoResult, preset: Preset) -> BoundaryDisplay:
    """The model over its training rows, with the numbers above."""
    from sdgm.plotting import BoundaryDisplay, new_axes

    outcome = result.outcomes[preset]
    weights, components = changes(outcome)
    X_train, y_train, _, _ = result.data.split()
    display = BoundaryDisplay.from_estimator(result.models[preset], X_train, y_train, ax=new_axes())
    rows = "generated rows" if result.data.generated else "published rows"
    ax, gap = display.ax_, " " * 6
    ax.set_title(f"Ripley's problem ({rows}), dual SDGM, preset {preset}\n", fontweight="bold")
    numbers = (
        f"test error {100 * outcome.error:.1f}%",
        f"weights {weights}",
        f"components {components}",
    )
    ax.text(0.5, 1.025, gap.join(numbers), transform=ax.transAxes, ha="center")
    return display


def changes(outcome: Outcome, arrow: str = "→") -> tuple[str, str]:
    """Weights and components before and after learning, as text."""
    if outcome.weights is None or outcome.components is None:
        return "-", "-"
    before, after = ("+".join(map(str, counts)) for counts in outcome.components)
    return f"{outcome.weights[0]} {arrow} {outcome.weights[1]}", f"{before} {arrow} {after}"


def checked_output(path: Path) -> Path:
    """The path, if a picture can be written there."""
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise ValueError(
            f"cannot write {path}: a picture's name must end in {', '.join(PICTURE_SUFFIXES)}."
        )
    checked_path(path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"cannot write {path}: permission denied.")
    return path
