"""Gaussian mixtures by weighted EM: of starts, densities and clusters alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.mixtures.kmeans import kmeans
from sdgm.core.model.features import CovarianceType
from sdgm.core.model.posterior import component_log_posterior, log_sum_exp

# passes of EM at most, for fits that creep: a mixture that has not settled is as valid a
# candidate as any, and is judged by its likelihood
EM_STEPS = 50
# change of a responsibility that ends EM
R_TOLERANCE = 1e-3
# added to covariances, relative to the mean variance: with few rows they are singular
COVARIANCE_FLOOR = 1e-3
# share of the weight below which a component is dropped: its covariance is noise
SMALLEST_SHARE = 1e-9
# components of a class that BIC chooses from: ten in all are fitted
MAX_COMPONENTS = 4
# rows per input that a component needs: D rows are the least that a covariance of full rank takes,
# and with hardly more its smallest eigenvalues are noise
ROWS_PER_INPUT = 3

# from the rows' covariances (M, D, D) and the components' weights (M,) to the model's covariances
Covariances = Callable[[FloatArray, FloatArray], FloatArray]


class Gaussians(NamedTuple):
    """A mixture: shares (M,), means (M, D), inverse Cholesky factors of covariances (M, D, D)."""

    share: FloatArray
    mean: FloatArray
    whitening: FloatArray

    def log_joint(self, X: FloatArray) -> FloatArray:
        """``ln(share_m N(x_n | m))``: (N, M)."""
        N, D = X.shape
        result = np.empty((N, len(self.share)))
        for m, (mean, W) in enumerate(zip(self.mean, self.whitening, strict=True)):
            log_scale = np.log(self.share[m]) + np.log(np.diag(W)).sum()
            result[:, m] = log_scale - 0.5 * (((X - mean) @ W.T) ** 2).sum(axis=1)
        return result - 0.5 * D * np.log(2.0 * np.pi)

    def log_density(self, X: FloatArray) -> FloatArray:
        """``ln p(x_n)``: (N,)."""
        return log_sum_exp(self.log_joint(X))


class Expectation(NamedTuple):
    """An E-step: ``ln p(x, m)`` (N, M), responsibilities (N, M), mean log likelihood."""

    log_joint: FloatArray
    r: FloatArray
    log_likelihood: float


def expectation(log_joint: FloatArray, s: FloatArray) -> Expectation:
    """The E-step of rows that may belong to any component."""
    log_likelihood = float(s @ log_sum_exp(log_joint) / s.sum())
    return Expectation(log_joint, np.exp(component_log_posterior(log_joint)), log_likelihood)


def maximization(X: FloatArray, s: FloatArray, r: FloatArray, regular: Covariances) -> Gaussians:
    """The M-step: the mixture that responsibilities (N, M) lead to."""
    sr = s[:, None] * r
    weight = sr.sum(axis=0) + np.finfo(float).tiny
    mean = (sr / weight).T @ X
    covariance = np.empty((len(weight), X.shape[1], X.shape[1]))
    for m in range(len(weight)):
        offset = X - mean[m]
        covariance[m] = (offset.T * (sr[:, m] / weight[m])) @ offset
    factors = np.linalg.cholesky(regular(covariance, weight))
    whitening = np.stack([lapack.dtrtri(L, lower=1)[0] for L in factors])
    return Gaussians(weight / weight.sum(), mean, whitening)


def r_is_settled(before: Expectation, after: Expectation) -> bool:
    """Whether no responsibility has changed much."""
    return float(np.abs(after.r - before.r).max()) < R_TOLERANCE


def em(
    X: FloatArray,
    s: FloatArray,
    r: FloatArray,
    regular: Covariances,
    is_settled: Callable[[Expectation, Expectation], bool] = r_is_settled,
    expect: Callable[[FloatArray, FloatArray], Expectation] = expectation,
) -> Expectation:
    """Weighted EM from responsibilities: its last E-step.

    Parameters
    ----------
    X : (N, D) array
    s : (N,) array
        Sample weights.
    r : (N, M) array
    regular : callable
        The covariances that the components may have.
    is_settled : callable
        Whether EM may end, from the E-step before and the one now.
    expect : callable
        The E-step, from ``ln p(x, m)`` and s.
    """
    now = Expectation(np.empty_like(r), r, -np.inf)
    for _ in range(EM_STEPS):
        before = now
        now = expect(maximization(X, s, before.r, regular).log_joint(X), s)
        if is_settled(before, now):
            break
    return now


def shaped(covariance: FloatArray, weight: FloatArray, shape: CovarianceType) -> FloatArray:
    """The nearest covariances of a shape: (M, D, D)."""
    if shape is CovarianceType.TIED:
        return np.repeat(pooled(covariance, weight)[None], len(weight), axis=0)
    if shape is CovarianceType.DIAG:
        return covariance * np.eye(covariance.shape[1])
    return covariance


def pooled(covariance: FloatArray, weight: FloatArray) -> FloatArray:
    """The weighted mean of covariances: (D, D)."""
    return np.einsum("m,mij->ij", weight / weight.sum(), covariance)


def with_floor(X: FloatArray, s: FloatArray) -> Covariances:
    """Any covariances, with a share of the mean variance of the rows on their diagonals."""
    offset = X - np.average(X, axis=0, weights=s)
    variance = max(float(np.average(offset**2, axis=0, weights=s).mean()), 1e-300)
    floor = COVARIANCE_FLOOR * variance * np.eye(X.shape[1])
    return lambda covariance, weight: covariance + floor


def fitted_mixture(X: FloatArray, s: FloatArray, M: int, seed: int) -> Gaussians:
    """The mixture that EM finds from k-means."""
    regular = with_floor(X, s)
    r = np.ones((len(X), 1))
    if M > 1:
        r = em(X, s, np.eye(M)[kmeans(X, s, M, np.random.RandomState(seed))], regular).r
    return maximization(X, s, r[:, s @ r > SMALLEST_SHARE * s.sum()], regular)


def chosen_mixture(X: FloatArray, s: FloatArray, seed: int) -> Gaussians:
    """The mixture with the lowest BIC."""
    N, D = X.shape
    most = max(min(MAX_COMPONENTS, N // (ROWS_PER_INPUT * D)), 1)
    candidates = ((M, fitted_mixture(X, s, M, seed)) for M in range(1, most + 1))

    def criterion(candidate: tuple[int, Gaussians]) -> float:
        M, mixture = candidate
        return bic(float(s @ mixture.log_density(X)), D, M, CovarianceType.FULL, s.sum())

    return min(candidates, key=criterion)[1]


def bic(log_likelihood: float, D: int, M: int, shape: CovarianceType, weight: float) -> float:
    """The Bayesian information criterion of M Gaussians, small for good ones."""
    one = D if shape is CovarianceType.DIAG else D * (D + 1) // 2
    n_parameters = M - 1 + M * D + (one if shape is CovarianceType.TIED else M * one)
    return -2.0 * log_likelihood + n_parameters * float(np.log(max(weight, 2.0)))
