"""The record that every loader and every generator returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray

Labels = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled rows, how to divide them, and where they are from.

    Attributes
    ----------
    name : str
    X, y : (N, D) and (N,) arrays
        Inputs, and labels as in the source.
    splits : sequence of (train, test)
        Row numbers into ``X``, one pair of arrays per split; empty when the source has none.
    source, licence : str
    sha256 : str or None
        Checksum of the file, None when there is none.
    generated : bool
        Whether the rows were drawn instead of read.
    split_names : sequence of str
        Such as "original split 7"; may be left empty.

    Examples
    --------
    >>> from sdgm.datasets import make_ripley
    >>> X_train, y_train, X_test, y_test = make_ripley(n_train=80, n_test=20).split()
    >>> X_train.shape, X_test.shape
    ((80, 2), (20, 2))
    """

    name: str
    X: FloatArray = field(repr=False)
    y: Labels = field(repr=False)
    splits: Sequence[tuple[IntArray, IntArray]] = field(repr=False)
    source: str
    licence: str
    sha256: str | None
    generated: bool
    split_names: Sequence[str] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.split_names and len(self.split_names) != len(self.splits):
            raise ValueError(
                f"{self.name} has {len(self.splits)} splits but {len(self.split_names)} names "
                "for them: give one name per split or none at all."
            )

    def split(self, i: int = 0) -> tuple[FloatArray, Labels, FloatArray, Labels]:
        """``X_train, y_train, X_test, y_test`` of the i-th split."""
        if not self.splits:
            raise ValueError(
                f"{self.name} comes without splits: draw some, for instance with scikit-learn's "
                "StratifiedShuffleSplit."
            )
        train, test = self.splits[i]
        return self.X[train], self.y[train], self.X[test], self.y[test]


def with_one_split(
    name: str,
    X: FloatArray,
    y: Labels,
    n_train: int,
    source: str,
    *,
    licence: str = "none needed",
    sha256: str | None = None,
) -> Dataset:
    """The record of rows with whole labels, training rows first; drawn unless there is a file."""
    return Dataset(
        name=name,
        X=X,
        y=y.astype(np.intp),
        splits=[(np.arange(n_train), np.arange(n_train, len(X)))],
        source=source,
        licence=licence,
        sha256=sha256,
        generated=sha256 is None,
        split_names=["published" if sha256 else "drawn"],
    )
