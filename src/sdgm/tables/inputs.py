"""What a column of a user's table becomes: numbers for a classifier, the same everywhere.

An input is one column as the user has it; features are what the classifier sees of it. Python, C,
ONNX and the page of a report all encode by these rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray, IntArray

# code of a value that is none of the levels seen in training
UNKNOWN = -1


@dataclass(frozen=True)
class Number:
    """A numeric column.

    Attributes
    ----------
    name : str
    fill : float or None
        Replaces missing values; None if there were none in training, where one is an error.
    indicator : bool
        Whether a second feature is one if the value is missing.
    is_date : bool
        Whether the column holds dates; the numbers are then days since 1970-01-01.

    Examples
    --------
    >>> age = Number("age", fill=40.0, indicator=True)
    >>> age.features
    ('age', 'age missing')
    >>> age.encoded(np.array([31.0, np.nan]))
    array([[31.,  0.],
           [40.,  1.]])
    """

    name: str
    fill: float | None = None
    indicator: bool = False
    is_date: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Names of what the classifier sees."""
        return (self.name, f"{self.name} missing") if self.indicator else (self.name,)

    def encoded(self, values: FloatArray) -> FloatArray:
        """Features of values, where NaN is missing: (N, n_features)."""
        missing = np.isnan(values)
        if self.fill is None:
            if missing.any():
                raise ValueError(
                    f"Column {self.name!r} has {missing.sum()} missing values, the first in row "
                    f"{np.flatnonzero(missing)[0] + 1}, but had none in training; fill them in "
                    "first."
                )
            return values[:, None]
        filled = np.where(missing, self.fill, values)
        return np.stack([filled, missing], axis=1) if self.indicator else filled[:, None]


@dataclass(frozen=True)
class Category:
    """A categorical column, one-hot encoded.

    Unknown categories are encoded as zeros, and so are missing values if there were none in
    training.

    Attributes
    ----------
    name : str
    levels : tuple of str
    missing : bool
        Whether missing values have their own feature, the last one.

    Examples
    --------
    >>> colour = Category("colour", ("blue", "red"), missing=True)
    >>> colour.features
    ('colour=blue', 'colour=red', 'colour missing')
    >>> colour.encoded(colour.codes(["red", None, "green"]))
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """

    name: str
    levels: tuple[str, ...]
    missing: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Names of what the classifier sees."""
        names = tuple(f"{self.name}={level}" for level in self.levels)
        return (*names, f"{self.name} missing") if self.missing else names

    def codes(self, values: Sequence[str | None]) -> IntArray:
        """Index of each value's level; one past the last where it is missing: (N,)."""
        index: dict[str | None, int] = {level: i for i, level in enumerate(self.levels)}
        index[None] = len(self.levels)
        return np.array([index.get(value, UNKNOWN) for value in values], dtype=np.intp)

    def encoded(self, codes: IntArray) -> FloatArray:
        """Features of codes: (N, n_features)."""
        return (codes[:, None] == np.arange(len(self.features))).astype(np.float64)


Input = Number | Category


def feature_names(inputs: Sequence[Input]) -> tuple[str, ...]:
    """Names of all features, in the order of the inputs.

    Examples
    --------
    >>> feature_names([Number("age"), Category("sex", ("f", "m"))])
    ('age', 'sex=f', 'sex=m')
    """
    return tuple(name for column in inputs for name in column.features)
