"""The record that every loader and every generator returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled rows, how to divide them, and where they are from.

    Attributes
    ----------
    name : str
    X : (N, D) array
    y : (N,) array
        Labels as in the source.
    splits : sequence of (train, test)
        Row numbers into ``X``, one pair of arrays per split.
    source, licence : str
    sha256 : str or None
        Checksum that the file was held against, None when there is no file.
    generated : bool
        Whether the rows were drawn here instead of read.

    Examples
    --------
    >>> from sdgm.datasets import make_ripley
    >>> data = make_ripley(n_train=80, n_test=20)
    >>> X_train, y_train, X_test, y_test = data.split()
    >>> X_train.shape, X_test.shape
    ((80, 2), (20, 2))
    """

    name: str
    X: FloatArray = field(repr=False)
    y: np.ndarray[Any, Any] = field(repr=False)
    splits: Sequence[tuple[IntArray, IntArray]] = field(repr=False)
    source: str
    licence: str
    sha256: str | None
    generated: bool

    def split(
        self, i: int = 0
    ) -> tuple[FloatArray, np.ndarray[Any, Any], FloatArray, np.ndarray[Any, Any]]:
        """``X_train, y_train, X_test, y_test`` of the i-th split."""
        train, test = self.splits[i]
        return self.X[train], self.y[train], self.X[test], self.y[test]
