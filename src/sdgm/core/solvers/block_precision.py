"""The posterior precision of many components: its diagonal blocks, and products with the whole.

The matrix of m x m numbers is never formed. The parts of its inverse that the evidence needs are
taken from the diagonal blocks, one per component: the coupling between components is of the order
of P_k P_l, and small if there are many. Newton's direction is exact nevertheless: it comes from
conjugate gradients, with products that cost as much as a gradient and the blocks as preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows, RowSource
from sdgm.core.objective.derivatives import Mixture, block_posteriors
from sdgm.core.objective.whitening import Picks, Whitening
from sdgm.core.solvers.precision import robust_precision_cholesky

# most posteriors that conjugate gradients keep from one product to the next: 128 MB
KEPT_NUMBERS = 1 << 24


@dataclass(frozen=True)
class BlockPrecision:
    """Diagonal blocks of ``I + curvature``, in place of the whole.

    Attributes
    ----------
    coordinates : K slices
    curvature, cholesky : lists of K (m_k, m_k) arrays
        Of each component: ``G_k' diag(s p_k (1 - p_k)) G_k``, and the factor of one plus it.
    """

    coordinates: Sequence[slice]
    curvature: list[FloatArray]
    cholesky: list[FloatArray]

    @classmethod
    def from_blocks(
        cls, coordinates: Sequence[slice], curvature: list[FloatArray]
    ) -> BlockPrecision:
        """Factorise, adding jitter if needed; equal blocks only once."""
        factors = {id(C): C for C in curvature}
        factors = {name: robust_precision_cholesky(C) for name, C in factors.items()}
        return cls(coordinates, curvature, [factors[id(C)] for C in curvature])

    @property
    def half_log_det(self) -> float:
        """Half the log determinant of the blocks, never less than for the whole matrix."""
        return sum(float(np.log(L.diagonal()).sum()) for L in self.cholesky)

    def solve(self, b: FloatArray) -> FloatArray:
        result = np.empty_like(b)
        for where, L in zip(self.coordinates, self.cholesky, strict=True):
            if where.start < where.stop:
                result[where], _ = lapack.dpotrs(L, b[where], lower=1)
        return result

    def shrinkage(self, coordinates: Sequence[slice]) -> list[FloatArray]:
        """Diagonal blocks of ``I - V``, as if the blocks were all there is."""
        return [
            lapack.dpotrs(L, C, lower=1)[0] if len(C) else C
            for C, L in zip(self.curvature, self.cholesky, strict=True)
        ]

    def shrinkage_diagonal(self) -> FloatArray:
        return np.concatenate([np.diagonal(block) for block in self.shrinkage(self.coordinates)])


def curvature_blocks(rows: RowSource, mixture: Mixture, whitening: Whitening) -> list[FloatArray]:
    """Diagonal blocks of the curvature of J, one per component: K arrays (m_k, m_k)."""
    p = whitening.rank
    # with many coordinates it is less work to form the block in the coordinates of Z first
    in_Z = [
        not isinstance(whitening.factor, Picks) and is_wide(where.stop - where.start, p)
        for where in whitening.coordinates
    ]

    def of_block(block: Rows) -> FloatArray:
        P_cm, _, _ = block_posteriors(block, mixture, None)
        root = np.sqrt(P_cm * (1.0 - P_cm) * block.s)  # (K, N)
        blocks = []
        for k, where in enumerate(whitening.coordinates):
            Gt = block.Z.T if in_Z[k] else whitening.whitened(block.Z.T, where)  # (p or m_k, N)
            Gt = Gt * root[k]
            blocks.append((Gt @ Gt.T).ravel())
        return np.concatenate(blocks)

    sizes = [
        p if wide else where.stop - where.start
        for where, wide in zip(whitening.coordinates, in_Z, strict=True)
    ]
    total = rows.total(of_block, max(len(sizes), *sizes))
    pieces = np.split(total, np.cumsum(np.square(sizes))[:-1])
    blocks = [piece.reshape(size, size) for piece, size in zip(pieces, sizes, strict=True)]
    for k, where in enumerate(whitening.coordinates):
        if in_Z[k]:
            L = whitening.L[:, where]
            blocks[k] = L.T @ blocks[k] @ L
    return blocks


def mean_block(rows: RowSource, mixture: Mixture, whitening: Whitening) -> list[FloatArray]:
    """The mean of `curvature_blocks` in place of each, for components of the same columns.

    One product instead of K. Its log determinant is never less than the mean of theirs.
    """
    first = whitening.coordinates[0]

    def of_block(block: Rows) -> FloatArray:
        P_cm, _, _ = block_posteriors(block, mixture, None)
        root = np.sqrt((P_cm * (1.0 - P_cm)).mean(axis=0) * block.s)  # (N,)
        Gt = whitening.whitened(block.Z.T, first) * root
        return Gt @ Gt.T

    total = rows.total(of_block, max(first.stop, len(mixture.log_pi)))
    return [total] * len(mixture.log_pi)


def is_wide(m: int, p: int) -> bool:
    """Whether for a component of m coordinates Z' W Z is less work than G' W G."""
    return p**2 < 2 * p * m + m**2


def curvature_product(
    rows: RowSource, mixture: Mixture, whitening: Whitening, *, observed: bool
) -> Callable[[FloatArray], FloatArray]:
    """The product of ``I + curvature`` with a vector, by one pass over the rows.

    With ``observed``, of the log likelihood in place of J; there it may have negative directions.
    """
    K = len(mixture.log_pi)
    kept: dict[int, tuple[FloatArray, FloatArray]] = {}
    keeps = isinstance(rows, Rows) and len(rows) * K <= KEPT_NUMBERS

    def posteriors(block: Rows) -> tuple[FloatArray, FloatArray]:
        if block.first in kept:
            return kept[block.first]
        P_cm, r, _ = block_posteriors(block, mixture, None)
        if keeps:
            kept[block.first] = P_cm, r
        return P_cm, r

    def product(v: FloatArray) -> FloatArray:
        V = whitening.score_vectors(v)  # (p, K)

        def of_block(block: Rows) -> FloatArray:
            P_cm, r = posteriors(block)
            change = V.T @ block.Z.T  # (K, N)
            slope = P_cm * change
            slope -= P_cm * slope.sum(axis=0)
            if observed:
                missing = r * change
                slope -= missing - r * class_sums(missing, block, mixture)
            return (slope * block.s) @ block.Z  # (K, p)

        return v + whitening.of_scores(rows.total(of_block, 4 * K))

    return product


def class_sums(a: FloatArray, block: Rows, mixture: Mixture) -> FloatArray:
    """Sums over the components of a row's own class; r is zero elsewhere: (N,) or (K, N)."""
    if block.y.ndim == 1:
        return a.sum(axis=0)
    starts = np.searchsorted(mixture.component_class, np.arange(block.y.shape[1]))
    frequency = np.maximum(block.y.T, np.finfo(float).tiny)
    return (np.add.reduceat(a, starts, axis=0) / frequency)[mixture.component_class]
