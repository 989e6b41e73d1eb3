"""Smaller models from a fitted one: the path of `core.elimination` in the user's units."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.recipe import Recipe
from sdgm.core.model.design import matrix_design
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.selection.elimination import Point, eliminate
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.automatic import honest_covariance
from sdgm.estimators.footprint import covariance_bytes
from sdgm.estimators.memory import available_memory, require_memory
from sdgm.estimators.sample import Sample
from sdgm.estimators.threads import blas_threads
from sdgm.estimators.training import Training

# weights up to which their covariance is kept
MAX_COVARIANCE = 4_000


def points_below(
    model: FittedModel,
    sample: Sample,
    options: Recipe,
    *,
    min_weights: int,
    step: int | None = None,
) -> Iterator[Point]:
    """The path from a fitted model to fewer weights, in its own columns and units.

    Parameters
    ----------
    model : FittedModel
    sample : Sample
        What its weights are estimated from along the path.
    options : Recipe
    min_weights, step
        As in `eliminate`.

    Yields
    ------
    point : Point
        Its state counts columns as that of the model does.
    """
    state = model.state
    require_memory(
        covariance_bytes(state.n_weights),
        f"The covariance of {state.n_weights} weights",
        ["a smaller model"],
    )
    design = matrix_design(model.basis.transform(model.scaler.standardized(sample.X)))
    rows = Rows(design.Z, sample.y, sample.s)
    n_coordinates = min(state.n_weights, state.n_components * design.Rt.shape[1])
    path = eliminate(rows, design.Rt, state, options, min_weights=min_weights, step=step)
    while True:
        # not around the whole loop, whose body is the caller's
        with blas_threads(float(len(rows)) * n_coordinates**2):
            point = next(path, None)
        if point is None:
            return
        yield point


def model_at(model: FittedModel, point: Point, labelled: Sample) -> FittedModel:
    """A fitted model with the weights of a point of its path.

    Parameters
    ----------
    model : FittedModel
        What the path started from.
    point : Point
    labelled : Sample
        Rows with labels, for the covariance of the weights.
    """
    smaller = model.with_weights(point.state)
    if keeps_covariance(smaller.n_weights):
        with suppress(FloatingPointError), np.errstate(over="raise"):
            covariance = honest_covariance(smaller, labelled.X, labelled.y, labelled.s)
            return replace(smaller, covariance=covariance)
    return smaller


def keeps_covariance(n_weights: int) -> bool:
    """Whether the covariance of so many weights is computed: it takes little, and fits."""
    return n_weights <= MAX_COVARIANCE and covariance_bytes(n_weights) <= available_memory()


def divergences(points: list[Point], learned: Sample) -> FloatArray:
    """Mean divergence of the points from what they learned, in nats; from labels the log loss."""
    log_likelihood = np.array([point.log_likelihood for point in points])
    return -log_likelihood / learned.s.sum() - learned.entropy


def divergence_within(estimator: Any, max_weights: int, learned: Sample) -> float:
    """The divergence that a fitted model would have within a budget; infinite if it fails."""
    try:
        path = points_below(
            estimator.model_, learned, estimator._options(), min_weights=max_weights
        )
        points = list(path)
    except (FactorizationError, MemoryError):
        return np.inf
    return float(divergences(points, learned)[-1])


def within_budget(
    model: FittedModel,
    training: Training,
    max_weights: int,
    options: Recipe,
    learned: Sample,
    labelled: Sample,
) -> tuple[FittedModel, Training]:
    """A fitted model without the weights that are beyond its budget, and how it came about.

    Parameters
    ----------
    model : FittedModel
    training : Training
    max_weights : int
    options : Recipe
    learned : Sample
        What it learned from.
    labelled : Sample
        As in `model_at`.
    """
    points = list(points_below(model, learned, options, min_weights=max_weights))
    path = {
        "n_weights": np.array([point.state.n_weights for point in points]),
        "divergence": divergences(points, learned),
    }
    training = replace(training, weights_path=path)
    if model.n_weights <= max_weights:
        return model, training
    training = replace(training, log_evidence=points[-1].log_evidence)
    return model_at(model, points[-1], labelled), training
