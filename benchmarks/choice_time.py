"""What the automatic choice costs: ``python -m benchmarks.choice_time``.

Banana, first splits: an automatic fit beside scikit-learn's grid search over a support vector
machine with probabilities (9 candidates, 3 folds), and beside single fits with named settings. All
are timed in turn in one process with one thread; medians over the rounds.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from reproduction.datasets import load_ida
from reproduction.environment import environment
from sdgm import KernelSDGMClassifier, SDGMClassifier

GRID = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.15, 0.5, 1.5]}
SEARCH = "grid search, SVC with probabilities, 9 x 3"
# automatic fits, and the single fits that their cost is counted in
AUTOMATIC = {
    "KernelSDGMClassifier()": "KernelSDGMClassifier(3)",
    "SDGMClassifier()": "SDGMClassifier(3)",
}


def models(seed: int) -> dict[str, Any]:
    return {
        SEARCH: GridSearchCV(make_pipeline(StandardScaler(), SVC(probability=True)), GRID, cv=3),
        "KernelSDGMClassifier()": KernelSDGMClassifier(random_state=seed),
        "KernelSDGMClassifier(3)": KernelSDGMClassifier(3, random_state=seed),
        "SDGMClassifier()": SDGMClassifier(random_state=seed),
        "SDGMClassifier(3)": SDGMClassifier(3, random_state=seed),
    }


def main() -> None:
    """Time the fits, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice_time", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("choice-time.md"))
    options = parser.parse_args()
    banana = load_ida("banana")
    seconds: dict[str, list[float]] = {name: [] for name in models(0)}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # probability=True is what was asked for
        for i in range(options.rounds):
            X, y, _, _ = banana.split(i)
            for name, model in models(i).items():
                begin = perf_counter()
                model.fit(X, y)
                seconds[name].append(perf_counter() - begin)
    median = {name: float(np.median(each)) for name, each in seconds.items()}
    lines = [
        "# The cost of the automatic choice\n",
        f"Banana, {options.rounds} splits of 400 rows, one thread, medians. Written by "
        f"`python -m benchmarks.choice_time --rounds {options.rounds}`. {environment()}.\n",
        "| fit | seconds | times the grid search | times a single fit |",
        "|---|---|---|---|",
    ]
    for name, value in median.items():
        single = AUTOMATIC.get(name)
        fits = "" if single is None else f"{value / median[single]:.1f}"
        lines.append(f"| {name} | {value:.3f} | {value / median[SEARCH]:.2f} | {fits} |")
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
