"""A fixed view of rows with many inputs: the plane in which the classes lie furthest apart."""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray, IntArray

# principal components that are looked at; the rest is small, or noise
MAX_DIRECTIONS = 30
# of the variance within classes, added to every direction: few rows must not separate by chance
RIDGE = 0.05


def discriminant_view(Z: FloatArray, codes: IntArray) -> FloatArray:
    """Coordinates of standardised rows along two linear discriminants.

    With two classes there is one discriminant; the other axis is then the direction of the largest
    variance of what it leaves.

    Parameters
    ----------
    Z : (N, D) array
    codes : (N,) integer array
        Class indices.

    Returns
    -------
    view : (N, 2) array
        Centred; the sign of an axis is such that its largest coordinate is positive.

    Examples
    --------
    >>> Z = np.array([[-1.0, 0.1, 3.0], [-1.1, 0.0, -3.0], [1.0, 0.0, 3.0], [1.1, 0.1, -3.0]])
    >>> view = discriminant_view(Z, np.array([0, 0, 1, 1]))
    >>> np.sign(view[:, 0]) * np.sign(view[0, 0])
    array([ 1.,  1., -1., -1.])
    """
    centered = Z - Z.mean(axis=0)
    U, s, _ = np.linalg.svd(centered, full_matrices=False)
    scores = (U * s)[:, :MAX_DIRECTIONS]
    scores = scores[:, s[:MAX_DIRECTIONS] > 1e-9 * max(s.max(initial=0.0), 1e-300)]
    n, d = scores.shape
    if d == 0:
        return np.zeros((n, 2))
    present, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    means = np.array([scores[codes == c].mean(axis=0) for c in present])  # (C, d)
    within = scores - means[inverse]
    S = within.T @ within / n
    S[np.diag_indices(d)] += RIDGE * np.trace(S) / d + 1e-9 * np.trace(scores.T @ scores) / (n * d)
    L_inverse = np.linalg.inv(np.linalg.cholesky(S))
    between = np.sqrt(counts / n)[:, None] * (means @ L_inverse.T)
    directions = np.linalg.svd(between, full_matrices=False)[2] @ L_inverse  # (<= C, d)
    axes = scores @ directions[: min(2, len(present) - 1)].T
    while axes.shape[1] < 2:
        left = scores - axes @ np.linalg.lstsq(axes, scores, rcond=None)[0]
        U, s, _ = np.linalg.svd(left, full_matrices=False)
        axes = np.column_stack([axes, U[:, 0] * s[0]])
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return axes * np.where(signs == 0.0, 1.0, signs)
