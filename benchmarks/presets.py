"""Both presets on the paper's two planar problems.

The dual form with the paper's settings (three components per class, (x'z + 1)^2, inputs as they
are) on Ripley's data over seeds and on the distinct splits of Banana with seed 0. About five
minutes on two cores.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss

from benchmarks import markdown
from benchmarks.data import ripley, rows_of
from benchmarks.environment import made_by
from benchmarks.markdown import table
from benchmarks.records import Cell, Record, results
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import timed
from sdgm import KernelSDGMClassifier

RIPLEY, BANANA = "Ripley", "Banana"
SEEDS = (10, 100)


def cells(plan: Plan) -> list[Cell]:
    """Both presets, with ten seeds, with all, and on as many splits as there are."""
    counts = [2] if plan.quick else SEEDS
    splits = 2 if plan.quick else len(rows_of("banana").splits)
    runs = [*((RIPLEY, n) for n in counts), (BANANA, splits)]
    return [
        {"problem": problem, "runs": n, "preset": preset}
        for problem, n in runs
        for preset in ("paper", "fast")
    ]


def measure(problem: str, runs: int, preset: str) -> Record:
    """Error in percent, log loss and number of weights of every run, on the test rows."""
    outcomes = []
    for number in range(runs):
        split, seed = (
            (ripley(), number) if problem == RIPLEY else (rows_of("banana").split(number), 0)
        )
        X, y, X_test, y_test = split
        model = KernelSDGMClassifier(
            preset=preset, gamma=1.0, standardize=False, random_state=seed, teacher=None
        )
        timed(lambda model=model, X=X, y=y: model.fit(X, y))
        error = 100.0 * float(np.mean(model.predict(X_test) != y_test))
        loss = float(log_loss(y_test, model.predict_proba(X_test)))
        outcomes.append([error, loss, int(model.n_active_weights_)])
    return {"outcomes": outcomes}


def write(output: Path) -> Path:
    """Means, and the standard error of the error."""
    records = results(output, "presets")
    rows = []
    for record in records:
        each = np.array(record["outcomes"])
        error, loss, weights = each.mean(axis=0)
        spread = each[:, 0].std(ddof=1) / np.sqrt(len(each))
        last = record["runs"] - 1
        runs = f"seeds 0-{last}" if record["problem"] == RIPLEY else f"{last + 1} distinct splits"
        name = f"{record['problem']}, {runs}"
        cells = f"{error:.2f} ± {spread:.2f}", f"{loss:.3f}", f"{weights:.1f}"
        rows.append([name, record["preset"], *cells])
    outcomes = table(["data", "preset", "error %", "log loss", "weights"], rows)
    return markdown.write_filled(output, "presets", made_by=made_by(records), outcomes=outcomes)


BENCHMARK = Benchmark("presets", cells, measure, write)
