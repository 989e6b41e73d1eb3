"""Fit times of sdgm and its peers on Ripley and Banana split 2.

Per thread count one process fits all models in turn, round after round, so that whatever else the
machine does falls on all alike. Round i uses seed i where a model has one. Takes some three minutes
per thread count with 20 rounds; half of it are the three rounds of sklearn-rvm.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from benchmarks.child import records_of_child
from benchmarks.data import PROBLEMS, Split
from benchmarks.settings import Settings
from benchmarks.timing import digits, rotated, timed
from sdgm import KernelSDGMClassifier, RVMClassifier, SDGMClassifier

SLOW_REPEATS = 3
WARM_UP_ROWS = 40


@dataclass(frozen=True)
class Model:
    """A classifier to time.

    Attributes
    ----------
    name, library : str
    make : callable
        From a seed to an estimator that is not fitted.
    weights : callable
        Number of weights of a fitted one.
    vectors : callable or None
        Number of training rows that a fitted one keeps.
    slow : bool
        Whether a few rounds must do.
    """

    name: str
    library: str
    make: Callable[[int], Any]
    weights: Callable[[Any], int]
    vectors: Callable[[Any], int] | None
    slow: bool = False


def fastrvm_rvc(seed: int) -> Any:
    """Imported here, as below, so that a peer may be missing."""
    from fastrvm import RVC

    return RVC(kernel="rbf")


def sklearn_rvm_emrvc(seed: int) -> Any:
    from sklearn_rvm import EMRVC

    return EMRVC(kernel="rbf")


def active_weights(model: Any) -> int:
    return model.n_active_weights_


def relevance_vectors(model: Any) -> int:
    return len(model.relevance_vectors_)


def training_rows(model: Any) -> int:
    return len(model.base_estimator_.X_train_)


DEFAULT = "KernelSDGMClassifier()"
PAPER_MODEL = "KernelSDGMClassifier(gamma=1, standardize=False)"
FASTRVM = "RVC(kernel='rbf')"
GPC = "GaussianProcessClassifier(RBF())"
EMRVC = "EMRVC(kernel='rbf')"

MODELS = (
    Model(
        DEFAULT,
        "sdgm",
        lambda seed: KernelSDGMClassifier(random_state=seed),
        active_weights,
        relevance_vectors,
    ),
    Model(
        PAPER_MODEL,
        "sdgm",
        lambda seed: KernelSDGMClassifier(gamma=1, standardize=False, random_state=seed),
        active_weights,
        relevance_vectors,
    ),
    Model(
        "SDGMClassifier()",
        "sdgm",
        lambda seed: SDGMClassifier(random_state=seed),
        active_weights,
        None,
    ),
    Model(
        "RVMClassifier()",
        "sdgm",
        lambda seed: RVMClassifier(random_state=seed),
        active_weights,
        relevance_vectors,
    ),
    Model(
        "KernelSDGMClassifier(preset='paper')",
        "sdgm",
        lambda seed: KernelSDGMClassifier(preset="paper", random_state=seed),
        active_weights,
        relevance_vectors,
    ),
    Model(FASTRVM, "fastrvm", fastrvm_rvc, lambda model: model.dual_coef_.size, relevance_vectors),
    Model(
        "SVC(probability=True)",
        "scikit-learn",
        lambda seed: SVC(probability=True, random_state=seed),
        lambda model: model.dual_coef_.size + model.intercept_.size,
        lambda model: len(model.support_vectors_),
    ),
    Model(
        GPC,
        "scikit-learn",
        lambda seed: GaussianProcessClassifier(RBF(), random_state=seed),
        training_rows,
        training_rows,
    ),
    Model(
        EMRVC,
        "sklearn-rvm",
        sklearn_rvm_emrvc,
        lambda model: model.mu_.size,
        relevance_vectors,
        slow=True,
    ),
)


@dataclass
class Outcomes:
    """What the fits of one model on one problem gave, in the order of the rounds."""

    seconds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    log_losses: list[float] = field(default_factory=list)
    n_weights: list[int] = field(default_factory=list)
    n_vectors: list[int] = field(default_factory=list)
    warned: dict[str, int] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """All times; means of the rest."""
        return {
            "seconds": digits(self.seconds),
            "error": mean(self.errors),
            "log_loss": mean(self.log_losses),
            "n_weights": mean(self.n_weights),
            "n_vectors": mean(self.n_vectors),
            "warned": self.warned,
        }


def run(settings: Settings) -> Iterator[dict[str, Any]]:
    """One record per thread count, problem and model."""
    arguments = {
        "repeats": settings.repeats,
        "slow_repeats": 1 if settings.quick else min(SLOW_REPEATS, settings.repeats),
    }
    for threads in settings.threads:
        yield from records_of_child("peers:measure", arguments, threads=threads)


def measure(repeats: int, slow_repeats: int) -> Iterator[dict[str, Any]]:
    """Time all installed models on all problems, in this process."""
    models = installed_models()
    for problem, load in PROBLEMS.items():
        split = load()
        outcomes = {model.name: Outcomes() for model in models}
        warm_up(models, split)
        for round_ in range(repeats):
            print(f"  {problem}: round {round_ + 1} of {repeats}", file=sys.stderr, flush=True)
            for model in rotated(models, round_):
                if not model.slow or round_ < slow_repeats:
                    fit_once(model, split, round_, outcomes[model.name])
        for model in models:
            about = {"problem": problem, "model": model.name, "library": model.library}
            yield about | outcomes[model.name].record()


def installed_models() -> list[Model]:
    """The models whose library is there, with a word on those that are not."""
    found = []
    for model in MODELS:
        try:
            model.make(0)
        except ImportError as error:
            print(f"  left out {model.name}: {error}; see the extra [bench]", file=sys.stderr)
        else:
            found.append(model)
    return found


def warm_up(models: list[Model], split: Split) -> None:
    """Fit a few rows, so that no time holds first imports and allocations."""
    X, y, _, _ = split
    step = len(X) // WARM_UP_ROWS
    for model in models:
        timed(lambda model=model: model.make(0).fit(X[::step], y[::step]))


def fit_once(model: Model, split: Split, seed: int, outcomes: Outcomes) -> None:
    """Fit, and add time and quality to the outcomes."""
    X_train, y_train, X_test, y_test = split
    estimator = model.make(seed)
    _, seconds, warned = timed(lambda: estimator.fit(X_train, y_train))
    P = estimator.predict_proba(X_test)
    outcomes.seconds.append(seconds)
    outcomes.errors.append(float((estimator.predict(X_test) != y_test).mean()))
    outcomes.log_losses.append(float(log_loss(y_test, P, labels=estimator.classes_)))
    outcomes.n_weights.append(int(model.weights(estimator)))
    if model.vectors is not None:
        outcomes.n_vectors.append(int(model.vectors(estimator)))
    for category in warned:
        outcomes.warned[category] = outcomes.warned.get(category, 0) + 1


def mean(values: list[float] | list[int]) -> float | None:
    """Over the rounds, None where there are none."""
    return round(float(np.mean(values)), 5) if values else None
