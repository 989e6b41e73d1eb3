"""Probabilities and uncertainty.

The no-argument classifiers with MAP probabilities, averaged over the posterior of the weights, and
with temperature scaling, beside logistic regression and a calibrated support vector machine; on the
sets as they are, and on two-class sets whose rarer class is thinned. `calibration_page` writes what
came out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import METHODS
from benchmarks.calibration_page import AS_THEY_ARE, IMBALANCED, SHARES, write
from benchmarks.data import BUNDLED, IDA, Split, split_of
from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import timed
from sdgm.metrics import brier_score, expected_calibration_error, rejection_curve

AUTOMATIC = ("KernelSDGMClassifier()", "SDGMClassifier()")
YARDSTICKS = ("SVM, tuned", "logistic regression")
# ten classes make the automatic settings slow: one fit takes more than a minute
SLOW = ("digits",)
DATA = [name for name in (*IDA, *BUNDLED) if name not in SLOW]
TWO_CLASSES = [name for name in DATA if name in IDA or name == "wdbc"]
# most sets have 400 rows or fewer; of the others a part, so that all fits take minutes
MAX_ROWS = 400
# rows of the rare class for one of the other
RARE = 0.1
FOLDS = 5
# probabilities below this count as this much in the log loss
SMALLEST = 1e-15
# for the pictures: at most this many test rows of every split
MAX_DRAWN = 200


def measures(y: Any, P: Any, labels: Any, s: Any) -> Record:
    """All that is measured of predicted probabilities."""
    P = np.clip(P, SMALLEST, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    curve = rejection_curve(y, P, labels=labels, sample_weight=s)
    answer, right = labels[P.argmax(axis=1)], labels[P.argmax(axis=1)] == y
    wrong = np.interp(SHARES, [0.0, *curve.answered], [0.0, *(curve.answered * curve.error)])
    drawn = np.random.default_rng(0).permutation(len(y))[:MAX_DRAWN]
    return {
        "error": float(np.average(~right, weights=s)),
        "balanced_error": 1.0 - float(balanced_accuracy_score(y, answer)),
        "log_loss": float(log_loss(y, P, labels=labels, sample_weight=s)),
        "brier": brier_score(y, P, labels=labels, sample_weight=s),
        "ece": expected_calibration_error(y, P, labels=labels, sample_weight=s),
        "area": curve.area,
        "perfect_area": curve.perfect_area,
        "curve": np.round(wrong / SHARES, 5).tolist(),
        "confidence": np.round(P.max(axis=1)[drawn], 4).tolist(),
        "right": right[drawn].astype(int).tolist(),
    }


def thinned(X: Any, y: Any, seed: int) -> tuple[Any, Any, Any]:
    """Rows with the rarer of two classes thinned to one in ten of the other, and its label."""
    labels, count = np.unique(y, return_counts=True)
    rare = labels[count.argmin()]
    own = np.random.default_rng(seed).permutation(np.flatnonzero(y == rare))
    kept = np.concatenate([np.flatnonzero(y != rare), own[: round(RARE * count.max())]])
    return X[kept], y[kept], rare


def problem(block: str, data: str, split: int) -> tuple[Split, Any]:
    """Training and test rows of a cell, and weights of the test rows."""
    X, y, X_test, y_test = split_of(data, split)
    if len(X) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=split)
    # scikit-learn's temperature scaling takes labels that are numbers for column numbers
    labels, y = np.unique(y, return_inverse=True)
    y_test = np.searchsorted(labels, y_test)
    s = np.ones(len(X_test))
    if block == IMBALANCED:
        X, y, rare = thinned(X, y, split)
        # the same classes in the same shares as among the training rows
        share, test_share = np.mean(y == rare), np.mean(y_test == rare)
        s[y_test == rare] = share / (1 - share) * (1 - test_share) / test_share
    return (X, y, X_test, y_test), s


def cells(plan: Plan) -> list[Cell]:
    """Every model on every split of every set, as it is and thinned."""
    return [
        {"block": block, "data": name, "split": split, "model": model}
        for split in range(plan.repeats)
        for name in (("heart", "iris") if plan.quick else DATA)
        for block in (AS_THEY_ARE, IMBALANCED)
        if block == AS_THEY_ARE or name in TWO_CLASSES
        for model in (*AUTOMATIC, *YARDSTICKS)
    ]


def measure(block: str, data: str, split: int, model: str) -> Iterator[Record]:
    """One model on one split: how good its kinds of probabilities are, and what they cost."""
    for way, values in ways_of(block, data, split, model).items():
        yield {"way": way, **values}


def ways_of(block: str, data: str, split: int, name: str) -> dict[str, Record]:
    """Measures of all kinds of probabilities of a model."""
    (X, y, X_test, y_test), s = problem(block, data, split)
    model = METHODS[name](X.shape[1], split)
    results: dict[str, Record] = {}

    def add(way: str, fitting: float, predict: Any) -> Any:
        P, seconds, _ = timed(predict)
        results[way] = {
            **measures(y_test, P, np.unique(y), s),
            "fit_seconds": fitting,
            "predict_seconds": 1000 * seconds / len(X_test),  # for 1000 rows
        }
        return P

    fitting = timed(partial(model.fit, X, y))[1]
    if name in YARDSTICKS:
        add("", fitting, lambda: model.predict_proba(X_test))
        return results
    P = add("MAP", fitting, lambda: model.predict_proba(X_test))
    add("averaged", fitting, lambda: model.predict_proba_averaged(X_test))
    scaled = CalibratedClassifierCV(model, method="temperature", cv=FOLDS, ensemble=False)
    scaling = timed(partial(scaled.fit, X, y))[1]
    add("temperature", scaling, lambda: scaled.predict_proba(X_test))
    inverse = float(scaled.calibrated_classifiers_[0].calibrators[0].beta_)
    results["temperature"]["temperature"] = 1.0 / inverse
    if block == IMBALANCED:
        shares = np.unique(y, return_counts=True)[1] / len(y)
        add("MAP / class shares", fitting, lambda: rescaled(P, 1.0 / shares))
        model.set_params(class_weight="balanced")
        fitting = timed(partial(model.fit, X, y))[1]
        P = add("balanced", fitting, lambda: model.predict_proba(X_test))
        add("balanced * class shares", fitting, lambda: rescaled(P, shares))
    return results


def rescaled(P: Any, factors: Any) -> Any:
    """Probabilities for other shares of the classes (Bayes' rule)."""
    P = P * factors
    return P / P.sum(axis=1, keepdims=True)


BENCHMARK = Benchmark("calibration", cells, measure, write, repeats=3)
