"""Columns of the dual form: kernels at training rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.basis import Basis
from sdgm.core.model.kernels import Kernel, LinearKernel, PolynomialKernel


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
        """Inputs of the vectors, without those that are zero in all."""
        return len(self) * int(self.vectors.any(axis=0).sum())

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

    def at_inputs(self, inputs: IntArray, n_inputs: int) -> KernelBasis:
        """The same columns, where input i is input ``inputs[i]``; the others are zero."""
        vectors = np.zeros((len(self), n_inputs))
        vectors[:, inputs] = self.vectors
        return replace(self, vectors=vectors)

    def only_inputs(self, inputs: IntArray, n_inputs: int) -> KernelBasis:
        """The same columns of these inputs alone, where the vectors have no others."""
        return replace(self, vectors=self.vectors[:, inputs])

    def inputs_read(self, n_inputs: int) -> IntArray:
        """All inputs, or those of a product that is not with zeros, in order."""
        if isinstance(self.kernel, PolynomialKernel | LinearKernel) or not len(self):
            return np.flatnonzero((self.vectors != 0.0).any(axis=0))
        return np.arange(n_inputs)

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

    def inputs_read(self, n_inputs: int) -> IntArray:
        """Kernel values with the relevance vectors."""
        return np.unique(self.user_rows)

    def column_keys(self) -> list[Hashable]:
        """Training rows."""
        return list(self.user_rows.tolist())
