"""A fixed view of rows with many inputs: the plane in which the classes lie furthest apart."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sdgm._typing import FloatArray, IntArray

# principal components that are looked at; the rest is small, or noise
MAX_DIRECTIONS = 30
# of the covariance within classes: few rows must not separate by chance
SHRINKAGE = 0.05


def discriminant_view(Z: FloatArray, codes: IntArray) -> FloatArray:
    """Coordinates of standardised rows along two linear discriminants, centred: (N, 2).

    Two classes have one discriminant; the second axis is then the first principal component of the
    residuals. The sign of an axis is such that its largest coordinate is positive.

    Examples
    --------
    >>> Z = np.array([[-1.0, 0.1, 3.0], [-1.1, 0.0, -3.0], [1.0, 0.0, 3.0], [1.1, 0.1, -3.0]])
    >>> view = discriminant_view(Z, np.array([0, 0, 1, 1]))
    >>> np.sign(view[:, 0]) * np.sign(view[0, 0])
    array([ 1.,  1., -1., -1.])
    """
    if not np.ptp(Z, axis=0).any():
        return np.zeros((len(Z), 2))
    pca = PCA(min(MAX_DIRECTIONS, *Z.shape), svd_solver="full").fit(Z)
    scores = pca.transform(Z)[:, pca.singular_values_ > 1e-9 * pca.singular_values_[0]]
    axes = discriminants(scores, codes)
    if axes.shape[1] < 2:
        rest = scores - axes @ np.linalg.lstsq(axes, scores, rcond=None)[0]
        n_more = min(2 - axes.shape[1], scores.shape[1])
        if rest.any():  # PCA divides by their variance
            axes = np.column_stack([axes, PCA(n_more, svd_solver="full").fit_transform(rest)])
        axes = np.column_stack([axes, np.zeros((len(Z), 2))])[:, :2]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return axes * np.where(signs == 0.0, 1.0, signs)


def discriminants(scores: FloatArray, codes: IntArray) -> FloatArray:
    """At most two linear discriminants of rows; none where a class has no spread: (N, <= 2)."""
    n = min(2, len(np.unique(codes)) - 1, scores.shape[1])
    if n == 0:
        return np.empty((len(scores), 0))
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=SHRINKAGE, n_components=n)
    try:
        return lda.fit(scores, codes).transform(scores)
    except np.linalg.LinAlgError:  # all rows of a class are the same
        return np.empty((len(scores), 0))
