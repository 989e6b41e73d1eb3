"""Prediction on a million rows, against the least numpy could do.

The yardstick is ``np.exp(X @ A)`` with a 2 x 6 matrix A: scores of six components, and one
exponential of each. Models fitted to Ripley's 250 rows predict rows drawn from the same
distribution. All are timed in turn, in one process per thread count. Takes about one minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import ripley
from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.speed_page import IN_PLACE, YARDSTICK, write_page
from benchmarks.timing import digits, rotated, timed
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.datasets import make_ripley

ROWS = 1_000_000
QUICK_ROWS = 100_000
N_SCORES = 6


def cells(plan: Plan) -> list[Cell]:
    """All calls in turn, in one process per thread count."""
    rows = plan.rows or (QUICK_ROWS if plan.quick else ROWS)
    return [{"threads": n, "rounds": plan.repeats, "rows": rows} for n in plan.threads]


def measure(threads: int, rounds: int, rows: int) -> Iterator[Record]:
    """One record per call."""
    X = np.ascontiguousarray(make_ripley(n_train=4, n_test=rows, random_state=0).X[4:])
    calls, weights = calls_to_time(X)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for round_ in range(rounds):
        for name in rotated(list(calls), round_):
            seconds[name].append(timed(calls[name])[1])
    for name, times in seconds.items():
        yield {"call": name, "seconds": digits(times), "n_weights": weights.get(name)}


def calls_to_time(X: np.ndarray) -> tuple[dict[str, Callable[[], Any]], dict[str, int]]:
    """The yardstick and the models' methods by name, and the weights behind the latter."""
    A = np.random.default_rng(0).standard_normal((X.shape[1], N_SCORES))
    scores = np.empty((len(X), N_SCORES))
    calls: dict[str, Callable[[], Any]] = {
        YARDSTICK: lambda: np.exp(X @ A),
        IN_PLACE: lambda: np.exp(np.matmul(X, A, out=scores), out=scores),
    }
    weights = {}
    X_train, y_train, _, _ = ripley()
    for model in (KernelSDGMClassifier(random_state=0), SDGMClassifier(random_state=0)):
        model.fit(X_train, y_train)
        for method in ("predict", "predict_proba"):
            name = f"{type(model).__name__}().{method}(X)"
            calls[name] = partial(getattr(model, method), X)
            weights[name] = model.n_active_weights_
    return calls, weights


BENCHMARK = Benchmark(
    "prediction", cells, measure, write_page, repeats=20, quick_repeats=2, timeout=600.0
)
