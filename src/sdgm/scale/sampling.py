"""Tables of many rows: read in blocks, and a sample of them."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import CANONICAL_ROWS, GROUP_BLOCKS, Rows, RowSource

# rows on which the structure is selected if not on all rows. The loss compared with all rows is
# measured by `python -m benchmarks scale sample`, in docs/results/scale.md
SAMPLE_ROWS = 16_384
# multiplications for the curvature of a component per class beyond which the sample has fewer rows:
# with two classes from 1,750 columns on
SAMPLE_WORK = 1e11
# but not below this, with two classes from 3,500 columns on: columns must not outnumber rows by
# much
LEAST_SAMPLE_ROWS = 4_096
# rows of a second sample, which brings the first model close to the model of all rows cheaply
MIDDLE_ROWS = 65_536
# approximate number of rows of each class in the sample, if there are as many
RARE_ROWS = 500


@runtime_checkable
class RowReader(Protocol):
    """A table that is read in parts."""

    shape: tuple[int, int]

    def read(self, start: int, stop: int) -> FloatArray:
        """Rows from ``start`` up to ``stop``: (stop - start, n_features)."""
        ...


def all_in_memory(X: Any) -> Any:
    """A table that is read in parts, as an array; other tables unchanged; paths are refused."""
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X is the path {os.fspath(X)!r}, not a table; open it, a .npy file with "
            "np.load(path, mmap_mode='r'), a Parquet or Arrow file with sdgm.tables.open_rows."
        )
    return X.read(0, X.shape[0]) if isinstance(X, RowReader) else X


def name_inputs(estimator: Any, X: Any) -> None:
    """Give an estimator the names of the inputs, where a table that is read in parts has them."""
    names = getattr(X, "columns", None)
    if names is None:
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    if len(names) != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns and {len(names)} names for them.")
    estimator.feature_names_in_ = np.asarray(names, dtype=object)


def blocked_table(
    X: FloatArray | RowReader, y: IntArray, s: FloatArray, *, n_threads: int
) -> BlockedRows:
    """A table in canonical blocks, inputs in place of Z; every block is checked when it is read."""
    n_rows, n_features = X.shape

    def read(i: int) -> Rows:
        start, stop = i * CANONICAL_ROWS, min((i + 1) * CANONICAL_ROWS, n_rows)
        block = np.asarray(X.read(start, stop) if isinstance(X, RowReader) else X[start:stop])
        if block.dtype.kind not in "biuf":
            raise ValueError(f"X holds {block.dtype}, not numbers; encode it or leave it out.")
        block = block.astype(np.float64, copy=isinstance(X, np.memmap))
        if isinstance(X, np.memmap):
            hand_back(X)
        if block.shape != (stop - start, n_features):
            raise ValueError(
                f"rows {start} to {stop} of X came as an array of shape {block.shape} instead of "
                f"{(stop - start, n_features)}; look at what read(start, stop) returns."
            )
        if not np.isfinite(block).all():
            n, d = np.argwhere(~np.isfinite(block))[0]
            raise ValueError(
                f"Input X contains NaN or infinity: {block[n, d]} in row {start + n}, column {d}; "
                "fill in or leave out such rows."
            )
        # weights without memory of their own would be summed by other code, with other rounding
        return Rows(block, y[start:stop], np.ascontiguousarray(s[start:stop]), first=start)

    return BlockedRows(n_rows, read, n_threads)


def hand_back(X: np.memmap[Any, Any]) -> None:
    """Release the pages of a mapped file that were read; the system may keep them in its cache.

    Otherwise they count as memory of this process until no other is left.
    """
    mapping = getattr(X, "_mmap", None)
    # pages of a private mapping may have been written to
    if mapping is not None and X.mode in ("r", "r+") and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class Picked:
    """Rows of a sample, which are added by putting them one after the other.

    Attributes
    ----------
    X, y, s : arrays of n rows
    number : (n,) integer array
        Which rows of the table they are.
    """

    X: FloatArray
    y: IntArray
    s: FloatArray
    number: IntArray

    def rows(self) -> Rows:
        """As training rows, inputs in place of Z."""
        return Rows(self.X, self.y, self.s)

    def __add__(self, other: Picked) -> Picked:
        return Picked(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.s, other.s]),
            np.concatenate([self.number, other.number]),
        )


def drawn_sample(rows: RowSource, class_rows: FloatArray, n_rows: int, seed: int) -> Picked:
    """About ``n_rows`` rows at random, rare classes whole, weighted to stand for all.

    Which rows are drawn depends on their number and the seed, not on where they are kept.

    Parameters
    ----------
    rows : RowSource
        With inputs in place of Z, and class indices.
    class_rows : (C,) array
        Rows of each class that count.
    n_rows : int
    seed : int
    """
    share = min(n_rows / class_rows.sum(), 1.0)
    chance = np.minimum(np.maximum(share, RARE_ROWS / np.maximum(class_rows, 1.0)), 1.0)

    def of_block(block: Rows) -> Picked:
        rng = np.random.default_rng([seed, block.first])
        kept = np.flatnonzero((rng.random(len(block)) < chance[block.y]) & (block.s > 0.0))
        y = block.y[kept]
        X = np.ascontiguousarray(block.Z[kept])  # whatever the layout of the table
        return Picked(X, y, block.s[kept] * (share / chance[y]), block.first + kept)

    return rows.total(of_block, 1)


def weights_of_labels(number: IntArray, s: FloatArray) -> FloatArray:
    """Summed weights of the rows of each label, which have these numbers, added as on a cluster."""
    weights = np.zeros(int(number.max(initial=-1)) + 1)
    for start in range(0, len(number), GROUP_BLOCKS * CANONICAL_ROWS):
        group = slice(start, start + GROUP_BLOCKS * CANONICAL_ROWS)
        weights += np.bincount(number[group], s[group], minlength=len(weights))
    return weights


def rows_by_class(rows: RowSource, n_classes: int) -> FloatArray:
    """How many rows of positive weight each class has: (C,)."""

    def of_block(block: Rows) -> FloatArray:
        counted = block.y[block.s > 0.0]
        return np.bincount(counted, minlength=n_classes).astype(np.float64)

    return rows.total(of_block, n_classes)
