"""Smaller models from a fitted one: the path of `core.elimination` in the user's attributes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows
from sdgm.core.model.design import matrix_design
from sdgm.core.selection.elimination import Point, eliminate
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.automatic import honest_covariance
from sdgm.estimators.footprint import covariance_bytes
from sdgm.estimators.memory import available_memory, require_memory
from sdgm.estimators.sample import Sample
from sdgm.estimators.threads import blas_threads

# weights up to which their covariance is kept
MAX_COVARIANCE = 4_000


def points_below(
    model: Any, sample: Sample, *, min_weights: int, step: int | None = None
) -> Iterator[Point]:
    """The path from a fitted model to fewer weights, in its own columns and units.

    Parameters
    ----------
    model : fitted SDGMClassifier or KernelSDGMClassifier
    sample : Sample
        What its weights are estimated from along the path.
    min_weights, step
        As in `eliminate`.

    Yields
    ------
    point : Point
        With the columns of the model's own state.
    """
    n_weights = model._state.n_weights
    require_memory(
        covariance_bytes(n_weights),
        f"The covariance of {n_weights} weights",
        ["a smaller model"],
    )
    columns = np.unique(np.concatenate([[0], model._state.column]))
    design = matrix_design(model._basis.transform(model._standardized(sample.X)))
    state = replace(model._state, column=np.searchsorted(columns, model._state.column))
    rows = Rows(design.Z, sample.y, sample.s)
    n_coordinates = min(n_weights, state.n_components * design.Rt.shape[1])
    path = eliminate(rows, design.Rt, state, model._options(), min_weights=min_weights, step=step)
    while True:
        # not around the whole loop, whose body is the caller's
        with blas_threads(float(len(rows)) * n_coordinates**2):
            point = next(path, None)
        if point is None:
            return
        yield replace(point, state=replace(point.state, column=columns[point.state.column]))


def model_at(model: Any, point: Point, labelled: Sample) -> Any:
    """A copy of a fitted model with the weights of a point of its path.

    Parameters
    ----------
    model : the fitted model that the path started from
    point : Point
    labelled : Sample
        Rows with labels, for the covariance of the weights.
    """
    smaller = copy.copy(model)
    take_weights(smaller, point, labelled)
    return smaller


def take_weights(model: Any, point: Point, labelled: Sample) -> None:
    """Replace the weights of a fitted model by those of a point of its path, as in `model_at`."""
    before = np.unique(model._state.column[model._state.column > 0])
    after = np.unique(point.state.column[point.state.column > 0])
    vars(model).update(
        model._weight_attributes(point.state),
        **model._kept_attributes(np.searchsorted(before, after)),
        _state=point.state,
        log_evidence_=point.log_evidence,
        covariance_=None,
    )
    if keeps_covariance(point.state.n_weights):
        with suppress(FloatingPointError), np.errstate(over="raise"):
            model.covariance_ = honest_covariance(model, labelled.X, labelled.y, labelled.s)


def keeps_covariance(n_weights: int) -> bool:
    """Whether the covariance of so many weights is computed: it takes little, and fits."""
    return n_weights <= MAX_COVARIANCE and covariance_bytes(n_weights) <= available_memory()


def divergences(points: list[Point], learned: Sample) -> FloatArray:
    """Mean divergence of the points from what they learned, in nats; from labels the log loss."""
    log_likelihood = np.array([point.log_likelihood for point in points])
    return -log_likelihood / learned.s.sum() - learned.entropy


def divergence_within(model: Any, max_weights: int, learned: Sample) -> float:
    """The divergence that a fitted model would have within a budget; infinite if it fails."""
    try:
        points = list(points_below(model, learned, min_weights=max_weights))
    except (FactorizationError, MemoryError):
        return np.inf
    return float(divergences(points, learned)[-1])


def keep_to_budget(model: Any, max_weights: int, learned: Sample, labelled: Sample) -> None:
    """Eliminate weights of a fitted model until they are within its budget.

    Parameters
    ----------
    model : fitted SDGMClassifier or KernelSDGMClassifier
        Changed; gets ``weights_path_``.
    max_weights : int
    learned : Sample
        What it learned from.
    labelled : Sample
        As in `model_at`.
    """
    points = list(points_below(model, learned, min_weights=max_weights))
    model.weights_path_ = {
        "n_weights": np.array([point.state.n_weights for point in points]),
        "divergence": divergences(points, learned),
    }
    if model._state.n_weights > max_weights:
        take_weights(model, points[-1], labelled)
