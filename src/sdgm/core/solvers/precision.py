"""The posterior precision of the whitened weights, ``I + curvature``, in two equal forms.

`DensePrecision` holds the whole matrix of m x m numbers. `RowSpacePrecision` is for fewer rows than
coordinates: with ``B_k = I + G_k' diag(s p_k) G_k`` the precision is ``blockdiag(B_k) - U'U``, and
Woodbury's identity leaves one matrix per component and one of N x N numbers,
``S = I - sum_k U_k B_k^-1 U_k'``. Its cost grows linearly with the number of components.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import blas, lapack

from sdgm._typing import FloatArray


class FactorizationError(ArithmeticError):
    """The posterior precision could not be factorised, whatever was added to its diagonal."""


# multiples of the largest entry, added to the diagonal in turn when the Cholesky factorisation
# fails, which happens when an alpha near zero makes a whitened column huge
JITTER_LADDER = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
# part of the complete information that counts as flat where the observed one has no sign
FLATTEST = 0.02


class Precision(Protocol):
    """What learning needs from ``I + curvature``; V is its inverse."""

    @property
    def half_log_det(self) -> float:
        """Half the log determinant."""
        ...

    def solve(self, b: FloatArray) -> FloatArray:
        """``V b``: (m,)."""
        ...

    def shrinkage(self, coordinates: Sequence[slice]) -> list[FloatArray]:
        """Diagonal blocks of ``I - V``."""
        ...

    def shrinkage_diagonal(self) -> FloatArray:
        """Diagonal of ``I - V``: (m,)."""
        ...


@dataclass(frozen=True)
class DensePrecision:
    """The whole matrix."""

    curvature: FloatArray  # (m, m)

    @cached_property
    def cholesky(self) -> FloatArray:
        """Factor of ``I + curvature`` in the lower triangle, from the jitter ladder if needed."""
        return robust_precision_cholesky(self.curvature)

    @property
    def half_log_det(self) -> float:
        return float(np.log(self.cholesky.diagonal()).sum())

    def solve(self, b: FloatArray) -> FloatArray:
        solution, _ = lapack.dpotrs(self.cholesky, b, lower=1)
        return solution

    @cached_property
    def _shrinkage(self) -> FloatArray:
        # I - V = V curvature, which does not cancel for weights that are about to be pruned
        return lapack.dpotrs(self.cholesky, self.curvature, lower=1)[0]

    def shrinkage(self, coordinates: Sequence[slice]) -> list[FloatArray]:
        return [self._shrinkage[k, k] for k in coordinates]

    def shrinkage_diagonal(self) -> FloatArray:
        # of the symmetric V LAPACK fills the lower triangle, a third of the work of V curvature
        V, _ = lapack.dpotri(self.cholesky, lower=1)
        products = np.tril(V) * self.curvature
        own = products.diagonal()
        return products.sum(axis=0) + products.sum(axis=1) - own


class Block(NamedTuple):
    """The contribution of one component to `RowSpacePrecision`."""

    where: slice  # its coordinates
    curvature: FloatArray  # G_k' diag(s p_k) G_k: (m_k, m_k)
    cholesky: FloatArray  # factor L of B_k in the lower triangle: (m_k, m_k)
    half: FloatArray  # L^-1 U_k': (m_k, N)


@dataclass(frozen=True)
class RowSpacePrecision:
    """One matrix per component, and one of N x N numbers that couples them."""

    blocks: list[Block]  # of the components that have coordinates
    coupling: FloatArray  # Cholesky factor of S in the lower triangle: (N, N)

    @classmethod
    def from_rows(
        cls, Gt: FloatArray, P: FloatArray, coordinates: Sequence[slice], *, robust: bool = False
    ) -> RowSpacePrecision:
        """Factorise, from whitened columns (m, N) times the root of s, and P(c, m | x), (K, N).

        With ``robust``, jitter may be added to the diagonals of single components.
        """
        blocks = []
        S = np.zeros((Gt.shape[1],) * 2, order="F")
        for where, p in zip(coordinates, P, strict=True):
            if where.start == where.stop:
                continue
            Ut = Gt[where] * p
            C = Ut @ Gt[where].T
            L = robust_precision_cholesky(C) if robust else precision_cholesky(C)
            if L is None:
                raise trouble(C)
            half, _ = lapack.dtrtrs(L, Ut, lower=1)
            S = blas.dsyrk(-1.0, half, beta=1.0, c=S, trans=1, lower=1, overwrite_c=1)
            blocks.append(Block(where, C, L, half))
        for jitter in (0.0, *JITTER_LADDER):
            coupling = precision_cholesky(S, jitter)
            if coupling is not None:
                return cls(blocks, coupling)
        raise trouble(S)

    @property
    def half_log_det(self) -> float:
        factors = [self.coupling, *(block.cholesky for block in self.blocks)]
        return sum(float(np.log(L.diagonal()).sum()) for L in factors)

    def solve(self, b: FloatArray) -> FloatArray:
        # V b = B^-1 (b + U' S^-1 U B^-1 b)
        halves = [lapack.dtrtrs(L, b[where], lower=1)[0] for where, _, L, _ in self.blocks]
        in_rows = np.zeros(len(self.coupling))
        for half_b, block in zip(halves, self.blocks, strict=True):
            in_rows += half_b @ block.half
        in_rows, _ = lapack.dpotrs(self.coupling, in_rows, lower=1)
        result = np.empty_like(b)
        for half_b, (where, _, L, half) in zip(halves, self.blocks, strict=True):
            result[where], _ = lapack.dtrtrs(L, half_b + half @ in_rows, lower=1, trans=1)
        return result

    def shrinkage(self, coordinates: Sequence[slice]) -> list[FloatArray]:
        # I - V_kk = B_k^-1 C_k - T T' with T = B_k^-1 U_k' S^-1/2
        of_block = {}
        for where, C, L, half in self.blocks:
            result, _ = lapack.dpotrs(L, C, lower=1)
            in_rows, _ = lapack.dtrtrs(self.coupling, half.T, lower=1)  # (N, m_k)
            T, _ = lapack.dtrtrs(L, in_rows.T, lower=1, trans=1)  # (m_k, N)
            of_block[where.start, where.stop] = result - T @ T.T
        return [of_block.get((k.start, k.stop), np.empty((0, 0))) for k in coordinates]

    def shrinkage_diagonal(self) -> FloatArray:
        own = [block.where for block in self.blocks]
        return np.concatenate([np.diagonal(block) for block in self.shrinkage(own)])


def precision_cholesky(curvature: FloatArray, jitter: float = 0.0) -> FloatArray | None:
    """Cholesky factor of ``I + curvature`` in the lower triangle, or None if there is none."""
    precision = curvature.copy(order="F")
    precision.ravel(order="K")[:: len(precision) + 1] += 1.0 + jitter
    factor, info = lapack.dpotrf(precision, lower=1, clean=0, overwrite_a=1)
    # LAPACK lets NaN and infinity pass; they always reach the diagonal
    return factor if info == 0 and math.isfinite(factor.trace()) else None


def robust_precision_cholesky(curvature: FloatArray) -> FloatArray:
    """Cholesky factor of ``I + curvature``, climbing the jitter ladder when needed."""
    factor = precision_cholesky(curvature)
    if factor is not None:
        return factor
    largest = float(np.abs(curvature).max())
    if np.isfinite(largest):
        for jitter in JITTER_LADDER:
            factor = precision_cholesky(curvature, jitter * largest)
            if factor is not None:
                return factor
        # rounding of entries that cancelled can be larger than any that is left: drop what is
        # negative of the curvature, which in exact arithmetic has no such part
        eigenvalues, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        factor = precision_cholesky((vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T)
        if factor is not None:
            return factor
    raise trouble(curvature)


def saddle_free_cholesky(cholesky: FloatArray, missing: FloatArray) -> FloatArray | None:
    """Cholesky factor of the observed information with positive eigenvalues, if there is one.

    The eigenvalues, in units of the complete information (whose factor, with the prior, is given),
    are one minus the eigenvalues of the missing one. Their absolute values are taken: a step then
    leaves a saddle as fast as it would come to a mode, where EM hardly moves.
    """
    L = np.tril(cholesky)
    half, _ = lapack.dtrtrs(L, missing, lower=1)
    relative, _ = lapack.dtrtrs(L, half.T, lower=1)
    if not np.isfinite(relative).all():
        return None
    try:
        eigenvalues, vectors = np.linalg.eigh(relative)
    except np.linalg.LinAlgError:
        return None
    root = (L @ vectors) * np.sqrt(np.maximum(np.abs(1.0 - eigenvalues), FLATTEST))
    factor, info = lapack.dpotrf(root @ root.T, lower=1)
    return factor if info == 0 else None


def trouble(curvature: FloatArray) -> FactorizationError:
    """The error to raise if no jitter was enough."""
    return FactorizationError(
        "the posterior precision of the weights cannot be factorised (largest entry "
        f"{np.abs(curvature).max():.3g}); standardise the inputs or lower the kernel scale"
    )
