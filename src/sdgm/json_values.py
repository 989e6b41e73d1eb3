"""Settings and measures as values of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np


def json_value(value: Any) -> Any:
    """A value of JSON: null for NaN and infinity, words for what JSON has no place for.

    Numpy's numbers and arrays of them become numbers and lists; of an array of several dimensions
    only the shape is kept.

    Examples
    --------
    >>> json_value({"tol": np.float64(0.5), "seen": (1, float("nan"))})
    {'tol': 0.5, 'seen': [1, None]}
    >>> json_value({"init": np.ones((150, 2)), 1: np.array([True, False]), "kernel": max})
    {'init': 'array of shape (150, 2)', '1': [True, False], 'kernel': 'max'}
    """
    if isinstance(value, np.ndarray):
        if value.ndim > 1:
            return f"array of shape {value.shape}"
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    return getattr(value, "__name__", type(value).__name__)
