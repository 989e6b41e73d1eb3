"""Generative models beside the dense ones: Gaussians per class, and Bayes' rule.

Where classes are clouds of a few Gaussians, nothing is better; elsewhere their loss on unseen rows
says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.mixtures.gaussian_mixture import (
    COVARIANCE_FLOOR,
    Gaussians,
    chosen_mixture,
    fitted_mixture,
    rows_needed,
)
from sdgm.core.model.features import CovarianceType
from sdgm.core.model.posterior import component_log_posterior

# of cross-validation: four fifths of the rows are nearly as good to learn from as all
FOLDS = 5
# one covariance shared by all classes, spheres, no correlations, any: from stiff to flexible
SHAPES = (
    CovarianceType.TIED,
    CovarianceType.SPHERICAL,
    CovarianceType.DIAG,
    CovarianceType.FULL,
)


class Generative(NamedTuple):
    """A generative model of the rows."""

    shape: CovarianceType
    mixtures: list[Gaussians]  # one per class
    P_c: FloatArray  # class posterior at the rows: (N, C)
    log_left_out: FloatArray  # ln P(c_n | x_n) by the model without the fifth with row n: (N,)


def generative_models(X: FloatArray, y: IntArray, s: FloatArray, seed: int = 0) -> list[Generative]:
    """Models of all shapes for which there are rows enough."""
    found = [generative_model(X, y, s, shape, seed) for shape in SHAPES]
    return [model for model in found if model is not None]


def generative_model(
    X: FloatArray,
    y: IntArray,
    s: FloatArray,
    shape: CovarianceType = CovarianceType.FULL,
    seed: int = 0,
) -> Generative | None:
    """A model of one shape; None if some class has too few rows.

    Parameters
    ----------
    X : (N, D) array
        Standardised, sorted rows.
    y : (N,) integer array
    s : (N,) array
        Sample weights.
    shape : CovarianceType
    seed : int
        Of the k-means starts.
    """
    n_classes = int(y.max()) + 1
    rows_of_class = np.bincount(y, minlength=n_classes)
    if rows_of_class.min() < FOLDS * rows_needed(X.shape[1], shape) / (FOLDS - 1.0):
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
    return Generative(shape, models, np.exp(bayes(models, X, np.bincount(y, s))), log_left_out)


def bayes(mixtures: list[Gaussians], X: FloatArray, weight: FloatArray | IntArray) -> FloatArray:
    """``ln P(c | x)`` from densities and the weights of the classes: (N, C)."""
    density = np.stack([mixture.log_density(X) for mixture in mixtures], axis=1)
    return component_log_posterior(density + np.log(weight / weight.sum()))


def class_mixtures(
    X: FloatArray,
    y: IntArray,
    s: FloatArray,
    shape: CovarianceType,
    n_components: list[int] | None,
    seed: int,
) -> list[Gaussians]:
    """One mixture per class, with these numbers of components, or chosen by BIC."""
    if shape is CovarianceType.TIED:
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
