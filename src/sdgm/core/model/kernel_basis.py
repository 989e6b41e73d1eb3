"""Columns of the dual form: kernels at training rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.kernels import Kernel


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """Columns ``k(., z)``.

    Attributes
    ----------
    kernel : Kernel
    vectors : (n, D) array
        Standardised z of each column.
    user_rows : (n,) array
        Training row of each column.
    user_vectors : (n, D) array
        The rows as the user gave them.
    gamma : float
        The number that the parameter gamma stood for, which not every kernel has.
    """

    kernel: Kernel
    vectors: FloatArray
    user_rows: IntArray
    user_vectors: FloatArray
    gamma: float

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def n_stored_numbers(self) -> int:
        """Inputs of the vectors."""
        return self.vectors.size

    def transform(self, X: FloatArray) -> FloatArray:
        """Kernel values at standardised rows: (N, n)."""
        return self.kernel.gram(X, self.vectors)

    def transform_with_constant(self, X: FloatArray) -> FloatArray:
        """The same with a column of ones in front: (N, 1 + n), column-major."""
        return _with_constant(self.transform(X))

    def take(self, indices: IntArray) -> KernelBasis:
        """These columns only."""
        return replace(
            self,
            vectors=self.vectors[indices],
            user_rows=self.user_rows[indices],
            user_vectors=self.user_vectors[indices],
        )

    def at_rows(self, user_rows: IntArray) -> KernelBasis:
        """The same columns, where row i of the fit is row ``user_rows[i]`` of the user's table."""
        return replace(self, user_rows=user_rows[self.user_rows])

    def column_keys(self) -> list[Hashable]:
        """Vectors that are equal to the last bit are the same column."""
        return [vector.tobytes() for vector in self.vectors]


@dataclass(frozen=True, eq=False)
class PrecomputedBasis:
    """Columns of kernel values that the user hands in, by training row."""

    user_rows: IntArray
    user_vectors: ClassVar[None] = None
    gamma: ClassVar[float] = np.nan
    n_stored_numbers: ClassVar[int] = 0

    def __len__(self) -> int:
        return len(self.user_rows)

    def transform(self, X: FloatArray) -> FloatArray:
        """Kernel values of the relevance vectors: (N, n)."""
        return X[:, self.user_rows]

    def transform_with_constant(self, X: FloatArray) -> FloatArray:
        """The same with a column of ones in front: (N, 1 + n), column-major."""
        return _with_constant(self.transform(X))

    def take(self, indices: IntArray) -> PrecomputedBasis:
        """These columns only."""
        return PrecomputedBasis(self.user_rows[indices])

    def at_rows(self, user_rows: IntArray) -> PrecomputedBasis:
        """The same columns, where row i of the fit is row ``user_rows[i]`` of the user's table."""
        return PrecomputedBasis(user_rows[self.user_rows])

    def column_keys(self) -> list[Hashable]:
        """Training rows."""
        return list(self.user_rows.tolist())


def _with_constant(columns: FloatArray) -> FloatArray:
    Z = np.empty((len(columns), 1 + columns.shape[1]), order="F")
    Z[:, 0], Z[:, 1:] = 1.0, columns
    return Z
