"""Gaussian mixtures of all rows, whatever their labels: what unlabelled rows say of clusters."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from sdgm._typing import FloatArray
from sdgm.core.inference.initialization import COVARIANCE_FLOOR, kmeans
from sdgm.core.model.posterior import log_sum_exp

MAX_CLUSTERS = 8
EM_STEPS = 50
# gain of the log likelihood, per unit of weight, that ends EM
GAIN_TOLERANCE = 1e-5
# how many rows the diagonal of the mean covariance counts for in each full covariance, per input
PRIOR_ROWS_PER_INPUT = 1.0
# a full covariance must have this many rows per input
ROWS_PER_INPUT = 3
# numbers of clusters that are tried in vain before the search ends
PATIENCE = 2


class Shape(StrEnum):
    """Covariances of the clusters: one for all, or each its own."""

    TIED = "tied"
    DIAG = "diag"
    FULL = "full"


class Clusters(NamedTuple):
    """A mixture of all rows.

    Attributes
    ----------
    shape : Shape
    r : (N, M) array
        Responsibilities.
    bic : float
    """

    shape: Shape
    r: FloatArray
    bic: float


def cluster_models(X: FloatArray, s: FloatArray, n_classes: int) -> list[Clusters]:
    """Of every shape, mixtures with the lowest BIC, and with one cluster per class.

    Parameters
    ----------
    X : (N, D) array
        Distinct, standardised points.
    s : (N,) array
        Their weights.
    n_classes : int
    """
    chosen = []
    for shape in Shape:
        fits: list[Clusters] = []
        best = np.inf
        since = 0
        for M in range(2, max(MAX_CLUSTERS, n_classes) + 1):
            if not enough_rows(X, M, shape) or (since >= PATIENCE and n_classes < M):
                break
            fits.append(fitted_clusters(X, s, M, shape))
            since = 0 if fits[-1].bic < best else since + 1
            best = min(best, fits[-1].bic)
        kept = [fit for fit in fits if fit.bic == best or fit.r.shape[1] == n_classes]
        chosen += kept
    return chosen


def enough_rows(X: FloatArray, M: int, shape: Shape) -> bool:
    """Whether M covariances of this shape can be told from the points."""
    N, D = X.shape
    return M * ROWS_PER_INPUT * (D if shape is Shape.FULL else 1) <= N


def fitted_clusters(X: FloatArray, s: FloatArray, M: int, shape: Shape, seed: int = 0) -> Clusters:
    """Weighted EM from k-means."""
    r = np.eye(M)[kmeans(X, s, M, np.random.RandomState(seed))]
    previous = -np.inf
    for _ in range(EM_STEPS):
        log_joint = log_densities(X, s, r, shape)
        log_p = log_sum_exp(log_joint)
        r = np.exp(log_joint - log_p[:, None])
        log_likelihood = float(s @ log_p)
        if log_likelihood - previous < GAIN_TOLERANCE * s.sum():
            break
        previous = log_likelihood
    return Clusters(shape, r, bic(log_likelihood, X.shape[1], M, shape, s))


def bic(log_likelihood: float, D: int, M: int, shape: Shape, s: FloatArray) -> float:
    """The Bayesian information criterion of a mixture, small for good ones."""
    n_products = D * (D + 1) / 2
    n_covariances = {Shape.TIED: n_products, Shape.DIAG: M * D, Shape.FULL: M * n_products}
    n_parameters = M - 1 + M * D + n_covariances[shape]
    return float(-2.0 * log_likelihood + n_parameters * np.log(max(s.sum(), 2.0)))


def log_densities(X: FloatArray, s: FloatArray, r: FloatArray, shape: Shape) -> FloatArray:
    """``ln(share_m N(x_n | m))`` of the mixture that responsibilities lead to: (N, M)."""
    D = X.shape[1]
    sr = s[:, None] * r
    weight = sr.sum(axis=0) + np.finfo(float).tiny
    mean = (sr / weight).T @ X
    covariance = np.empty((r.shape[1], D, D))
    for m in range(len(weight)):
        offset = X - mean[m]
        covariance[m] = (offset.T * (sr[:, m] / weight[m])) @ offset
    covariance = shaped(covariance, weight, shape) + COVARIANCE_FLOOR * np.eye(D)
    log_joint = np.empty_like(r)
    for m, L in enumerate(np.linalg.cholesky(covariance)):
        whitened = solve_triangular(L, (X - mean[m]).T, lower=True, check_finite=False)
        log_det = np.log(np.diag(L)).sum() + 0.5 * D * np.log(2.0 * np.pi)
        log_joint[:, m] = np.log(weight[m] / s.sum()) - log_det - 0.5 * (whitened**2).sum(axis=0)
    return log_joint


def shaped(covariance: FloatArray, weight: FloatArray, shape: Shape) -> FloatArray:
    """Covariances of the clusters, brought into a shape: (M, D, D)."""
    D = covariance.shape[1]
    pooled = np.einsum("m,mij->ij", weight / weight.sum(), covariance)
    if shape is Shape.TIED:
        return np.repeat(pooled[None], len(weight), axis=0)
    if shape is Shape.DIAG:
        return covariance * np.eye(D)
    prior = PRIOR_ROWS_PER_INPUT * D
    w = weight[:, None, None]
    return (w * covariance + prior * pooled * np.eye(D)) / (w + prior)
