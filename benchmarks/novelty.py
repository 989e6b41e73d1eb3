"""Rows unlike the training rows, and what notices them: ``python -m benchmarks.novelty``.

Test rows against (a) rows of a class that was left out of training, (b) rows drawn uniformly from
twice the bounding box of the training rows, (c) test rows with every column permuted by itself:
the area under the ROC curve of confidences, of `FamiliarityDetector` and of isolation forests.
Cells are kept in the output folder, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from benchmarks.accuracy import data, split_of
from reproduction.cells import Key, Record, run_cells
from reproduction.environment import environment
from sdgm import FamiliarityDetector, KernelSDGMClassifier

# the classes that are left out in turn
LEFT_OUT = {"iris": (0, 1, 2), "wine": (0, 1, 2), "digits": (0, 1, 3, 8)}
SETS = (
    "banana",
    "waveform",
    "german",
    "heart",
    "ringnorm",
    "twonorm",
    "thyroid",
    "iris",
    "wine",
    "wdbc",
    "digits",
)
MOST_TEST_ROWS = 1000
SIGNALS = {
    "map": "largest P(c given x)",
    "averaged": "largest averaged P(c given x)",
    "std": "its deviation, least first",
    "labelled": "FamiliarityDetector, labels",
    "unlabelled": "FamiliarityDetector, no labels",
    "forest": "IsolationForest",
}
KINDS = {"class": "a class left out", "box": "uniform in a box", "permuted": "columns permuted"}


def classifier(name: str) -> KernelSDGMClassifier:
    """With automatic settings; digits have too many classes for that in a benchmark."""
    if name == "digits":
        return KernelSDGMClassifier(1, kernel="rbf", random_state=0)
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


def measured_cell(key: Key) -> Record:
    """Fit to one set, perhaps without one of its classes, and measure all signals."""
    name, split, left_out = str(key["data"]), int(key["split"] or 0), int(key["left_out"] or 0)
    X, y, X_test, y_test = split_of(name, split)
    if left_out >= 0:
        label = np.unique(data(name)[1])[left_out]
        others = {"class": X_test[y_test == label]}
        X, y, X_test = X[y != label], y[y != label], X_test[y_test != label]
    else:
        X_test = X_test[:MOST_TEST_ROWS]
        others = unlike(X, X_test, split)
    found, detector = signals(name, X, y)
    record: Record = {"rows": len(X), "false_alarms": float(np.mean(detector.predict(X_test) < 0))}
    for kind, rows in others.items():
        is_familiar = np.repeat([1, 0], [len(X_test), len(rows)])
        for signal, score in found.items():
            values = np.concatenate([score(X_test), score(rows)])
            record[f"{kind} {signal}"] = float(roc_auc_score(is_familiar, values))
        record[f"{kind} detected"] = float(np.mean(detector.predict(rows) < 0))
    return record


def table(records: Sequence[Record], kind: str) -> list[str]:
    """One line per data set, and their mean."""
    head = ["", *SIGNALS.values(), "false alarms %", "detected %"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    rows: dict[str, list[list[float]]] = {}
    for record in records:
        if f"{kind} map" not in record:
            continue
        values = [record[f"{kind} {signal}"] for signal in SIGNALS]
        values += [100 * record["false_alarms"], 100 * record[f"{kind} detected"]]
        left_out = f" without {record['left_out']}" if kind == "class" else ""
        rows.setdefault(f"{record['data']}{left_out}", []).append(values)
    means = {name: np.mean(values, axis=0) for name, values in rows.items()}
    means["**mean**"] = np.mean(list(means.values()), axis=0)
    for name, mean in means.items():
        cells = [f"{value:.3f}" for value in mean[:-2]] + [f"{value:.1f}" for value in mean[-2:]]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def page(records: Sequence[Record], command: str) -> str:
    """The results as Markdown."""
    lines = [
        "# Rows unlike the training rows\n",
        f"Written by `{command}`. {environment()}.\n",
        "Area under the ROC curve for telling test rows from rows of another kind: one is perfect, "
        "a half is a guess, below a half the other rows look *more* familiar than test rows. The "
        "classifier is `KernelSDGMClassifier()`, on digits with one component per class and an rbf "
        "kernel. *false alarms*, *detected*: test rows and rows of the other kind that "
        "`FamiliarityDetector` with labels calls unfamiliar, at a rate of 5 %. "
        "See [uncertainty.md](../uncertainty.md).",
    ]
    for kind, title in KINDS.items():
        lines += [f"\n## {title.capitalize()}\n", *table(records, kind)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.novelty", description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("novelty"))
    options = parser.parse_args()
    keys: list[Key] = [
        {"data": name, "split": split, "left_out": c}
        for name in dict.fromkeys([*LEFT_OUT, *SETS])
        for split in range(options.splits if name != "digits" else 1)
        for c in (*LEFT_OUT.get(name, ()), -1)
    ]

    def tell(done: int, total: int, key: Key | None) -> None:
        print(f"{done}/{total} {'' if key is None else ' '.join(map(str, key.values()))}",
              flush=True)  # fmt: skip

    records = run_cells(
        options.output / "novelty.jsonl", keys, measured_cell, jobs=options.jobs, progress=tell
    )
    path = options.output / "novelty.md"
    command = f"python -m benchmarks.novelty --splits {options.splits}"
    path.write_text(page(records, command), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    from benchmarks import novelty  # workers import functions by the module's name

    novelty.main()
