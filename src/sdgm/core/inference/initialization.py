"""Appendix C: where learning starts. Zero weights, one alpha for all, uniform pi, r from clusters.

Every start is a function of the distinct rows, in sorted order, with their summed weights, and of
a seed that is the same for every class. So neither the order of the rows, nor repetition in place
of weights, nor the names of the classes can change it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from sdgm._typing import FloatArray, IntArray, LabelArray
from sdgm.core.model.state import State

KMEANS_ITERATIONS = 100
EM_ITERATIONS = 50
# added to the covariances of a Gaussian start, relative to the mean variance of the class: a
# cluster of few rows has a singular one
COVARIANCE_FLOOR = 1e-3


class Start(StrEnum):
    """How the first responsibilities are made."""

    KMEANS = "kmeans"
    GMM = "gmm"
    RANDOM = "random"


def initial_state(
    n_columns: int,
    n_components: IntArray,
    class_share: FloatArray,
    *,
    alpha: float = 1.0,
    pinned: bool = False,
) -> State:
    """Zero weights on every column of every component, and pi uniform within each class.

    Parameters
    ----------
    n_columns : int
        H, the columns of the design.
    n_components : (C,) integer array
        M_c of each class.
    class_share : (C,) array
        What pi sums to within each class.
    alpha : float
        Precision of every weight.
    pinned : bool
        Leave the last component of the last class without weights, as a reference.
    """
    component_class = np.repeat(np.arange(len(n_components)), n_components)
    K = len(component_class)
    n_free = K - 1 if pinned else K
    component = np.repeat(np.arange(n_free), n_columns)
    return State(
        w=np.zeros(len(component)),
        alpha=np.full(len(component), float(alpha)),
        component=component,
        column=np.tile(np.arange(n_columns), n_free),
        pi=(class_share / n_components)[component_class],
        component_class=component_class,
    )


def distinct_rows(X: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Distinct rows in sorted order, their summed weights, and where each row went.

    Returns
    -------
    rows : (n, D) array
    weights : (n,) array
    inverse : (N,) integer array
    """
    order = np.lexsort(X.T[::-1])
    sorted_X = X[order]
    new = np.ones(len(X), dtype=bool)
    new[1:] = (sorted_X[1:] != sorted_X[:-1]).any(axis=1)
    index = np.cumsum(new) - 1
    inverse = np.empty(len(X), dtype=np.intp)
    inverse[order] = index
    weights: FloatArray = np.bincount(index, s[order]).astype(np.float64)
    return sorted_X[new], weights, inverse


def initial_responsibilities(
    X: FloatArray,
    y: LabelArray,
    s: FloatArray,
    n_components: IntArray,
    start: Start,
    seed: int,
) -> FloatArray:
    """Responsibilities of the first M-step: (N, K), column-major, zero outside the own class.

    Parameters
    ----------
    X : (N, D) array
        Coordinates to cluster.
    y : (N,) integer array or (N, C) array
        Class indices, or frequencies of the classes.
    s : (N,) array
        Sample weights.
    n_components : (C,) integer array
    start : Start
        `kmeans` (Appendix C), `gmm` (posterior of Gaussian mixtures, one per class) or `random`.
        The first M-step is concave in w, so that responsibilities are all of a start that lasts:
        Gaussians collapsed into w would lead to the same weights.
    seed : int
    """
    starts = np.concatenate([[0], np.cumsum(n_components)])
    r = np.zeros((len(X), starts[-1]), order="F")
    for c, M in enumerate(n_components):
        frequency = y[:, c] if y.ndim == 2 else y == c
        own = np.flatnonzero(frequency)
        if M == 1:
            r[own, starts[c]] = frequency[own]
            continue
        points, weights, inverse = distinct_rows(X[own], s[own] * frequency[own])
        rng = np.random.RandomState(seed)  # the draws scikit-learn's KMeans would make
        if start is Start.RANDOM:
            soft = rng.dirichlet(np.ones(M), size=len(points))
        else:
            soft = np.eye(M)[kmeans(points, weights, M, rng)]
            if start is Start.GMM:
                soft = gaussian_mixture(points, weights, soft)
        r[own, starts[c] : starts[c + 1]] = frequency[own, None] * soft[inverse]
    return r


def kmeans(X: FloatArray, s: FloatArray, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    """Weighted k-means (Lloyd) from randomly chosen rows: cluster of each row.

    Rows are drawn at random as scikit-learn's ``init="random"`` draws them, not by k-means++, whose
    spread-out seeds did slightly worse on Ripley's data.
    """
    if n_clusters >= len(X):
        return np.arange(len(X))
    X = X - (s / s.sum()) @ X  # |m|^2 - 2 x'm cancels far from the origin
    centers = X[rng.choice(len(X), n_clusters, replace=False, p=s / s.sum())]
    label = np.full(len(X), -1)
    for _ in range(KMEANS_ITERATIONS):
        # |x - m|^2 up to the common |x|^2
        distance = (centers * centers).sum(axis=1) - 2.0 * (X @ centers.T)
        nearest = distance.argmin(axis=1)
        if (nearest == label).all():
            break
        label = nearest
        weight = np.bincount(label, s, minlength=n_clusters)
        sums = np.stack([np.bincount(label, s * x, minlength=n_clusters) for x in X.T], axis=1)
        used = weight > 0
        centers = np.where(used[:, None], sums / np.where(used, weight, 1.0)[:, None], centers)
    return label


def gaussian_mixture(
    X: FloatArray,
    s: FloatArray,
    r: FloatArray,
    constrained: Callable[[FloatArray], FloatArray] = lambda covariance: covariance,
) -> FloatArray:
    """Responsibilities after weighted EM for a Gaussian mixture, from given ones: (n, M).

    ``constrained`` brings each covariance to the shape it may have.
    """
    D = X.shape[1]
    centered = X - np.average(X, axis=0, weights=s)
    floor = COVARIANCE_FLOOR * max(float(np.average(centered**2, axis=0, weights=s).mean()), 1e-300)
    for _ in range(EM_ITERATIONS):
        sr = s[:, None] * r  # (n, M)
        weight = sr.sum(axis=0) + np.finfo(float).tiny
        log_density = np.empty_like(r)
        for m, mean in enumerate((sr / weight).T @ centered):
            offset = centered - mean
            covariance = constrained((offset.T * (sr[:, m] / weight[m])) @ offset)
            L = np.linalg.cholesky(covariance + floor * np.eye(D))
            whitened = np.linalg.solve(L, offset.T)
            log_density[:, m] = (
                np.log(weight[m]) - np.log(np.diag(L)).sum() - 0.5 * (whitened**2).sum(axis=0)
            )
        log_density -= log_density.max(axis=1, keepdims=True)
        new = np.exp(log_density)
        new /= new.sum(axis=1, keepdims=True)
        change = float(np.abs(new - r).max())
        r = new
        if change < 1e-3:
            break
    return r
