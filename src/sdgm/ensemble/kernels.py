"""Kernels of the members, as functions of distances or of inner products.

Kernels of all scales on the same inputs share one matrix of either. Among the kernels that decrease
with the distance, the Matérn kernel of order 3/2 alone is as good as any set of Gaussian, Laplacian
and Matérn kernels (see docs/ensemble.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sdgm._typing import FloatArray


class Kind(StrEnum):
    """Kernels, with d the distance, D the number of inputs and g the scale."""

    LINEAR = "linear"  # x'z / D
    QUADRATIC = "quadratic"  # (g x'z / D + 1)^2
    MATERN = "Matern"  # (1 + r) exp(-r), r = sqrt(3) g d / sqrt(D)


@dataclass(frozen=True)
class MemberKernel:
    """A kernel of some scale."""

    kind: Kind
    scale: float = 1.0

    @property
    def name(self) -> str:
        """With the scale, if it has one."""
        return str(self.kind) if self.kind == Kind.LINEAR else f"{self.kind} {self.scale:g}"

    @property
    def of_distances(self) -> bool:
        """Whether it is a function of distances, not of inner products."""
        return self.kind == Kind.MATERN

    def rate(self, D: int) -> float:
        """Factor of the distances."""
        return self.scale * float(np.sqrt(3.0 / D))

    def of(self, A: FloatArray, D: int) -> FloatArray:
        """Kernel values from inner products or distances of D inputs, a new array."""
        if self.kind == Kind.LINEAR:
            return A / D
        if self.kind == Kind.QUADRATIC:
            K = A * (self.scale / D)
            K += 1.0
            return np.square(K, out=K)
        K = A * -self.rate(D)
        falling = np.exp(K)
        np.subtract(1.0, K, out=K)
        K *= falling
        return K


def distances(X: FloatArray, Z: FloatArray) -> FloatArray:
    """Between the rows of X and of Z, inputs near the origin: (n, N)."""
    A = X @ Z.T
    A *= -2.0
    A += np.einsum("nd,nd->n", X, X)[:, None]
    A += np.einsum("nd,nd->n", Z, Z)
    np.maximum(A, 0.0, out=A)
    return np.sqrt(A, out=A)
