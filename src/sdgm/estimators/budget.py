"""Smaller models from a fitted one, by backward elimination in the user's units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.inference.recipe import Recipe
from sdgm.core.model.design import matrix_design
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import State
from sdgm.core.selection.elimination import Point, eliminate, eliminate_within
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.problem import Sample
from sdgm.estimators.training import Fit
from sdgm.scale.memory import covariance_bytes, keeps_covariance, require_memory
from sdgm.scale.threads import blas_threads


def points_below(
    model: FittedModel,
    sample: Sample,
    recipe: Recipe,
    *,
    min_weights: int,
    step: int | None = None,
) -> Iterator[Point]:
    """The path from a fitted model to fewer weights, in its own columns and units.

    Parameters
    ----------
    model : FittedModel
    sample : Sample
        The rows that its weights are estimated from along the path.
    recipe : Recipe
    min_weights, step
        As in `eliminate`.

    Yields
    ------
    point : Point
        Its state numbers columns as the state of the model does.
    """
    start = eliminable(model, sample)
    path = eliminate(*start, model.state, recipe, min_weights=min_weights, step=step)
    return threaded(path, model, start[0])


def points_within(
    model: FittedModel, sample: Sample, recipe: Recipe, room: Callable[[State], float]
) -> Iterator[Point]:
    """The same, as long as the loss stays within its bound; see `eliminate_within`."""
    start = eliminable(model, sample)
    return threaded(eliminate_within(*start, model.state, recipe, room), model, start[0])


def eliminable(model: FittedModel, sample: Sample) -> tuple[Rows, FloatArray]:
    """Rows in the columns of a model, and the right factor of its design."""
    n_weights = model.state.n_weights
    what = f"The covariance of {n_weights} weights"
    require_memory(covariance_bytes(n_weights), what, ["a smaller model"])
    design = matrix_design(model.basis.transform(model.scaler.standardized(sample.X)))
    return Rows(design.Z, sample.y, sample.s), design.Rt


def threaded(path: Iterator[Point], model: FittedModel, rows: Rows) -> Iterator[Point]:
    """A path, computed with as many threads as its work is worth."""
    state, p = model.state, rows.Z.shape[1]
    n_coordinates = min(state.n_weights, state.n_components * p)
    while True:
        # not around the whole loop, because its body belongs to the caller
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
        The model at the start of the path.
    point : Point
    labelled : Sample
        Rows with labels, for the covariance of the weights.
    """
    smaller = model.with_weights(point.state)
    with suppress(FloatingPointError), np.errstate(over="raise"):
        covariance = honest_covariance(smaller, labelled.X, labelled.y, labelled.s)
        return replace(smaller, covariance=covariance)
    return smaller


def divergences(points: list[Point], learned: Sample) -> FloatArray:
    """Mean divergence of the points from their targets, in nats: the log loss for labels."""
    log_likelihood = np.array([point.log_likelihood for point in points])
    return -log_likelihood / learned.s.sum() - learned.entropy


def divergence_within(fit: Fit, max_weights: int, recipe: Recipe, learned: Sample) -> float:
    """Divergence of a model after reduction to a budget of weights; infinite if that fails."""
    try:
        points = list(points_below(fit.model, learned, recipe, min_weights=max_weights))
    except (FactorizationError, MemoryError):
        return np.inf
    return float(divergences(points, learned)[-1])


def within_budget(
    fit: Fit, max_weights: int, recipe: Recipe, learned: Sample, labelled: Sample
) -> Fit:
    """A fit reduced to its budget of weights; unchanged if the reduction is interrupted.

    Parameters
    ----------
    fit : Fit
    max_weights : int
    recipe : Recipe
    learned : Sample
        What it learned from.
    labelled : Sample
        As in `model_at`.
    """
    try:
        points = list(points_below(fit.model, learned, recipe, min_weights=max_weights))
    except KeyboardInterrupt:
        return replace(fit, is_interrupted=True)
    path = {
        "n_weights": np.array([point.state.n_weights for point in points]),
        "divergence": divergences(points, learned),
    }
    training = replace(fit.training, weights_path=path)
    if fit.model.n_weights <= max_weights:
        return replace(fit, training=training)
    training = replace(training, log_evidence=points[-1].log_evidence)
    return replace(fit, model=model_at(fit.model, points[-1], labelled), training=training)


def honest_covariance(
    model: FittedModel, X: FloatArray, y: IntArray, s: FloatArray
) -> FloatArray | None:
    """Posterior covariance of the model's weights given the labels, each row counted once.

    None if there are too many.
    """
    if not keeps_covariance(model.n_weights):
        return None
    Z = model.columns(X)
    try:
        return laplace_covariance(Rows(Z, y, s), np.eye(Z.shape[1]), model.state)
    except FactorizationError:
        return None
