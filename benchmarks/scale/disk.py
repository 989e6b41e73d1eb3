"""A fit to a file of 2 GB, read through ``np.load(..., mmap_mode="r")``: how much is in memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.records import Cell, Record
from benchmarks.runner import Plan
from benchmarks.scale.fitting import fitted, in_parts, quality, sizes_of
from benchmarks.scale.passes import counted
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN
from benchmarks.timing import elsewhere
from sdgm import SDGMClassifier
from sdgm.core.data.blocked_rows import BlockedRows

# 80 bytes each: 2 GB
ROWS = 25_000_000
MAPPED = "memmap"
TEST_ROWS = 100_000


def cells(plan: Plan) -> list[Cell]:
    """One fit."""
    rows = plan.rows or (1_000_000 if plan.quick else ROWS)
    return [{"rows": rows, "way": MAPPED}]


def measure(rows: int, way: str) -> Record:
    """Write the file, fit, test."""
    data = PROBLEMS["2 classes"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        elsewhere(data.write, Path(folder), rows, TRAIN)
        y = np.load(path.with_name("y.npy"))
        X = np.load(path, mmap_mode="r")
        model = SDGMClassifier(2, covariance_type="full", random_state=0, teacher=None)
        with counted(BlockedRows) as passes:
            record = fitted(model, X, y)
        X_test, y_test = data.rows(TEST_ROWS, TEST)
        return {
            **record,
            **passes.record(),
            **sizes_of(model),
            **quality(y_test, in_parts(model.predict_proba, X_test)),
            "file_bytes": path.stat().st_size,
            "probabilities": model.predict_proba(X_test[:100])[:, 0].tolist(),
        }
