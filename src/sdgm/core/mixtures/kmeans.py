"""Weighted k-means."""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray, IntArray

# Lloyd's passes at most; dozens are usual, and a start need not be exact
MAX_ITERATIONS = 100


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
    for _ in range(MAX_ITERATIONS):
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
