"""Rows unlike the training rows, and what notices them.

Test rows against (a) rows of a class that was left out of training, (b) rows drawn uniformly from
twice the bounding box of the training rows, (c) test rows with every column permuted by itself:
the area under the ROC curve of confidences, of `FamiliarityDetector` and of isolation forests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from benchmarks import markdown
from benchmarks.data import rows_of, split_of
from benchmarks.environment import made_by
from benchmarks.markdown import table
from benchmarks.records import Cell, Record, results
from benchmarks.runner import Benchmark, Plan
from sdgm import FamiliarityDetector, KernelSDGMClassifier

# the classes that are left out in turn
LEFT_OUT = {"iris": (0, 1, 2), "wine": (0, 1, 2), "digits": (0, 1, 3, 8)}
SETS = (
    "banana", "waveform", "german", "heart", "ringnorm", "twonorm", "thyroid", "iris", "wine",
    "wdbc", "digits",
)  # fmt: skip
MOST_TEST_ROWS = 1000
SIGNALS = {
    "map": "largest P(c given x)",
    "averaged": "largest averaged P(c given x)",
    "std": "its deviation, least first",
    "labelled": "FamiliarityDetector, labels",
    "unlabelled": "FamiliarityDetector, no labels",
    "forest": "IsolationForest",
}


def classifier(name: str) -> KernelSDGMClassifier:
    """With automatic settings; digits have too many classes for that in a benchmark."""
    if name == "digits":
        return KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None)
    return KernelSDGMClassifier(random_state=0)


def signals(
    name: str, X: Any, y: Any
) -> tuple[dict[str, Callable[[Any], Any]], FamiliarityDetector]:
    """What may tell rows apart, higher for familiar rows; and the detector that knows labels."""
    model = classifier(name).fit(X, y)
    labelled = FamiliarityDetector().fit(X, y)

    def deviation(rows: Any) -> Any:
        mean, std = model.predict_proba_averaged(rows, return_std=True)
        return -std[np.arange(len(std)), mean.argmax(axis=1)]

    return {
        "map": lambda rows: model.predict_proba(rows).max(axis=1),
        "averaged": lambda rows: model.predict_proba_averaged(rows).max(axis=1),
        "std": deviation,
        "labelled": labelled.score_samples,
        "unlabelled": FamiliarityDetector().fit(X).score_samples,
        "forest": IsolationForest(random_state=0).fit(X).score_samples,
    }, labelled


def unlike(X: Any, X_test: Any, seed: int) -> dict[str, Any]:
    """Rows from twice the bounding box, and test rows with permuted columns."""
    rng = np.random.default_rng(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.5 * (high - low)
    box = rng.uniform(low - margin, high + margin, size=X_test.shape)
    return {"box": box, "permuted": rng.permuted(X_test, axis=0)}


def cells(plan: Plan) -> list[Cell]:
    """Every set, whole and without some of its classes."""
    names = ("iris", "heart") if plan.quick else dict.fromkeys([*LEFT_OUT, *SETS])
    return [
        {"data": name, "split": split, "left_out": c}
        for name in names
        for split in range(plan.repeats if name != "digits" else 1)
        for c in (*LEFT_OUT.get(name, ()), -1)
    ]


def measure(data: str, split: int, left_out: int) -> Record:
    """Fit to one set, perhaps without one of its classes, and measure all signals."""
    X, y, X_test, y_test = split_of(data, split)
    if left_out >= 0:
        label = np.unique(rows_of(data)[1])[left_out]
        others = {"class": X_test[y_test == label]}
        X, y, X_test = X[y != label], y[y != label], X_test[y_test != label]
    else:
        X_test = X_test[:MOST_TEST_ROWS]
        others = unlike(X, X_test, split)
    found, detector = signals(data, X, y)
    record: Record = {"rows": len(X), "false_alarms": float(np.mean(detector.predict(X_test) < 0))}
    for kind, rows in others.items():
        is_familiar = np.repeat([1, 0], [len(X_test), len(rows)])
        for signal, score in found.items():
            values = np.concatenate([score(X_test), score(rows)])
            record[f"{kind} {signal}"] = float(roc_auc_score(is_familiar, values))
        record[f"{kind} detected"] = float(np.mean(detector.predict(rows) < 0))
    return record


def table_of(records: Sequence[Record], kind: str) -> str:
    """One line per data set, and their mean."""
    values: dict[str, list[list[float]]] = {}
    for record in records:
        if f"{kind} map" not in record:
            continue
        left_out = f" without {record['left_out']}" if kind == "class" else ""
        values.setdefault(f"{record['data']}{left_out}", []).append(
            [record[f"{kind} {signal}"] for signal in SIGNALS]
            + [100 * record["false_alarms"], 100 * record[f"{kind} detected"]]
        )
    means = {name: np.mean(own, axis=0) for name, own in values.items()}
    means["**mean**"] = np.mean(list(means.values()), axis=0)
    rows = [
        [name, *(f"{value:.3f}" for value in mean[:-2]), *(f"{value:.1f}" for value in mean[-2:])]
        for name, mean in means.items()
    ]
    return table(["", *SIGNALS.values(), "false alarms %", "detected %"], rows)


def write(output: Path) -> Path:
    """A table for every kind of other rows."""
    records = results(output, "novelty")
    left_out, box, permuted = (table_of(records, kind) for kind in ("class", "box", "permuted"))
    values = {"left_out": left_out, "box": box, "permuted": permuted}
    return markdown.write_filled(output, "novelty", made_by=made_by(records), **values)


BENCHMARK = Benchmark("novelty", cells, measure, write, repeats=2)
