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

from benchmarks.child import records_of_child
from benchmarks.data import ripley
from benchmarks.settings import Settings
from benchmarks.timing import digits, rotated, timed
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.datasets import make_ripley

ROWS = 1_000_000
QUICK_ROWS = 100_000
N_SCORES = 6

YARDSTICK = "np.exp(X @ A)"
IN_PLACE = "the same into an array that is there already"


def run(settings: Settings) -> Iterator[dict[str, Any]]:
    """One record per thread count and call."""
    arguments = {"repeats": settings.repeats, "rows": QUICK_ROWS if settings.quick else ROWS}
    for threads in settings.threads:
        yield from records_of_child("prediction:measure", arguments, threads=threads)


def measure(repeats: int, rows: int) -> Iterator[dict[str, Any]]:
    """Time all calls, in this process."""
    X = np.ascontiguousarray(make_ripley(n_train=4, n_test=rows, random_state=0).X[4:])
    calls, weights = calls_to_time(X)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for round_ in range(repeats):
        for name in rotated(list(calls), round_):
            seconds[name].append(timed(calls[name])[1])
    for name, times in seconds.items():
        yield {
            "call": name,
            "rows": rows,
            "seconds": digits(times),
            "n_weights": weights.get(name),
        }


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
