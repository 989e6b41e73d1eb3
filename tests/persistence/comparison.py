"""Whether two models are the same, attribute by attribute."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

# what a file does not hold, the states of learning; and what is compared as JSON already
SKIPPED = {"state", "record"}


def first_difference(written: Any, read: Any) -> str | None:
    """The first attribute of a model that is not the same in another; None if all are."""
    for name, value in vars(read).items():
        if name in SKIPPED:
            continue
        before = getattr(written, name, None)
        if not is_same(before, value):
            return name
    return None


def is_same(a: Any, b: Any) -> bool:
    """Whether two values are equal, with NaN equal to itself.

    Examples
    --------
    >>> is_same({"a": [1, np.nan]}, {"a": [1, np.nan]}), is_same(np.ones(2), np.ones(3))
    (True, False)
    """
    if isinstance(b, np.ndarray):
        return np.shape(a) == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())
    if isinstance(b, BaseEstimator):
        return type(a) is type(b) and first_difference(a, b) is None
    if is_dataclass(b):
        names = [field.name for field in fields(b) if field.name not in SKIPPED]
        return type(a) is type(b) and all(is_same(getattr(a, n), getattr(b, n)) for n in names)
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(is_same(a[k], b[k]) for k in b)
    if isinstance(b, list | tuple):
        return isinstance(a, list | tuple) and len(a) == len(b) and all(map(is_same, a, b))
    return bool(a == b or (a != a and b != b))
