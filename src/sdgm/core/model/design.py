"""The design matrix as a product of small factors: ``Phi = Z R``.

Z has one row per sample and as many columns p as the design has rank; R has one column per
candidate weight. With two inputs and the quadratic kernel p is 6, whatever N is. Everything from
`learn` inward sees only Z and R, and never asks which form they came from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.kernels import Kernel

# directions whose share of the design is smaller than this are rounding errors of the larger ones
RANK_TOLERANCE = 1e-10
# a kernel without explicit features is factorised until no entry is off by more than this,
# relative to its largest diagonal entry
GRAM_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Design:
    """``Phi = Z R``, with the columns of Phi divided by ``scale``.

    Weights of the undivided columns are ``w / scale``.
    """

    Z: FloatArray  # (N, p), column-major
    Rt: FloatArray  # R transposed, row 0 for the constant column of Phi: (H, p)
    scale: FloatArray  # (H,)

    def at_rows(self, index: IntArray) -> Design:
        """The design with these of its rows, some perhaps repeated."""
        return Design(np.asfortranarray(self.Z[index]), self.Rt, self.scale)

    def scaled(self, s: FloatArray) -> Design:
        """The design with columns of unit mean square, under sample weights ``s``."""
        root_s = np.sqrt(s / s.sum())
        triangle = linalg.qr(self.Z * root_s[:, None], mode="r", check_finite=False)[0]
        norm = np.linalg.norm(self.Rt @ triangle[: self.Z.shape[1]].T, axis=1)
        norm[norm == 0.0] = 1.0
        return Design(self.Z, self.Rt / norm[:, None], self.scale * norm)


def feature_design(Phi: FloatArray) -> Design:
    """Original form: Phi itself, or its singular factors when it has more columns than rows."""
    N, H = Phi.shape
    if H <= N:
        return _design(Phi, np.eye(H))
    # a QR factorisation first, so that the singular factors are of an N x N matrix
    Q, T = linalg.qr(Phi.T, mode="economic", check_finite=False)
    U, singular, Vt = linalg.svd(T.T, check_finite=False)
    rank = max(int((singular > RANK_TOLERANCE * singular[0]).sum()), 1)
    return _design(U[:, :rank] * singular[:rank], Q @ Vt[:rank].T)


def kernel_design(
    kernel: Kernel, candidates: FloatArray, on_growth: Callable[[int], None] | None = None
) -> Design:
    """Dual form: a constant and one column ``k(., z)`` per candidate z, at the candidates.

    ``on_growth`` is as in `pivoted_cholesky`, where the kernel is factorised that way.
    """
    size = kernel.explicit_size(candidates.shape[1])
    if size is not None and size < len(candidates):
        psi = kernel.explicit(candidates)  # k(x, z) = psi(x)' psi(z)
        assert psi is not None
        Z, coordinates = _factors(_with_ones(psi))
        return _design(Z, np.concatenate([coordinates[:1], psi @ coordinates[1:]]))
    diagonal = kernel.diagonal(candidates)
    if diagonal is None:
        return matrix_design(kernel.gram(candidates, candidates))
    factor, _ = pivoted_cholesky(kernel, candidates, diagonal, on_growth=on_growth)
    return _design(_with_ones(factor), _with_constant(factor))


def matrix_design(gram: FloatArray) -> Design:
    """Dual form of any matrix of kernel values, which may be indefinite or asymmetric."""
    return _design(*_factors(_with_ones(gram)))


def _factors(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Z (N, p) of orthogonal columns and Rt (n_columns, p) with ``columns = Z @ Rt.T``."""
    N, n_columns = columns.shape
    # columns of one length, so that the rank does not depend on the units of any
    norm = np.linalg.norm(columns, axis=0)
    norm[norm == 0.0] = 1.0
    Q, T, pivot = linalg.qr(columns / norm, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(T))
    rank = int((diagonal > RANK_TOLERANCE * diagonal[0]).sum())
    Rt = np.empty((n_columns, rank))
    Rt[pivot] = T[:rank].T
    Rt *= norm[:, None] / np.sqrt(N)
    return Q[:, :rank] * np.sqrt(N), Rt


def pivoted_cholesky(
    kernel: Kernel,
    X: FloatArray,
    diagonal: FloatArray,
    tolerance: float = GRAM_TOLERANCE,
    max_rank: int | None = None,
    on_growth: Callable[[int], None] | None = None,
) -> tuple[FloatArray, IntArray]:
    """F with ``F F' = gram(X, X)`` up to a share of the largest diagonal entry: (N, p).

    Takes one column of the Gram matrix per step, at the row that is explained worst, and so never
    forms the matrix: N x p numbers for rank p. Also returns these rows, in turn: (p,).

    Before it makes room for more columns it calls ``on_growth`` with the rank that is certain by
    then, which may object.
    """
    residual = diagonal.copy()
    smallest = tolerance * float(residual.max())
    F = np.empty((len(X), 0), order="F")
    pivots: list[int] = []
    rank = 0
    while rank < min(len(X), max_rank or len(X)):
        worst = int(residual.argmax())
        if residual[worst] <= smallest:
            break
        if rank == F.shape[1]:
            if on_growth is not None:
                on_growth(rank + 1)
            F = np.concatenate([F, np.empty((len(X), max(rank, 32)))], axis=1)
        column = kernel.gram(X, X[[worst]])[:, 0] - F[:, :rank] @ F[worst, :rank]
        F[:, rank] = column / np.sqrt(residual[worst])
        residual -= F[:, rank] ** 2
        residual[worst] = 0.0
        pivots.append(worst)
        rank += 1
    return F[:, :rank], np.array(pivots, dtype=np.intp)


def _design(Z: FloatArray, Rt: FloatArray) -> Design:
    return Design(np.asfortranarray(Z), np.ascontiguousarray(Rt), np.ones(len(Rt)))


def _with_ones(columns: FloatArray) -> FloatArray:
    return np.concatenate([np.ones((len(columns), 1)), columns], axis=1)


def _with_constant(factor: FloatArray) -> FloatArray:
    """Rows of R' for the constant and the candidates, when Z is ``[1, F]`` and R is ``[1, F']``."""
    N, rank = factor.shape
    Rt = np.zeros((N + 1, rank + 1))
    Rt[0, 0] = 1.0
    Rt[1:, 1:] = factor
    return Rt
