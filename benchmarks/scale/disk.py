"""A fit to a file of 2 GB: how much of it is in memory at a time.

The file is read through ``np.load(..., mmap_mode="r")``, by a reader that copies each block out of
the file, and by one that hands the pages of a block back after it was copied from the mapping.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.records import Record
from benchmarks.scale.cells import Plan, Topic, fitted, in_parts, judged, sizes_of
from benchmarks.scale.passes import counted
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN, Gaussians
from sdgm import SDGMClassifier
from sdgm.core.reduction import BlockedRows
from sdgm.experiments.cells import Key

# 80 bytes each: 2 GB
ROWS = 25_000_000
WAYS = ("memmap",)
TEST_ROWS = 100_000


def keys(plan: Plan) -> list[Key]:
    """The ways to read a file."""
    rows = plan.rows or (1_000_000 if plan.quick else ROWS)
    return [{"rows": rows, "way": way} for way in WAYS]


TOPIC = Topic("disk", keys)


class FileReader:
    """Rows of a ``.npy`` file, copied block by block."""

    def __init__(self, path: Path) -> None:
        mapped = np.load(path, mmap_mode="r")
        self.shape, self._offset = mapped.shape, mapped.offset
        self._file = os.open(path, os.O_RDONLY)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows from ``start`` up to ``stop``; threads may read side by side."""
        block = np.empty((stop - start, self.shape[1]))
        done = os.preadv(self._file, [block], self._offset + start * block.strides[0])
        if done != block.nbytes:
            raise OSError(f"{done} bytes came in place of {block.nbytes}; the file was cut off.")
        return block


class MappedReader:
    """Rows of a ``.npy`` file that is mapped; pages leave the process once they are copied."""

    def __init__(self, path: Path) -> None:
        self._mapped = np.load(path, mmap_mode="r")
        self.shape = self._mapped.shape

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows from ``start`` up to ``stop``."""
        block = np.array(self._mapped[start:stop])
        # the mapping begins at a page's boundary, not always at the beginning of the file
        mapping = self._mapped._mmap
        skipped = len(mapping) - self._mapped.nbytes
        first = skipped + start * block.strides[0]
        page = first // mmap.PAGESIZE * mmap.PAGESIZE
        mapping.madvise(mmap.MADV_DONTNEED, page, first + block.nbytes - page)
        return block


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
        X = {
            "memmap": lambda: np.load(path, mmap_mode="r"),
            "read": lambda: FileReader(path),
            "memmap, pages handed back": lambda: MappedReader(path),
        }[way]()
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
