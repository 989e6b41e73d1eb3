"""Data sets of the study, the candidates to choose from, and how a model is measured."""

from __future__ import annotations

from functools import lru_cache
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import BUNDLED, IDA, Split, split_of
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.selection.reference import Reference, fit_reference
from sdgm.estimators.preparation import center_and_inverse_scale

# all of the accuracy benchmark but the two whose fits are slow
DATA = tuple(name for name in (*IDA, *BUNDLED) if name not in ("image", "digits"))
# training rows beyond this are left out, the same for every candidate: the study has fits by the
# thousand
MAX_ROWS = 250
# inputs are divided by f sqrt(D) in the quadratic kernel; along this path starts are handed on
SCALES = (4.0, 2.0, 1.0, 0.5)
SMALLEST_PROBABILITY = 1e-15

Settings = dict[str, Any]


class Problem(NamedTuple):
    """A split of a data set, and how many of its training rows are used."""

    data: str
    split: int
    max_rows: int


@lru_cache(maxsize=4)
def rows_of(problem: Problem) -> Split:
    """Training and test rows."""
    name, split, most = problem
    X, y, X_test, y_test = split_of(name, split)
    if len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=split)
    return X, y, X_test, y_test


def group(part: str, D: int) -> dict[str, Settings]:
    """Candidates of a part such as "dual M=2", by name, in the order of the path."""
    form, M = part.split(" M=")
    if form == "primal":
        return {part: {"n_components": int(M), "covariance_type": "full"}}
    return {
        f"{part} f={f:g}": {"n_components": int(M), "kernel": "poly", "gamma": 1.0 / (f * f * D)}
        for f in SCALES
    }


def make_model(settings: Settings, **other: Any) -> Any:
    """The plain learner from labels: every setting is named, so that nothing is automatic."""
    form = SDGMClassifier if "covariance_type" in settings else KernelSDGMClassifier
    return form(**{"random_state": 0, **settings, **other})


def timed_fit(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    """A fitted model, and the processor time it took: others may use the machine too."""
    begin = process_time()
    model.fit(X, y)
    return model, process_time() - begin


def row_losses(model: Any, X: Any, y: Any) -> np.ndarray[Any, Any]:
    """``-ln P(c | x)`` of every row; a class that the model never saw has the least probability."""
    P = np.clip(model.predict_proba(X), SMALLEST_PROBABILITY, 1.0)
    column = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    own = np.where(model.classes_[column] == y, P[np.arange(len(y)), column], SMALLEST_PROBABILITY)
    return -np.log(own / P.sum(axis=1))


def tested(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Error, log loss and size of a fitted model."""
    return {
        "error": float(np.mean(model.predict(X) != y)),
        "log_loss": float(row_losses(model, X, y).mean()),
        "weights": int(getattr(model, "n_active_weights_", 0)),
        "components": len(getattr(model, "mixture_weights_", ())),
    }


@lru_cache(maxsize=2)
def reference_of(problem: Problem) -> tuple[Reference, float]:
    """The dense model of a problem, and how long it took."""
    X, y, _, _ = rows_of(problem)
    s = np.ones(len(y))
    center, inverse_scale = center_and_inverse_scale(X, s)
    codes = np.unique(y, return_inverse=True)[1]
    begin = process_time()
    reference = fit_reference((X - center) * inverse_scale, codes, s)
    return reference, process_time() - begin
