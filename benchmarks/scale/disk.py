"""A fit to a file of 2 GB, read through ``np.load(..., mmap_mode="r")``: how much is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.records import Record
from benchmarks.scale.cells import Plan, Topic, fitted, in_parts, judged, sizes_of
from benchmarks.scale.passes import counted
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN, Gaussians
from reproduction.cells import Key
from sdgm import SDGMClassifier
from sdgm.core.data.blocked_rows import BlockedRows

# 80 bytes each: 2 GB
ROWS = 25_000_000
MAPPED = "memmap"
TEST_ROWS = 100_000


def keys(plan: Plan) -> list[Key]:
    """One fit."""
    rows = plan.rows or (1_000_000 if plan.quick else ROWS)
    return [{"rows": rows, "way": MAPPED}]


TOPIC = Topic("disk", keys)


def write_elsewhere(data: Gaussians, folder: Path, rows: int) -> None:
    """Write a table in another process, so that its memory does not count."""
    process = get_context("spawn").Process(target=data.write, args=(folder, rows, TRAIN))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"writing {rows} rows to {folder} failed; is there room for them?")


def measure(rows: int, way: str) -> Iterator[Record]:
    """Write the file, fit, test."""
    data = PROBLEMS["2 classes"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        write_elsewhere(data, Path(folder), rows)
        y = np.load(path.with_name("y.npy"))
        X = np.load(path, mmap_mode="r")
        model = SDGMClassifier(2, covariance_type="full", random_state=0)
        with counted(BlockedRows) as passes:
            record = fitted(model, X, y)
        X_test, y_test = data.rows(TEST_ROWS, TEST)
        yield {
            **record,
            **passes.record(),
            **sizes_of(model),
            **judged(y_test, in_parts(model.predict_proba, X_test)),
            "file_bytes": path.stat().st_size,
            "probabilities": model.predict_proba(X_test[:100])[:, 0].tolist(),
        }
