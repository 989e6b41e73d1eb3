"""Columns of the design as functions of the input."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, Self

import numpy as np

from sdgm._typing import FloatArray, IntArray


class Basis(Protocol):
    """Columns of the design as functions of a standardised row; the constant is none of them.

    A weight with ``column`` 0 belongs to the constant, one with ``column`` j to column j - 1 here.
    """

    def __len__(self) -> int: ...

    @property
    def n_stored_numbers(self) -> int:
        """Numbers that a model keeps of the training rows."""
        ...

    def transform(self, X: FloatArray) -> FloatArray:
        """Values of the columns at standardised rows: (N, n)."""
        ...

    def transform_with_constant(self, X: FloatArray) -> FloatArray:
        """The same with a column of ones in front: (N, 1 + n), column-major."""
        columns = self.transform(X)
        Z = np.empty((len(columns), 1 + columns.shape[1]), order="F")
        Z[:, 0], Z[:, 1:] = 1.0, columns
        return Z

    def take(self, indices: IntArray) -> Self:
        """These columns only."""
        ...

    def at_rows(self, user_rows: IntArray) -> Self:
        """The same columns, where row i of the fit is row ``user_rows[i]`` of the user's table."""
        ...

    def at_inputs(self, inputs: IntArray, n_inputs: int) -> Self:
        """The same columns, where input i is input ``inputs[i]`` of ``n_inputs``."""
        raise TypeError("precomputed columns have no features.")

    def only_inputs(self, inputs: IntArray, n_inputs: int) -> Self:
        """The same columns of these inputs alone, where they read no others."""
        raise TypeError("precomputed columns have no features.")

    def inputs_read(self, n_inputs: int) -> IntArray:
        """Sorted indices of the inputs that some column depends on."""
        ...

    def column_keys(self) -> list[Hashable]:
        """A key that differs between columns."""
        ...


def positions(basis: Basis, others: Basis) -> IntArray:
    """Where the columns of a basis are among others, -1 where they are not: (n,)."""
    index = {key: j for j, key in enumerate(others.column_keys())}
    return np.array([index.get(key, -1) for key in basis.column_keys()], dtype=np.intp)
