"""What the automatic choice costs.

Banana, first splits: an automatic fit beside scikit-learn's grid search over a support vector
machine with probabilities (9 candidates, 3 folds), and beside single fits with named settings. All
are timed in turn in one process with one thread; medians over the splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks import markdown
from benchmarks.data import split_of
from benchmarks.environment import made_by
from benchmarks.markdown import table
from benchmarks.records import Cell, Record, median_seconds, results
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import digits, timed
from sdgm import KernelSDGMClassifier, SDGMClassifier

GRID = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.15, 0.5, 1.5]}
SEARCH = "grid search, SVC with probabilities, 9 x 3"
MODELS: dict[str, Callable[[int], Any]] = {
    SEARCH: lambda seed: GridSearchCV(
        make_pipeline(StandardScaler(), SVC(probability=True)), GRID, cv=3
    ),
    "KernelSDGMClassifier()": lambda seed: KernelSDGMClassifier(random_state=seed),
    "KernelSDGMClassifier(3)": lambda seed: KernelSDGMClassifier(3, random_state=seed),
    "SDGMClassifier()": lambda seed: SDGMClassifier(random_state=seed),
    "SDGMClassifier(3)": lambda seed: SDGMClassifier(3, random_state=seed),
}


def cells(plan: Plan) -> list[Cell]:
    """All fits in turn, in one process."""
    return [{"splits": plan.repeats}]


def measure(splits: int) -> Iterator[Record]:
    """Seconds of every fit."""
    seconds: dict[str, list[float]] = {name: [] for name in MODELS}
    for seed in range(splits):
        X, y, _, _ = split_of("banana", seed)
        for name, make in MODELS.items():
            seconds[name].append(timed(partial(make(seed).fit, X, y))[1])
    for name, each in seconds.items():
        yield {"fit": name, "seconds": digits(each)}


def write(output: Path) -> Path:
    """Seconds, and how many grid searches and single fits they make."""
    records = results(output, "choice_time")
    median = {record["fit"]: median_seconds(record) for record in records}
    rows = []
    for name, value in median.items():
        single = median.get(name.replace("()", "(3)")) if name.endswith("()") else None
        fits = "" if single is None else f"{value / single:.1f}"
        rows.append([name, f"{value:.3f}", f"{value / median[SEARCH]:.2f}", fits])
    head = ["fit", "seconds", "times the grid search", "times a single fit"]
    values = {"splits": records[-1]["splits"], "times": table(head, rows)}
    return markdown.write_filled(output, "choice-time", made_by=made_by(records), **values)


BENCHMARK = Benchmark("choice_time", cells, measure, write, repeats=10)
