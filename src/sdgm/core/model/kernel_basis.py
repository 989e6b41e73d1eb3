"""Columns of the dual form: kernels at training rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.basis import Basis
from sdgm.core.model.kernels import Kernel


@dataclass(frozen=True, eq=False)
class KernelBasis(Basis):
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

    def take(self, indices: IntArray) -> KernelBasis:
        return replace(
            self,
            vectors=self.vectors[indices],
            user_rows=self.user_rows[indices],
            user_vectors=self.user_vectors[indices],
        )

    def at_rows(self, user_rows: IntArray) -> KernelBasis:
        return replace(self, user_rows=user_rows[self.user_rows])

    def column_keys(self) -> list[Hashable]:
        """Vectors that are equal to the last bit are the same column."""
        return [vector.tobytes() for vector in self.vectors]


@dataclass(frozen=True, eq=False)
class PrecomputedBasis(Basis):
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

    def take(self, indices: IntArray) -> PrecomputedBasis:
        return PrecomputedBasis(self.user_rows[indices])

    def at_rows(self, user_rows: IntArray) -> PrecomputedBasis:
        return PrecomputedBasis(user_rows[self.user_rows])

    def column_keys(self) -> list[Hashable]:
        """Training rows."""
        return list(self.user_rows.tolist())
