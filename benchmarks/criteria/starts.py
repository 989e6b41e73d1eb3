"""Starts, and moves of components: the second question of the study.

Two settings, three components per class in the dual form and two in the primal. Which start, what
chooses among several, and whether components are better added and deleted one at a time by
approximate leave-one-out than pruned from a generous start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.criteria.laplace import leave_one_out_losses, mode_of, problem_of
from benchmarks.criteria.problems import Problem, Settings, make_model, rows_of, tested, timed_fit
from benchmarks.criteria.validation import responsibilities
from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import kmeans
from sdgm.core.solvers.precision import FactorizationError

N_STARTS = 5
# components per class that moves may reach
MOST_COMPONENTS = {"dual": 3, "primal": 2}
Record = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """A fit with its criteria and what the test rows say."""

    model: Any
    loo: float
    record: Record


def settings_of(form: str, D: int) -> Settings:
    """The setting whose starts are compared."""
    M = MOST_COMPONENTS[form]
    if form == "primal":
        return {"n_components": M, "covariance_type": "full"}
    return {"n_components": M, "kernel": "poly", "gamma": 1.0 / D}


def starts_cell(problem: Problem, form: str) -> Record:
    """Test results of every way to start, with fits and seconds it took."""
    X, y, X_test, y_test = rows_of(problem)
    settings = settings_of(form, X.shape[1])
    codes = np.unique(y, return_inverse=True)[1]

    def attempt(**other: Any) -> Trial | None:
        try:
            model, seconds = timed_fit(make_model({**settings, **other}), X, y)
            losses = leave_one_out_losses(mode_of(*problem_of(model, X, codes)), observed=True)
        except FactorizationError:
            return None
        loo = float(losses.mean())
        record = {**tested(model, X_test, y_test), "seconds": seconds, "loo": loo}
        return Trial(model, loo, {**record, "log_evidence": model.log_evidence_, "fits": 1})

    result: dict[str, Trial | None] = {"k-means": attempt()}
    result["Gaussian mixtures"] = attempt(init="gmm")
    result["random"] = attempt(init="random")
    others = [attempt(random_state=seed) for seed in range(1, N_STARTS)]
    five = [each for each in (result["k-means"], *others) if each is not None]
    several = f"best of {N_STARTS} k-means starts"
    for what, key in (
        ("evidence", lambda trial: -trial.record["log_evidence"]),
        ("approximate leave-one-out", lambda trial: trial.loo),
        ("test log loss (hindsight)", lambda trial: trial.record["log_loss"]),
    ):
        result[f"{several}, by {what}"] = total(min(five, key=key), five) if five else None
    most = MOST_COMPONENTS[form]
    one = attempt(n_components=1)
    add = "from one component, added while leave-one-out improves"
    result[add] = moved(one, attempt, X, y, partial(splits, most=most))
    delete = f"from {most} components, deleted while leave-one-out improves"
    result[delete] = moved(result["k-means"], attempt, X, y, deletions)
    return {name: None if each is None else each.record for name, each in result.items()}


def total(chosen: Trial, tried: list[Trial]) -> Trial:
    """The chosen trial, with the cost of all."""
    seconds = sum(each.record["seconds"] for each in tried)
    return Trial(
        chosen.model, chosen.loo, {**chosen.record, "fits": len(tried), "seconds": seconds}
    )


def moved(
    start: Trial | None,
    attempt: Callable[..., Trial | None],
    X: Any,
    y: Any,
    moves: Callable[[Any, FloatArray, FloatArray], Iterator[tuple[IntArray, FloatArray]]],
) -> Trial | None:
    """Of all moves take the one that improves leave-one-out most, until none does."""
    if start is None:
        return None
    best, tried = start, [start]
    while True:
        points = best.model._standardized(X)
        here = [
            attempt(n_components=counts.tolist(), init=r)
            for counts, r in moves(best.model, points, responsibilities(best.model, X, y))
        ]
        done = [each for each in here if each is not None]
        tried += done
        better = min(done, key=lambda trial: trial.loo, default=None)
        if better is None or better.loo >= best.loo:
            return total(best, tried)
        best = better


def splits(
    model: Any, points: FloatArray, r: FloatArray, most: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each class, its largest component in two, by 2-means of the rows that it has."""
    counts = np.bincount(model.component_class_)
    for c in np.flatnonzero(counts < most):
        own = np.flatnonzero(model.component_class_ == c)
        k = own[r[:, own].sum(axis=0).argmax()]
        used = np.flatnonzero(r[:, k] > 1e-3)
        if len(used) < 2:
            continue
        first = np.zeros(len(r), dtype=bool)
        rng = np.random.RandomState(0)
        first[used] = kmeans(points[used], r[used, k], 2, rng) == 0
        halves = np.where(first, r[:, k], 0.0), np.where(first, 0.0, r[:, k])
        new = np.insert(r, own[-1] + 1, halves[1], axis=1)
        new[:, k] = halves[0]
        yield counts + (np.arange(len(counts)) == c), new


def deletions(
    model: Any, points: FloatArray, r: FloatArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each class with several components, without its smallest one."""
    counts = np.bincount(model.component_class_)
    for c in np.flatnonzero(counts > 1):
        own = np.flatnonzero(model.component_class_ == c)
        k = own[r[:, own].sum(axis=0).argmin()]
        yield counts - (np.arange(len(counts)) == c), np.delete(r, k, axis=1)
