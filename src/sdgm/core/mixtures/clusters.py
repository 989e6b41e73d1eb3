"""Clusters of all rows, labelled or not: Gaussian mixtures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.mixtures.gaussian_mixture import (
    COVARIANCE_FLOOR,
    ROWS_PER_INPUT,
    Covariances,
    Expectation,
    bic,
    em,
    pooled,
    shaped,
)
from sdgm.core.mixtures.kmeans import kmeans
from sdgm.core.model.features import CovarianceType

# clusters that are tried at most, or as many as there are classes; the search ends before where
# PATIENCE is at an end, and this bounds the time and the memory of the others
MAX_CLUSTERS = 8
# gain of the log likelihood, per unit of weight, that ends EM
LIKELIHOOD_TOLERANCE = 1e-5
# how many rows the diagonal of the mean covariance counts for in each full covariance, per input
PRIOR_ROWS_PER_INPUT = 1.0
# numbers of clusters that are tried in vain before the search ends
PATIENCE = 2


SHAPES = (CovarianceType.TIED, CovarianceType.DIAG, CovarianceType.FULL)


class Clusters(NamedTuple):
    """A mixture of all rows, with responsibilities r (N, M)."""

    shape: CovarianceType
    r: FloatArray
    bic: float


def cluster_models(X: FloatArray, s: FloatArray, n_classes: int) -> list[Clusters]:
    """Of every shape, mixtures with the lowest BIC, and with one cluster per class.

    X (N, D) are distinct, standardised points, s (N,) their weights.
    """
    chosen = []
    for shape in SHAPES:
        fits: list[Clusters] = []
        best = np.inf
        since = 0
        for M in range(2, max(MAX_CLUSTERS, n_classes) + 1):
            if not enough_rows(X, M, shape) or (since >= PATIENCE and n_classes < M):
                break
            fits.append(fitted_clusters(X, s, M, shape))
            since = 0 if fits[-1].bic < best else since + 1
            best = min(best, fits[-1].bic)
        chosen += [fit for fit in fits if fit.bic == best or fit.r.shape[1] == n_classes]
    return chosen


def enough_rows(X: FloatArray, M: int, shape: CovarianceType) -> bool:
    """Whether there are points enough for M covariances of this shape."""
    N, D = X.shape
    return M * ROWS_PER_INPUT * (D if shape is CovarianceType.FULL else 1) <= N


def fitted_clusters(
    X: FloatArray, s: FloatArray, M: int, shape: CovarianceType, seed: int = 0
) -> Clusters:
    """EM from k-means."""
    r = np.eye(M)[kmeans(X, s, M, np.random.RandomState(seed))]
    end = em(X, s, r, shrunk(shape), likelihood_is_settled)
    total = s.sum()
    return Clusters(shape, end.r, bic(total * end.log_likelihood, X.shape[1], M, shape, total))


def likelihood_is_settled(before: Expectation, after: Expectation) -> bool:
    """Whether the likelihood has hardly grown."""
    return after.log_likelihood - before.log_likelihood < LIKELIHOOD_TOLERANCE


def shrunk(shape: CovarianceType) -> Covariances:
    """Covariances of a shape, full ones shrunk towards the diagonal of their mean."""

    def regular(covariance: FloatArray, weight: FloatArray) -> FloatArray:
        D = covariance.shape[1]
        if shape is CovarianceType.FULL:
            prior, w = PRIOR_ROWS_PER_INPUT * D, weight[:, None, None]
            diagonal = pooled(covariance, weight) * np.eye(D)
            covariance = (w * covariance + prior * diagonal) / (w + prior)
        return shaped(covariance, weight, shape) + COVARIANCE_FLOOR * np.eye(D)

    return regular
