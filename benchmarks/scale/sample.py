"""What the sample costs: fits that begin with one, beside fits to all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.records import Cell, Record
from benchmarks.runner import Plan
from benchmarks.scale.fitting import fitted, in_parts, quality, sizes_of
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN, Table
from sdgm import SDGMClassifier
from sdgm.scale import many_rows

DEFAULT, NO_RETURN, AT_ONCE = "sample, then all rows", "the same, no column comes back", "all rows"
WAYS = (DEFAULT, NO_RETURN, AT_ONCE)
GENERATED, PIXELS = "2 classes", "MNIST, 20 principal components"
# rows to learn from, and components of each class
DATA = {GENERATED: (100_000, 2), PIXELS: (60_000, 1)}
TEST_ROWS = 100_000
# parts of the test rows, which are 10,000 or TEST_ROWS
BATCHES = 100


def cells(plan: Plan) -> list[Cell]:
    """Every way on every problem."""
    most = plan.rows or (40_000 if plan.quick else 10**9)
    return [
        {"problem": problem, "rows": min(rows, most), "way": way}
        for problem, (rows, _) in DATA.items()
        for way in WAYS
    ]


def measure(problem: str, rows: int, way: str) -> Record:
    """One fit, and its test error."""
    (X, y), (X_test, y_test) = tables(problem, rows)
    model = SDGMClassifier(DATA[problem][1], covariance_type="full", random_state=0, teacher=None)
    changed: list[Any] = {
        DEFAULT: [],
        NO_RETURN: [(many_rows, "ADMISSIONS", 0), (many_rows, "LAST_ADMISSIONS", 0)],
        AT_ONCE: [(many_rows, "LARGE_ROWS", rows)],
    }[way]
    for change in changed:  # for the rest of this process
        patch.object(*change).start()
    record = fitted(model, X, y)
    P = in_parts(model.predict_proba, X_test)
    return record | sizes_of(model) | quality(y_test, P) | by_batch(y_test, P)


def by_batch(y: np.ndarray, P: np.ndarray) -> Record:
    """Mean log loss and error of each batch of test rows, by which two models are compared."""
    with np.errstate(divide="ignore"):
        losses = -np.log(P[np.arange(len(y)), y]), P.argmax(axis=1) != y
    names = "batch_log_losses", "batch_errors"
    means = [each.reshape(BATCHES, -1).mean(axis=1).round(6).tolist() for each in losses]
    return dict(zip(names, means, strict=True))


def difference(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Mean of the differences between paired batches, and its standard error."""
    each = np.subtract(one, other)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def tables(problem: str, rows: int) -> tuple[Table, Table]:
    """Rows to learn from, and to test on."""
    if problem == GENERATED:
        data = PROBLEMS[problem]
        return data.rows(rows, TRAIN), data.rows(TEST_ROWS, TEST)
    from benchmarks.reproduced import mnist  # brings PyTorch

    train, test = mnist()
    X, X_test = (part[0].reshape(len(part[1]), -1) / 255.0 for part in (train, test))
    components = PCA(20, random_state=0).fit(X)
    y, y_test = (part[1].astype(np.int64) for part in (train, test))
    return (components.transform(X[:rows]), y[:rows]), (components.transform(X_test), y_test)
