"""Generative models beside the dense ones: Gaussians per class, and Bayes' rule.

Where classes are clouds of a few Gaussians, nothing is better; elsewhere their loss on rows that
they have not seen says so. From stiff to flexible: one covariance shared by all classes, mixtures
of spheres, of Gaussians without correlations, and of any Gaussians.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import COVARIANCE_FLOOR, gaussian_mixture, kmeans
from sdgm.core.model.posterior import component_log_posterior, log_sum_exp

MAX_COMPONENTS = 4
FOLDS = 5
# a component must have this many rows, or per input if it has all correlations, or its covariance
# is mostly noise
ROWS_PER_COMPONENT = 10
ROWS_PER_INPUT = 3


class Shape(StrEnum):
    """What covariances may look like."""

    TIED = "tied"
    SPHERICAL = "spherical"
    DIAGONAL = "diagonal"
    FULL = "full"

    def constrained(self, covariance: FloatArray) -> FloatArray:
        """The nearest covariance of this shape."""
        if self is Shape.SPHERICAL:
            return np.eye(len(covariance)) * covariance.diagonal().mean()
        if self is Shape.DIAGONAL:
            return np.diag(covariance.diagonal())
        return covariance

    def n_parameters(self, D: int) -> int:
        """Free numbers of one covariance."""
        return {Shape.SPHERICAL: 1, Shape.DIAGONAL: D}.get(self, D * (D + 1) // 2)

    def enough_rows(self, D: int) -> int:
        """Rows that a component needs."""
        return ROWS_PER_INPUT * D if self is Shape.FULL else ROWS_PER_COMPONENT


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


class Generative(NamedTuple):
    """A generative model of the rows.

    Attributes
    ----------
    shape : Shape
    P_c : (N, C) array
        Its class posterior at the rows.
    log_left_out : (N,) array
        ``ln P(c_n | x_n)`` by the model without the fifth of the rows that row n is in.
    """

    shape: Shape
    P_c: FloatArray
    log_left_out: FloatArray


def generative_models(X: FloatArray, y: IntArray, s: FloatArray, seed: int = 0) -> list[Generative]:
    """Models of all shapes for which there are rows enough."""
    found = [generative_model(X, y, s, shape, seed) for shape in Shape]
    return [model for model in found if model is not None]


def generative_model(
    X: FloatArray, y: IntArray, s: FloatArray, shape: Shape = Shape.FULL, seed: int = 0
) -> Generative | None:
    """A model of one shape; None if some class has too few rows.

    Parameters
    ----------
    X : (N, D) array
        Standardised, sorted rows.
    y : (N,) integer array
    s : (N,) array
        Sample weights.
    shape : Shape
    seed : int
        Of the k-means starts.
    """
    n_classes = int(y.max()) + 1
    rows_of_class = np.bincount(y, minlength=n_classes)
    if rows_of_class.min() < FOLDS * shape.enough_rows(X.shape[1]) / (FOLDS - 1.0):
        return None
    models = class_mixtures(X, y, s, shape, None, seed)
    n_components = [len(mixture.share) for mixture in models]
    # every fifth row of a class is left out in turn; rows are sorted, so that folds are alike
    fold = np.empty(len(y), dtype=np.intp)
    for c in range(n_classes):
        fold[y == c] = np.arange(rows_of_class[c]) % FOLDS
    log_left_out = np.empty(len(y))
    for left_out in range(FOLDS):
        out = fold == left_out
        parts = class_mixtures(X[~out], y[~out], s[~out], shape, n_components, seed)
        log_P = bayes(parts, X[out], np.bincount(y[~out], s[~out], minlength=n_classes))
        log_left_out[out] = log_P[np.arange(out.sum()), y[out]]
    return Generative(shape, np.exp(bayes(models, X, np.bincount(y, s))), log_left_out)


def bayes(mixtures: list[Gaussians], X: FloatArray, weight: FloatArray | IntArray) -> FloatArray:
    """``ln P(c | x)`` from densities and the weights of the classes: (N, C)."""
    density = np.stack([mixture.log_density(X) for mixture in mixtures], axis=1)
    return component_log_posterior(density + np.log(weight / weight.sum()))


def class_mixtures(
    X: FloatArray,
    y: IntArray,
    s: FloatArray,
    shape: Shape,
    n_components: list[int] | None,
    seed: int,
) -> list[Gaussians]:
    """One mixture per class, with so many components, or as many as BIC says."""
    if shape is Shape.TIED:
        return tied_gaussians(X, y, s)
    if n_components is None:
        return [chosen_mixture(X[y == c], s[y == c], seed, shape) for c in range(int(y.max()) + 1)]
    return [
        fitted_mixture(X[y == c], s[y == c], M, seed, shape) for c, M in enumerate(n_components)
    ]


def tied_gaussians(X: FloatArray, y: IntArray, s: FloatArray) -> list[Gaussians]:
    """One Gaussian per class, with the shrunk covariance of the rows around their class means."""
    classes = range(int(y.max()) + 1)
    means = np.stack([np.average(X[y == c], axis=0, weights=s[y == c]) for c in classes])
    covariance = shrunk_covariance(X - means[y], s)
    W = np.linalg.inv(np.linalg.cholesky(covariance))
    return [Gaussians(np.ones(1), mean[None], W[None]) for mean in means]


def shrunk_covariance(centered: FloatArray, s: FloatArray) -> FloatArray:
    """Ledoit & Wolf's weighted mean of the covariance of centred rows and a sphere: (D, D)."""
    D, total = centered.shape[1], s.sum()
    S = (centered.T * (s / total)) @ centered
    mean_variance = max(float(S.trace()) / D, 1e-300)
    distance = float(((S - mean_variance * np.eye(D)) ** 2).sum())
    squared_norm = (centered * centered).sum(axis=1)
    noise = max(float(s @ squared_norm**2 / total - (S * S).sum()), 0.0) / total
    share = min(noise / distance, 1.0) if distance > 0.0 else 1.0
    share = max(share, COVARIANCE_FLOOR)
    return (1.0 - share) * S + share * mean_variance * np.eye(D)


def chosen_mixture(X: FloatArray, s: FloatArray, seed: int, shape: Shape = Shape.FULL) -> Gaussians:
    """The mixture with the lowest BIC."""
    N, D = X.shape
    best, lowest = None, np.inf
    for M in range(1, MAX_COMPONENTS + 1):
        if M > 1 and M * shape.enough_rows(D) > N:
            break
        mixture = fitted_mixture(X, s, M, seed, shape)
        n_parameters = M * (1 + D + shape.n_parameters(D)) - 1
        bic = -2.0 * float(s @ mixture.log_density(X)) + n_parameters * np.log(s.sum())
        if bic < lowest:
            best, lowest = mixture, bic
    assert best is not None
    return best


def fitted_mixture(
    X: FloatArray, s: FloatArray, M: int, seed: int, shape: Shape = Shape.FULL
) -> Gaussians:
    """Weighted EM from k-means."""
    r = np.ones((len(X), 1))
    if M > 1:
        label = kmeans(X, s, M, np.random.RandomState(seed))
        r = gaussian_mixture(X, s, np.eye(M)[label], shape.constrained)
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
        covariance = shape.constrained((offset.T * (sr[:, m] / weight[m])) @ offset)
        covariance = covariance + floor * np.eye(X.shape[1])
        whitening.append(np.linalg.inv(np.linalg.cholesky(covariance)))
    return Gaussians(weight / weight.sum(), mean, np.stack(whitening))
