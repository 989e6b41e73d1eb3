"""Making the user's table ready: fewer components, merged rows, scaling."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.estimators.progress import FIT_FRAMES
from sdgm.exceptions import ComponentsReducedWarning

# deviation of a column, relative to its mean, that is only rounding
CONSTANT_COLUMN = 1e-13


def reduced_to_samples(
    n_components: IntArray, y: IntArray, classes: np.ndarray[Any, Any], *, warn: bool
) -> IntArray:
    """No more components than samples in any class, with a warning where more were asked for."""
    n_samples = np.bincount(y, minlength=len(classes))
    too_many = np.flatnonzero(n_components > n_samples)
    if warn and len(too_many):
        c = too_many[0]
        others = f" (and {len(too_many) - 1} other classes)" if len(too_many) > 1 else ""
        warnings.warn(
            f"Class {classes.tolist()[c]!r} has {n_samples[c]} samples for {n_components[c]} "
            f"components and gets {n_samples[c]}{others}; lower n_components.",
            ComponentsReducedWarning,
            stacklevel=3 + FIT_FRAMES,
        )
    return np.minimum(n_components, n_samples)


def merged_means(values: FloatArray, s: FloatArray, inverse: IntArray) -> FloatArray:
    """Weighted mean of the values of the rows that were merged into each: (n_merged, K)."""
    total = np.bincount(inverse, s)
    means = [np.bincount(inverse, s * column) / total for column in values.T]
    return np.stack(means, axis=1)


def center_and_inverse_scale(X: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and inverse standard deviation of every column; one for constant columns."""
    share = s / s.sum()
    center = share @ X
    offset = X - center
    # squares of the offsets in units of the largest cannot overflow
    largest = np.abs(offset).max(axis=0)
    # what rounding leaves of a constant column far from zero is not a deviation
    constant = largest <= CONSTANT_COLUMN * np.abs(center)
    center[constant] = X[0, constant]
    largest[constant] = 1.0
    deviation = largest * np.sqrt(share @ (offset / largest) ** 2)
    deviation[constant] = 1.0
    return center, 1.0 / deviation
