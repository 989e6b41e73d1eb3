"""What a fit without arguments costs, on tables of different shapes.

Rows, inputs and classes from few to many, beside histogram gradient boosting; Banana beside a grid
search; many rows beside a fit whose settings are given. Seconds are of the processor, on one
thread, after a fit to a few rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks import markdown
from benchmarks.data import Split, split_of
from benchmarks.environment import made_by
from benchmarks.markdown import number, percent, table
from benchmarks.peers import GRID
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from benchmarks.scale import PROBLEMS, TEST, TEST_ROWS, TRAIN
from benchmarks.timing import digits
from benchmarks.uci121 import fold_of, loss_of, own_code, stored_numbers
from sdgm import KernelSDGMClassifier, SDGMClassifier

GIVEN = "SDGMClassifier with settings given"
GIVEN_DUAL = "KernelSDGMClassifier with settings given"
SEARCH = "GridSearchCV(SVC(probability=True))"
BOOSTING = "HistGradientBoostingClassifier()"
OWN = ("SDGMClassifier()", "KernelSDGMClassifier()")
MODELS: dict[str, Callable[[], Any]] = {
    "SDGMClassifier()": partial(SDGMClassifier, random_state=0),
    "KernelSDGMClassifier()": partial(KernelSDGMClassifier, random_state=0),
    GIVEN: partial(
        SDGMClassifier, n_components=2, covariance_type="full", teacher=None, random_state=0
    ),
    GIVEN_DUAL: partial(
        KernelSDGMClassifier, n_components=1, kernel="rbf", teacher=None, random_state=0
    ),
    BOOSTING: partial(HistGradientBoostingClassifier, random_state=0),
    SEARCH: lambda: GridSearchCV(
        make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)), GRID, cv=3
    ),
}
# rows of a fold of UCI sets; all of them where there is no number
UCI = {
    "letter 1000": ("letter", 1_000),
    "letter 15000": ("letter", None),
    "spambase 1000": ("spambase", 1_000),
    "magic 5000": ("magic", 5_000),
}
BANANA = "banana"
GAUSSIANS = {"Gaussians 200000": 200_000, "Gaussians 1000000": 1_000_000}
COMPARED = {
    **dict.fromkeys(UCI, (*OWN, BOOSTING)),
    BANANA: (*OWN, SEARCH),
    **dict.fromkeys(GAUSSIANS, ("SDGMClassifier()", GIVEN, "KernelSDGMClassifier()", GIVEN_DUAL)),
}
QUICK = (BANANA,)


@cache
def rows_of(data: str) -> Split:
    """Training and test rows."""
    if data == BANANA:
        return split_of("banana", 0)
    if data in GAUSSIANS:
        problem = PROBLEMS["2 classes"]
        return *problem.rows(GAUSSIANS[data], TRAIN), *problem.rows(TEST_ROWS, TEST)
    name, n_rows = UCI[data]
    X, y, X_test, y_test = fold_of(name, 0)
    some = np.random.RandomState(0).permutation(len(X))[:n_rows]
    return X[some], y[some], X_test, y_test


def cells(plan: Plan) -> list[Cell]:
    """The models of every table, round after round."""
    code = own_code()
    return [
        {"data": data, "model": model, "round": number, "code": code}
        for data, models in COMPARED.items()
        if not plan.quick or data in QUICK
        for number in range(plan.repeats)
        for model in models
    ]


def measure(data: str, model: str, round: int, code: str) -> Record:
    """Fit, and measure on the test rows."""
    X, y, X_test, y_test = rows_of(data)
    with warnings.catch_warnings(action="ignore"):
        some = np.concatenate([np.flatnonzero(y == c)[:10] for c in np.unique(y)[:2]])
        MODELS[model]().fit(X[some], y[some])
        begin = process_time()
        fitted = MODELS[model]().fit(X, y)
        seconds = process_time() - begin
        return {
            "rows": len(X),
            "inputs": X.shape[1],
            "classes": len(fitted.classes_),
            "seconds": digits([seconds])[0],
            "error": float(np.mean(fitted.predict(X_test) != y_test)),
            "log_loss": loss_of(fitted, X_test, y_test),
            "weights": getattr(fitted, "n_active_weights_", None),
            "numbers": stored_numbers(getattr(fitted, "best_estimator_", [fitted])[-1], X),
            "chosen": getattr(fitted, "chosen_", {}),
        }


def write(output: Path) -> Path:
    """One table: medians over the rounds."""
    records = results(output, "defaults")
    records = select(records, code=records[-1]["code"])
    head = ["table", "model", "fit, s", "error %", "log loss", "weights", "numbers"]
    lines = []
    for data in values_of(records, "data"):
        own = select(records, data=data)
        for model in values_of(own, "model"):
            rounds = select(own, model=model)
            first = rounds[0]
            shape = f"{data}: {first['rows']:,} x {first['inputs']}, {first['classes']} classes"
            seconds = float(np.median([record["seconds"] for record in rounds]))
            sizes = [number(first[name], ",") for name in ("weights", "numbers")]
            quality = [percent(first["error"]), f"{first['log_loss']:.3f}"]
            lines.append([shape, model, f"{seconds:.2f}", *quality, *sizes])
    return markdown.write_filled(
        output, "defaults", made_by=made_by(records), lines=table(head, lines)
    )


BENCHMARK = Benchmark("defaults", cells, measure, write)
