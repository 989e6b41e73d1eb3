"""The generative model beside the dense ones: a Gaussian mixture per class, and Bayes' rule.

Where classes are clouds of a few Gaussians, nothing is better; elsewhere its loss on rows that it
has not seen says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.initialization import COVARIANCE_FLOOR, gaussian_mixture, kmeans
from sdgm.core.posterior import component_log_posterior, log_sum_exp

MAX_COMPONENTS = 4
FOLDS = 5
# a component must have this many rows per input, or its covariance is mostly noise
ROWS_PER_INPUT = 3


class Gaussians(NamedTuple):
    """A mixture: shares (M,), means (M, D), inverse Cholesky factors of covariances (M, D, D)."""

    share: FloatArray
    mean: FloatArray
    whitening: FloatArray

    def log_density(self, X: FloatArray) -> FloatArray:
        """Up to a constant that is the same for all mixtures: (N,)."""
        terms = np.empty((len(X), len(self.share)))
        for m, (mean, W) in enumerate(zip(self.mean, self.whitening, strict=True)):
            squared = (((X - mean) @ W.T) ** 2).sum(axis=1)
            terms[:, m] = np.log(self.share[m]) + np.log(np.diag(W)).sum() - 0.5 * squared
        return log_sum_exp(terms)


def generative_posterior(
    X: FloatArray, y: IntArray, s: FloatArray, seed: int = 0
) -> tuple[FloatArray, float] | None:
    """Class posterior at the rows, and the loss on rows left out in folds; None if rows are few.

    Parameters
    ----------
    X : (N, D) array
        Standardised, sorted rows.
    y : (N,) integer array
    s : (N,) array
        Sample weights.
    seed : int
        Of the k-means starts.
    """
    n_classes = int(y.max()) + 1
    rows_of_class = np.bincount(y, minlength=n_classes)
    if rows_of_class.min() < FOLDS * ROWS_PER_INPUT * X.shape[1] / (FOLDS - 1.0):
        return None
    models = [chosen_mixture(X[y == c], s[y == c], seed) for c in range(n_classes)]
    # every fifth row of a class is left out in turn; rows are sorted, so that folds are alike
    fold = np.empty(len(y), dtype=np.intp)
    for c in range(n_classes):
        fold[y == c] = np.arange(rows_of_class[c]) % FOLDS
    loss = 0.0
    for left_out in range(FOLDS):
        out = fold == left_out
        parts = [
            fitted_mixture(X[own], s[own], len(models[c].share), seed)
            for c in range(n_classes)
            for own in [~out & (y == c)]
        ]
        log_P = bayes(parts, X[out], np.bincount(y[~out], s[~out], minlength=n_classes))
        loss -= float(s[out] @ log_P[np.arange(out.sum()), y[out]])
    return np.exp(bayes(models, X, np.bincount(y, s))), loss


def bayes(mixtures: list[Gaussians], X: FloatArray, weight: FloatArray | IntArray) -> FloatArray:
    """``ln P(c | x)`` from densities and the weights of the classes: (N, C)."""
    density = np.stack([mixture.log_density(X) for mixture in mixtures], axis=1)
    return component_log_posterior(density + np.log(weight / weight.sum()))


def chosen_mixture(X: FloatArray, s: FloatArray, seed: int) -> Gaussians:
    """The mixture with the lowest BIC."""
    N, D = X.shape
    best, lowest = None, np.inf
    for M in range(1, MAX_COMPONENTS + 1):
        if M > 1 and N < M * ROWS_PER_INPUT * D:
            break
        mixture = fitted_mixture(X, s, M, seed)
        n_parameters = M * (1 + D + D * (D + 1) / 2) - 1
        bic = -2.0 * float(s @ mixture.log_density(X)) + n_parameters * np.log(s.sum())
        if bic < lowest:
            best, lowest = mixture, bic
    assert best is not None
    return best


def fitted_mixture(X: FloatArray, s: FloatArray, M: int, seed: int) -> Gaussians:
    """Weighted EM from k-means."""
    r = np.ones((len(X), 1))
    if M > 1:
        label = kmeans(X, s, M, np.random.RandomState(seed))
        r = gaussian_mixture(X, s, np.eye(M)[label])
    sr = s[:, None] * r
    weight = sr.sum(axis=0)
    keep = weight > 1e-9 * s.sum()
    sr, weight = sr[:, keep], weight[keep]
    mean = (sr / weight).T @ X
    center = np.average(X, axis=0, weights=s)
    floor = COVARIANCE_FLOOR * max(
        float(np.average((X - center) ** 2, axis=0, weights=s).mean()), 1e-300
    )
    whitening = []
    for m in range(len(weight)):
        offset = X - mean[m]
        covariance = (offset.T * (sr[:, m] / weight[m])) @ offset + floor * np.eye(X.shape[1])
        whitening.append(np.linalg.inv(np.linalg.cholesky(covariance)))
    return Gaussians(weight / weight.sum(), mean, np.stack(whitening))
