"""Both presets on the paper's two planar problems: ``python -m benchmarks.presets``.

The dual form with the paper's settings (three components per class, (x'z + 1)^2, inputs as they
are) on Ripley's data over seeds and on the distinct splits of Banana with seed 0. About five
minutes on two cores.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from benchmarks.data import Split, banana_splits, ripley
from sdgm import KernelSDGMClassifier

PRESETS = ("paper", "fast")
Outcome = tuple[float, float, float]


def outcome(split: Split, preset: str, seed: int) -> Outcome:
    """Error in %, log loss and number of weights on the test rows."""
    model = KernelSDGMClassifier(preset=preset, gamma=1.0, standardize=False, random_state=seed)
    X, y, X_test, y_test = split
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    error = 100.0 * float(np.mean(model.predict(X_test) != y_test))
    return error, float(log_loss(y_test, model.predict_proba(X_test))), model.n_active_weights_


def rows(n_jobs: int) -> Iterator[str]:
    """A line of the table per problem and preset."""
    tasks = {
        "Ripley, seeds 0-9": [(ripley(), seed) for seed in range(10)],
        "Ripley, seeds 0-99": [(ripley(), seed) for seed in range(100)],
        "Banana, 80 distinct splits": [(split, 0) for split in banana_splits()],
    }
    for name, runs in tasks.items():
        for preset in PRESETS:
            results = np.array(
                Parallel(n_jobs)(delayed(outcome)(split, preset, seed) for split, seed in runs)
            )
            error, loss, weights = results.mean(axis=0)
            spread = results[:, 0].std(ddof=1) / np.sqrt(len(results))
            yield f"| {name} | {preset} | {error:.2f} ± {spread:.2f} | {loss:.3f} | {weights:.1f} |"


def main() -> None:
    """Print the table as it fills."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.presets", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    print("| data | preset | error % | log loss | weights |\n|---|---|---|---|---|")
    for line in rows(options.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
