"""Probabilities and uncertainty: ``python -m benchmarks.calibration``.

The no-argument classifiers with MAP probabilities, averaged over the posterior of the weights, and
with temperature scaling, beside logistic regression and a calibrated support vector machine; on the
sets as they are, and on two-class sets whose rarer class is thinned. `calibration_page` writes what
came out. Cells are kept in the output folder, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import BUNDLED, IDA, METHODS, Split, split_of
from benchmarks.calibration_page import (
    AS_THEY_ARE,
    IMBALANCED,
    draw_rejection,
    draw_reliability,
    page,
)
from reproduction.cells import Key, Record, run_cells
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
# for the pictures: shares of answered rows, and at most this many test rows of every split
SHARES = np.linspace(0.01, 1.0, 100)
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


def problem(key: Key) -> tuple[Split, Any]:
    """Training and test rows of a cell, and weights of the test rows."""
    split = int(key["split"] or 0)
    X, y, X_test, y_test = split_of(str(key["data"]), split)
    if len(X) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=split)
    # scikit-learn's temperature scaling takes labels that are numbers for column numbers
    labels, y = np.unique(y, return_inverse=True)
    y_test = np.searchsorted(labels, y_test)
    s = np.ones(len(X_test))
    if key["block"] == IMBALANCED:
        X, y, rare = thinned(X, y, split)
        # the same classes in the same shares as among the training rows
        share, test_share = np.mean(y == rare), np.mean(y_test == rare)
        s[y_test == rare] = share / (1 - share) * (1 - test_share) / test_share
    return (X, y, X_test, y_test), s


def measured_cell(key: Key) -> Record:
    """One model on one split: how good its kinds of probabilities are, and what they cost."""
    (X, y, X_test, y_test), s = problem(key)
    model = METHODS[str(key["model"])](X.shape[1], int(key["split"] or 0))
    results: dict[str, Record] = {}

    def add(way: str, fitting: float, predict: Any) -> Any:
        begin = perf_counter()
        P = predict()
        seconds = perf_counter() - begin
        results[way] = {
            **measures(y_test, P, np.unique(y), s),
            "fit_seconds": fitting,
            "predict_seconds": 1000 * seconds / len(X_test),  # for 1000 rows
        }
        return P

    fitting = fit_seconds(model, X, y)
    if key["model"] in YARDSTICKS:
        add("", fitting, lambda: model.predict_proba(X_test))
        return {"results": results}
    P = add("MAP", fitting, lambda: model.predict_proba(X_test))
    add("averaged", fitting, lambda: model.predict_proba_averaged(X_test))
    scaled = CalibratedClassifierCV(model, method="temperature", cv=FOLDS, ensemble=False)
    scaling = fit_seconds(scaled, X, y)
    add("temperature", scaling, lambda: scaled.predict_proba(X_test))
    inverse = float(scaled.calibrated_classifiers_[0].calibrators[0].beta_)
    results["temperature"]["temperature"] = 1.0 / inverse
    if key["block"] == IMBALANCED:
        shares = np.unique(y, return_counts=True)[1] / len(y)
        add("MAP / class shares", fitting, lambda: rescaled(P, 1.0 / shares))
        model.set_params(class_weight="balanced")
        fitting = fit_seconds(model, X, y)
        P = add("balanced", fitting, lambda: model.predict_proba(X_test))
        add("balanced * class shares", fitting, lambda: rescaled(P, shares))
    return {"results": results}


def fit_seconds(model: Any, X: Any, y: Any) -> float:
    begin = perf_counter()
    model.fit(X, y)
    return perf_counter() - begin


def rescaled(P: Any, factors: Any) -> Any:
    """Probabilities for other shares of the classes (Bayes' rule)."""
    P = P * factors
    return P / P.sum(axis=1, keepdims=True)


def main() -> None:
    """Run what is missing, and write the page and its pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--output", type=Path, default=Path("calibration"))
    options = parser.parse_args()
    keys: list[Key] = [
        {"block": block, "data": name, "split": split, "model": model}
        for split in range(options.splits)
        for name in options.data
        for block in (AS_THEY_ARE, IMBALANCED)
        if block == AS_THEY_ARE or name in TWO_CLASSES
        for model in (*AUTOMATIC, *YARDSTICKS)
    ]

    def tell(done: int, total: int, key: Key | None) -> None:
        last = "" if key is None else " ".join(map(str, key.values()))
        print(f"\r{done}/{total} {last}\033[K", end="", flush=True)

    path = options.output / "calibration.jsonl"
    records = run_cells(path, keys, measured_cell, jobs=options.jobs, progress=tell)
    chosen = ["--splits", str(options.splits)]
    if options.data != DATA:
        chosen += ["--data", *options.data]
    command = f"python -m benchmarks.calibration {shlex.join(chosen)}"
    (options.output / "calibration.md").write_text(page(records, command), encoding="utf-8")
    draw_reliability(records, options.output / "calibration-reliability")
    draw_rejection(records, options.output / "calibration-rejection", SHARES)
    print(f"\nwrote {options.output / 'calibration.md'}")


if __name__ == "__main__":
    from benchmarks import calibration  # workers import functions by the module's name

    calibration.main()
