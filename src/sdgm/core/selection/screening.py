"""Screening of columns for a model that learns from probabilities.

With the probabilities P of a teacher known, and with them its logits f, the softmax can be
linearised once. To second order the log likelihood of scores g is then
``-sum_n s_n P_nc (1 - P_nc) (f_nc - g_nc)^2 / 2`` for every class by itself: regressions with known
noise, in which thousands of columns are judged in a fraction of a second.

1. `ranked` selects, one after the other, the columns that explain most of all logits: the pool.
2. `relevant` chooses from the pool for each class by its evidence (Tipping and Faul, "Fast marginal
   likelihood maximisation for sparse Bayesian models", 2003).

`learn` starts from the result and selects jointly. Therefore both count rows more often than they
occur, and keep more columns than a regression by itself would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.state import State

# share of uniform probabilities that is mixed into those of the teacher: where it is certain,
# logits stay bounded and rows keep some weight
EVEN_SHARE = 0.02
# how many times more often rows count here than in learning. Without it, error on the vowel set (11
# classes) 7.4 instead of 3.7%
GENEROUS = 4.0
# log evidence that a column of the pool must add over all classes
LEAST_GAIN = 0.5
# number of columns above which only those that explain most by themselves are considered
MAX_COLUMNS = 2_000
# columns of the pool, and weights that learning starts with, at most and at least per class. With
# 800 weights 1,000 rows of the letter set (26 classes) have an error of 21.3 instead of 19.8% in
# the dual form, in two thirds of the time
MAX_POOL = 250
MAX_WEIGHTS, MIN_WEIGHTS = 1_000, 8
# part of a column that the pool leaves unexplained, below which the column is redundant
SAME = 1e-6
# gain of log evidence below which `relevant` ends, and its steps per weight that it may keep
LEAST_STEP = 1e-2
STEPS_PER_WEIGHT = 4
# precision of the weights in `unexplained`: columns that explain the logits only by large weights
# that cancel, as kernels far wider than the rows do, are of no use to a sparse model. Without it
# the log loss of the dual form on the development sets is .256 instead of .247
RIDGE = 0.3
# smallest ratio of a sparsity to the curvature of its column
SMALLEST_SPARSITY = 1e-12
# relative difference of gains that is rounding: columns of a kernel of low rank gain the same once
# few directions are left, and which of them is taken must not hang on the units of the inputs
TIED = 1e-6


@dataclass(frozen=True)
class Linearised:
    """Regressions that stand for a softmax.

    Attributes
    ----------
    f : (N, Q) array
        Logits: of every class, less their mean; the difference where there are two.
    weight : (N, Q) array
        ``s P (1 - P)``, the inverse variance of the noise.
    """

    f: FloatArray
    weight: FloatArray

    @classmethod
    def around(cls, P: FloatArray, s: FloatArray) -> Linearised:
        """Around these probabilities, (N, C), of rows that count s times."""
        C = P.shape[1]
        P = (1.0 - EVEN_SHARE) * P + EVEN_SHARE / C
        f = np.log(P)
        weight = s[:, None] * P * (1.0 - P)
        if C == 2:
            return cls(f[:, :1] - f[:, 1:], weight[:, :1])
        return cls(f - f.mean(axis=1, keepdims=True), weight)


class Relevant(NamedTuple):
    """Columns that a regression needs, with precisions and weights."""

    columns: IntArray
    alpha: FloatArray
    w: FloatArray


def pool_of(Phi: FloatArray, rows: Linearised, n_columns: int | None = None) -> IntArray:
    """Columns that explain most of all logits, the first, a constant, among them: sorted.

    Parameters
    ----------
    Phi : (N, H) array
        Columns of about unit mean square.
    rows : Linearised
    n_columns : int, optional
        So many, as far as they differ; by default those that add to the evidence.
    """
    weight = GENEROUS * rows.weight.mean(axis=1)[:, None]
    b = Phi.T @ (weight * rows.f)
    some = np.arange(Phi.shape[1])
    if len(some) > MAX_COLUMNS:
        alone = (b * b).sum(axis=1) / np.maximum((Phi * Phi).T.dot(weight)[:, 0], SAME)
        alone[0] = np.inf
        some = np.sort(np.argsort(-alone, kind="stable")[:MAX_COLUMNS])
        Phi, b = Phi[:, some], b[some]
    half = Phi * np.sqrt(weight)
    A = half.T @ half  # symmetric, half the work
    least = LEAST_GAIN if n_columns is None else 0.0
    return np.sort(some[ranked(A, b, n_columns or MAX_POOL, least)])


def screening_bytes(n_rows: int, n_columns: int) -> float:
    """Memory of a pool: the columns, the same weighted, and the products of those looked at."""
    return 8.0 * (2.0 * n_rows * n_columns + min(n_columns, MAX_COLUMNS) ** 2)


def ranked(A: FloatArray, b: FloatArray, max_columns: int, least: float = LEAST_GAIN) -> IntArray:
    """Columns in the order in which they explain most, column 0 first.

    Orthogonal least squares, which is a Cholesky factorisation whose pivots the responses choose.

    Parameters
    ----------
    A : (H, H) array
        Weighted products of columns.
    b : (H, Q) array
        Weighted products of columns and responses.
    max_columns : int
    least : float
        Gain in log likelihood, over all responses, of the last column.
    """
    left, b = A.diagonal().copy(), b.copy()
    smallest = SAME * left + np.finfo(float).tiny
    L = np.empty((len(A), min(max_columns, len(A))), order="F")
    picked: list[int] = []
    j = 0
    while len(picked) < L.shape[1]:
        k = len(picked)
        pivot = np.sqrt(left[j])
        L[:, k] = (A[:, j] - L[:, :k] @ L[j, :k]) / pivot
        b -= L[:, k, None] * (b[j] / pivot)
        left -= L[:, k] ** 2
        picked.append(j)
        left[j] = 0.0
        gain = np.where(left > smallest, (b * b).sum(axis=1) / np.maximum(left, smallest), 0.0)
        j = largest(gain)
        if gain[j] <= 2.0 * least:
            break
    return np.array(picked, dtype=np.intp)


def largest(gain: FloatArray) -> int:
    """The first column that gains most, up to rounding."""
    most = gain.max()
    return int(np.argmax(gain >= most - TIED * abs(most)))


def relevant(A: FloatArray, b: FloatArray, max_weights: int) -> Relevant:
    """The columns whose precisions are finite where the evidence of a regression is highest.

    From column 0, one precision at a time is set to its best value, the one that gains most.

    Parameters
    ----------
    A : (m, m) array
        Products of columns, weighted by the inverse variance of the noise.
    b : (m,) array
        The same of columns and response.
    max_weights : int
        Columns beyond which none is added.
    """
    diagonal = A.diagonal()
    alpha = np.full(len(A), np.inf)
    alpha[0] = best_alpha(diagonal[0], max(b[0] ** 2, 2.0 * diagonal[0]))
    for _ in range(STEPS_PER_WEIGHT * max_weights):
        active = np.flatnonzero(np.isfinite(alpha))
        sparsity, quality = factors(A, b, alpha, active)
        excess = quality**2 - sparsity
        best = np.where(excess > 0.0, best_alpha(sparsity, quality**2), np.inf)
        gain = evidence(best, sparsity, quality) - evidence(alpha, sparsity, quality)
        if len(active) >= max_weights:
            gain[np.isinf(alpha)] = 0.0
        if len(active) == 1:
            gain[active] = np.where(np.isinf(best[active]), 0.0, gain[active])
        j = largest(gain)
        if gain[j] < LEAST_STEP:
            break
        alpha[j] = best[j]
    active = np.flatnonzero(np.isfinite(alpha))
    precision = A[np.ix_(active, active)] + np.diag(alpha[active])
    w: FloatArray = np.linalg.solve(precision, b[active]).astype(np.float64)
    return Relevant(active, alpha[active], w)


def factors(
    A: FloatArray, b: FloatArray, alpha: FloatArray, active: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Sparsity and quality of every column beside the other active ones: (m,) each."""
    precision = A[np.ix_(active, active)] + np.diag(alpha[active])
    L, _ = lapack.dpotrf(precision, lower=1)
    explained, _ = lapack.dtrtrs(L, A[active], lower=1)  # (n_active, m)
    half, _ = lapack.dtrtrs(L, b[active], lower=1)
    S = A.diagonal() - (explained**2).sum(axis=0)
    Q = b - half @ explained
    # an active column is taken out of the model again
    rest = np.maximum(alpha[active] - S[active], SMALLEST_SPARSITY * alpha[active])
    S[active], Q[active] = alpha[active] * S[active] / rest, alpha[active] * Q[active] / rest
    return np.maximum(S, SMALLEST_SPARSITY * A.diagonal() + np.finfo(float).tiny), Q


