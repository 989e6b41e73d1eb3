"""Samples of rows that depend on their values, not on their order or number of copies."""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray, IntArray

# odd constants of a multiplicative hash: the golden ratio and another, in 64 bits
MIX_COLUMN, MIX_LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
# bits by which the high half of a product is mixed into the low one: somewhat less than half of 64
SHIFT = np.uint64(29)
# minimum share of a class in a sample, relative to equal shares of all classes
LEAST_SHARE = 0.25


def hashes(X: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A hash of each row, the same for equal rows: (N,)."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # minus zero is zero
    mixed = np.zeros(len(X), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in bits.T:
            mixed = (mixed ^ column) * MIX_COLUMN
            mixed ^= mixed >> SHIFT
            mixed *= MIX_LAST
            mixed ^= mixed >> SHIFT
    return mixed


def spread_sample(X: FloatArray, label: IntArray, n_rows: int) -> IntArray:
    """Sorted indices of about n_rows rows from all classes, rare ones more often.

    Parameters
    ----------
    X : (N, D) array
    label : (N,) integer array
        The most frequent class of each row.
    n_rows : int
    """
    N = len(X)
    if n_rows >= N:
        return np.arange(N)
    size = np.bincount(label)
    n_classes = int((size > 0).sum())
    quota = np.maximum(size * (n_rows / N), np.minimum(size, LEAST_SHARE * n_rows / n_classes))
    order = np.lexsort([hashes(X), label])
    rank = np.arange(N) - (np.cumsum(size) - size)[label[order]]
    return np.sort(order[rank < np.ceil(quota)[label[order]]])
