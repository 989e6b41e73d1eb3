"""The posterior precision of many components: its diagonal blocks, and products with the whole.

The matrix of m x m numbers is never formed. What the evidence needs of its inverse is taken from
the diagonal blocks, one per component: coupling between components is of the order of P_k P_l, and
small where there are many. Newton's direction is exact nevertheless: conjugate gradients, with
products that cost as much as a gradient, and the blocks to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.objective import Fit, Mixture, block_posteriors
from sdgm.core.precision import precision_cholesky, robust_precision_cholesky, trouble
from sdgm.core.rows import Rows, RowSource
from sdgm.core.whitening import Whitening

# conjugate gradients end when the residual has shrunk by this factor, or after so many products
RESIDUAL = 1e-3
MAX_PRODUCTS = 60


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
        cls, coordinates: Sequence[slice], curvature: list[FloatArray], *, robust: bool = False
    ) -> BlockPrecision:
        """Factorise; with ``robust`` something may be added to the diagonals."""
        factors = []
        for block in curvature:
            factor = robust_precision_cholesky(block) if robust else precision_cholesky(block)
            if factor is None:
                raise trouble(block)
            factors.append(factor)
        return cls(coordinates, curvature, factors)

    @property
    def half_log_det(self) -> float:
        """Half the log determinant of the blocks, which is at least that of the whole."""
        return sum(float(np.log(L.diagonal()).sum()) for L in self.cholesky)

    def solve(self, b: FloatArray) -> FloatArray:
        """The blocks' inverse times b: (m,)."""
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
        """Diagonal of ``I - V``: (m,)."""
        return np.concatenate([np.diagonal(block) for block in self.shrinkage(self.coordinates)])


@dataclass(slots=True)
class BlockDerivatives:
    """Fit, gradient and diagonal blocks of the curvature of J, prior not included."""

    fit: Fit
    grad: FloatArray
    blocks: list[FloatArray]

    def __add__(self, other: BlockDerivatives) -> BlockDerivatives:
        blocks = [a + b for a, b in zip(self.blocks, other.blocks, strict=True)]
        return BlockDerivatives(self.fit + other.fit, self.grad + other.grad, blocks)


def block_derivatives(
    rows: RowSource, mixture: Mixture, r_from: Mixture | None, whitening: Whitening
) -> BlockDerivatives:
    """Gradient of J over all rows, and of its curvature one block per component."""
    L, K = whitening.L, len(mixture.log_pi)

    def of_block(block: Rows) -> BlockDerivatives:
        P_cm, r, fit = block_posteriors(block, mixture, r_from)
        grad_V = block.weighted(r - P_cm) @ block.Z  # (K, p)
        root = np.sqrt(block.weighted(P_cm * (1.0 - P_cm)))  # (K, N)
        curvature = []
        for k, where in enumerate(whitening.coordinates):
            Gt = (L[:, where].T @ block.Z.T) * root[k]  # (m_k, N)
            curvature.append(Gt @ Gt.T)
        return BlockDerivatives(fit, in_coordinates(grad_V, whitening), curvature)

    width = max(L.shape[1] // max(K, 1), K, L.shape[0])
    return rows.total(of_block, width)


def in_coordinates(of_V: FloatArray, whitening: Whitening) -> FloatArray:
    """Derivatives with respect to theta from those with respect to V, (K, p): (m,)."""
    return np.concatenate(
        [
            whitening.L[:, where].T @ of_v
            for where, of_v in zip(whitening.coordinates, of_V, strict=True)
        ]
    )


def curvature_product(
    rows: RowSource, mixture: Mixture, whitening: Whitening, *, observed: bool
) -> Callable[[FloatArray], FloatArray]:
    """The product of ``I + curvature`` with a vector, by one pass over the rows.

    With ``observed``, of the log likelihood in place of J; there it may have negative directions.
    """
    K = len(mixture.log_pi)

    def product(v: FloatArray) -> FloatArray:
        V = whitening.score_vectors(v)  # (p, K)

        def of_block(block: Rows) -> FloatArray:
            P_cm, r, _ = block_posteriors(block, mixture, None)
            change = V.T @ block.Z.T  # (K, N)
            slope = P_cm * change
            slope -= P_cm * slope.sum(axis=0)
            if observed:
                missing = r * change
                slope -= missing - r * class_sums(missing, block, mixture)
            return block.weighted(slope) @ block.Z  # (K, p)

        return v + in_coordinates(rows.total(of_block, 4 * K), whitening)

    return product


def class_sums(a: FloatArray, block: Rows, mixture: Mixture) -> FloatArray:
    """Sums over the components of a row's own class; r is zero elsewhere: (N,) or (K, N)."""
    if block.y.ndim == 1:
        return a.sum(axis=0)
    starts = np.searchsorted(mixture.component_class, np.arange(block.y.shape[1]))
    frequency = np.maximum(block.y.T, np.finfo(float).tiny)
    return (np.add.reduceat(a, starts, axis=0) / frequency)[mixture.component_class]


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], b: FloatArray, precision: BlockPrecision
) -> FloatArray:
    """An uphill direction near the solution of ``product(x) = b``.

    Ends early, with what is reached, at a direction of negative curvature.
    """
    x = np.zeros_like(b)
    residual = b.copy()
    z = precision.solve(residual)
    direction, rho = z, float(residual @ z)
    smallest = RESIDUAL**2 * rho
    for _ in range(MAX_PRODUCTS):
        if rho <= smallest:
            break
        image = product(direction)
        curvature = float(direction @ image)
        if curvature <= 0.0:
            return x if x.any() else direction
        step = rho / curvature
        x = x + step * direction
        residual = residual - step * image
        z = precision.solve(residual)
        rho, before = float(residual @ z), rho
        direction = z + (rho / before) * direction
    return x