def best_alpha(sparsity: FloatArray, quality_squared: FloatArray) -> FloatArray:
    """``sparsity^2 / (quality^2 - sparsity)``, of which the sign is not looked at."""
    excess = np.abs(quality_squared - sparsity)
    return sparsity**2 / np.maximum(excess, np.finfo(float).tiny)


def evidence(alpha: FloatArray, sparsity: FloatArray, quality: FloatArray) -> FloatArray:
    """Log evidence that a column adds; none where alpha is infinite."""
    is_finite = np.isfinite(alpha)
    finite = np.where(is_finite, alpha, 1.0)
    total = finite + sparsity
    return np.where(is_finite, 0.5 * (np.log(finite / total) + quality**2 / total), 0.0)


def most_weights(n_classes: int) -> int:
    """Weights of a class that learning may start with."""
    return max(MAX_WEIGHTS // n_classes, MIN_WEIGHTS)


def screened_state(
    Phi: FloatArray, rows: Linearised, class_share: FloatArray, bounds: tuple[float, float]
) -> State:
    """Where a model with one component per class starts to learn.

    Parameters
    ----------
    Phi : (N, m) array
        Columns of the pool, the constant first.
    rows : Linearised
    class_share : (C,) array
        What pi is.
    bounds : (float, float)
        Least and largest alpha.
    """
    Q, C = rows.f.shape[1], len(class_share)
    max_weights = most_weights(Q)
    found = []
    for f, weight in zip(rows.f.T, rows.weight.T, strict=True):
        root = np.sqrt(GENEROUS * weight)
        half = Phi * root[:, None]
        found.append(relevant(half.T @ half, half.T @ (root * f), max_weights))
    return State(
        w=np.concatenate([each.w for each in found]),
        alpha=np.clip(np.concatenate([each.alpha for each in found]), *bounds),
        component=np.repeat(np.arange(Q), [len(each.w) for each in found]),
        column=np.concatenate([each.columns for each in found]),
        pi=class_share.copy(),
        component_class=np.arange(C),
    )


def unexplained(
    Phi: FloatArray, rows: Linearised, train: IntArray, test: IntArray, n_columns: int
) -> float:
    """Part of the logits at some rows that the best few columns at others do not explain."""
    weight = rows.weight.mean(axis=1)
    weighted = Phi[train] * weight[train, None]
    A, b = weighted.T @ Phi[train], weighted.T @ rows.f[train]
    best = ranked(A, b, n_columns, 0.0)
    chosen = A[np.ix_(best, best)]
    chosen[np.diag_indices(len(best))] += RIDGE
    coef = np.linalg.solve(chosen, b[best])
    residual = rows.f[test] - Phi[np.ix_(test, best)] @ coef
    return float((weight[test, None] * residual**2).sum())
