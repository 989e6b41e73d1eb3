"""Fit times of sdgm and its peers on Ripley and Banana split 2.

Per thread count one process fits all models in turn, round after round, so that whatever else the
machine does falls on all alike. Round i uses seed i where a model has one. Takes some three minutes
per thread count with 20 rounds; half of it are the three rounds of sklearn-rvm.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.data import PROBLEMS, Split
from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.speed_page import FASTRVM, write_page
from benchmarks.timing import digits, rotated, timed
from sdgm import KernelSDGMClassifier, RVMClassifier, SDGMClassifier

SLOW_ROUNDS = 3
WARM_UP_ROWS = 40
GRID = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.15, 0.5, 1.5]}


def relevance_vectors(model: Any) -> int:
    return len(model.relevance_vectors_)


@dataclass(frozen=True)
class Model:
    """A classifier to time."""

    name: str
    library: str
    make: Callable[[int], Any]  # from a seed to an estimator that is not fitted
    weights: Callable[[Any], int] = attrgetter("n_active_weights_")
    vectors: Callable[[Any], int] | None = relevance_vectors  # training rows that it keeps
    slow: bool = False  # whether a few rounds must do


def peer(module: str, name: str) -> Callable[[int], Any]:
    """Imported when it is made, so that a peer may be missing."""
    return lambda seed: getattr(import_module(module), name)(kernel="rbf")


def own(make: Callable[..., Any], settings: str = "", **values: Any) -> Model:
    """One of sdgm's, called with some settings."""
    vectors = None if make is SDGMClassifier else relevance_vectors
    name = f"{make.__name__}({settings})"
    return Model(name, "sdgm", lambda seed: make(random_state=seed, **values), vectors=vectors)


MODELS = (
    own(KernelSDGMClassifier),
    own(KernelSDGMClassifier, "teacher=None", teacher=None),
    own(KernelSDGMClassifier, "gamma=1, standardize=False", gamma=1, standardize=False),
    own(SDGMClassifier),
    own(SDGMClassifier, "teacher=None", teacher=None),
    own(RVMClassifier),
    own(KernelSDGMClassifier, "preset='paper'", preset="paper"),
    Model(FASTRVM, "fastrvm", peer("fastrvm", "RVC"), lambda model: model.dual_coef_.size),
    Model(
        "SVC(probability=True)",
        "scikit-learn",
        lambda seed: SVC(probability=True, random_state=seed),
        lambda model: model.dual_coef_.size + model.intercept_.size,
        lambda model: len(model.support_vectors_),
    ),
    Model(
        "GridSearchCV(SVC(probability=True))",
        "scikit-learn",
        lambda seed: GridSearchCV(
            make_pipeline(StandardScaler(), SVC(probability=True, random_state=seed)), GRID, cv=3
        ),
        lambda search: search.best_estimator_[-1].dual_coef_.size + 1,
        lambda search: len(search.best_estimator_[-1].support_vectors_),
    ),
    Model(
        "GaussianProcessClassifier(RBF())",
        "scikit-learn",
        lambda seed: GaussianProcessClassifier(RBF(), random_state=seed),
        *[lambda model: len(model.base_estimator_.X_train_)] * 2,  # all rows
    ),
    Model(
        "EMRVC(kernel='rbf')",
        "sklearn-rvm",
        peer("sklearn_rvm", "EMRVC"),
        lambda model: model.mu_.size,
        slow=True,
    ),
)


def cells(plan: Plan) -> list[Cell]:
    """All models in turn, in one process per thread count and problem."""
    slow = 1 if plan.quick else min(SLOW_ROUNDS, plan.repeats)
    return [
        {"problem": problem, "threads": threads, "rounds": plan.repeats, "slow_rounds": slow}
        for threads in plan.threads
        for problem in PROBLEMS
    ]


def measure(problem: str, threads: int, rounds: int, slow_rounds: int) -> Iterator[Record]:
    """One record per installed model: all times, and means of the rest."""
    models, split = installed_models(), PROBLEMS[problem]()
    warm_up(models, split)
    # on one thread the time of the processor, which other programs do not lengthen
    clock = process_time if threads == 1 else perf_counter
    fits: dict[str, list[Record]] = {model.name: [] for model in models}
    for seed in range(rounds):
        for model in rotated(models, seed):
            if not model.slow or seed < slow_rounds:
                fits[model.name].append(one_fit(model, split, seed, clock))
    for model in models:
        each = fits[model.name]
        yield {
            "model": model.name,
            "library": model.library,
            "seconds": digits([fit["seconds"] for fit in each]),
            **{name: mean(each, name) for name in ("error", "log_loss", "n_weights", "n_vectors")},
            "warned": dict(Counter(category for fit in each for category in fit["warned"])),
        }


def installed_models() -> list[Model]:
    """The models whose library is there, with a word on those that are not."""
    found = []
    for model in MODELS:
        try:
            model.make(0)
        except ImportError as error:
            print(
                f"  left out {model.name}: {error}; install the dependency group bench",
                file=sys.stderr,
            )
        else:
            found.append(model)
    return found


def warm_up(models: list[Model], split: Split) -> None:
    """Fit a few rows, so that no time holds first imports and allocations."""
    X, y, _, _ = split
    step = len(X) // WARM_UP_ROWS
    for model in models:
        timed(lambda model=model: model.make(0).fit(X[::step], y[::step]))


def one_fit(model: Model, split: Split, seed: int, clock: Callable[[], float]) -> Record:
    """Fit, and measure time and quality."""
    X_train, y_train, X_test, y_test = split
    estimator = model.make(seed)
    _, seconds, warned = timed(lambda: estimator.fit(X_train, y_train), clock)
    P = estimator.predict_proba(X_test)
    return {
        "seconds": seconds,
        "error": float((estimator.predict(X_test) != y_test).mean()),
        "log_loss": float(log_loss(y_test, P, labels=estimator.classes_)),
        "n_weights": model.weights(estimator),
        "n_vectors": None if model.vectors is None else model.vectors(estimator),
        "warned": warned,
    }


def mean(fits: list[Record], name: str) -> float | None:
    """Over the rounds, None where there are none."""
    values = [fit[name] for fit in fits]
    return None if None in values else round(float(np.mean(values)), 5)


BENCHMARK = Benchmark(
    "peers", cells, measure, write_page, repeats=20, quick_repeats=2, timeout=3600.0
)
