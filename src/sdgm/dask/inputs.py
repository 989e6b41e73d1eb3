"""Inputs of `sdgm.dask`: collections as dask arrays, with one sentence per mistake."""

from __future__ import annotations

import warnings
from typing import Any

import dask.array as da
import numpy as np

from sdgm._typing import FloatArray
from sdgm.dask.totals import GROUP_ROWS
from sdgm.estimators.parameters import check_labels


def names_of(collection: Any) -> list[str] | None:
    """Names of the columns, if all of them are text."""
    names = list(getattr(collection, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


def check_names(names: list[str] | None, expected: Any) -> None:
    """Refuse columns with other names than those of the fit, where both have names."""
    if names is not None and expected is not None and names != expected.tolist():
        raise ValueError(
            f"the columns of X are {names} instead of those of the fit, {expected.tolist()}; "
            "select them by name."
        )


def as_array(collection: Any, *, exact: bool = True) -> Any:
    """A dask array, with known chunks if wanted; arrays in memory become one."""
    if hasattr(collection, "to_dask_array"):
        with warnings.catch_warnings():  # text as objects is intended
            warnings.filterwarnings("ignore", "Dask currently has limited support")
            return collection.to_dask_array(lengths=True if exact else None)
    if not isinstance(collection, da.Array):
        return da.from_array(
            np.asarray(collection), chunks=(GROUP_ROWS, *[-1] * (np.ndim(collection) - 1))
        )
    if exact and np.isnan(sum(map(sum, collection.chunks))):
        collection = collection.copy()  # the user's object must not change
        collection.compute_chunk_sizes()
    return collection


def as_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Dask arrays that match, or one sentence."""
    if y is None:
        raise ValueError("y is None; give one label per row.")
    for name, kind in getattr(X, "dtypes", {}).items() if hasattr(X, "to_dask_array") else ():
        if getattr(kind, "kind", "O") not in "biuf":
            raise ValueError(
                f"Column {str(name)!r} of X holds {kind}, not numbers; encode it or leave it out."
            )
    X, y = as_array(X), as_array(y)
    s = None if sample_weight is None else as_array(sample_weight)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}; reshape it.")
    if X.dtype.kind not in "biufOUS":
        raise ValueError(f"X holds {X.dtype}, not numbers; encode it or leave it out.")
    if not X.shape[0]:
        raise ValueError("X has no rows.")
    for name, other in ("y", y), ("sample_weight", s):
        if other is not None and other.shape != (X.shape[0],):
            raise ValueError(
                f"{name} has shape {other.shape} for {X.shape[0]} rows; give one value per row."
            )
    return X, y, s


def as_numbers(X: Any, first: int) -> FloatArray:
    """A chunk of inputs as numbers."""
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"X has values that are no numbers, or chunks that are no dense arrays, among the "
            f"{X.shape[0]} rows from row {first} on; encode or leave out such columns."
        ) from None


def label_weights(y: Any, s: Any, first: int) -> tuple[np.ndarray[Any, Any], FloatArray]:
    """Labels of one group and the weight that each has, checked, on its worker."""
    y = np.asarray(y)
    is_missing = y != y  # NaN alone differs from itself
    if y.dtype == object:
        is_missing = np.array([each is None or not bool(each == each) for each in y.tolist()])
    if np.any(is_missing):
        raise ValueError(
            f"y has a missing label in row {first + int(np.argmax(is_missing))}; leave out rows "
            "without labels."
        )
    check_labels(y)
    labels, codes = np.unique(y, return_inverse=True)
    weights = np.ones(len(y)) if s is None else np.asarray(s, dtype=np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0.0))
    if wrong.any():
        n = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight is {weights[n]} in row {first + n}; give finite numbers that are not "
            "negative, and zero to leave a row out."
        )
    return labels, np.bincount(codes, weights).astype(np.float64)
