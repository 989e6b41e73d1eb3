"""Kernel ridge regression on frequencies of classes: every ridge, and every row left out, at once.

With features Z of the rows, centred, ``S^1/2 Z = Q diag(k)^1/2 V'`` and y the weighted mean of Y::

    F(ridge) = y + S^-1/2 Q diag(k / (k + ridge)) Q' S^1/2 (Y - y)
    h(ridge) = s / sum(s) + diag(Q diag(k / (k + ridge)) Q')

One eigendecomposition serves all classes and all ridges: of ``Z' S Z`` where features are fewer
than rows, else of the kernel matrix ``S^1/2 Z Z' S^1/2``. The constant is not penalised. Without a
mass m of class c at row n, the prediction there is exactly::

    (F_n - g e_c) / (1 - g),    g = h_n m / s_n
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from sdgm._typing import FloatArray
from sdgm.ensemble.rows import LabelledRows

# eigenvalues below this share of the largest are rounding
RANK_TOLERANCE = 1e-12
# 1 - g of a row that alone decides its own prediction, where nothing is known without it
SMALLEST_REST = 1e-8


@dataclass(frozen=True, eq=False)
class Smoother:
    """Ridge regression with any ridge, and its predictions at some rows.

    Attributes
    ----------
    rows : LabelledRows
        The rows to predict, usually all.
    Q : (N, r) array
        ``S^1/2 Z V diag(k)^-1/2`` with centred features; orthonormal if the rows are all.
    k : (r,) array
        Positive.
    V : (p, r) array or None
        None for a kernel matrix, whose features are its own columns.
    center : (p,) array
        Weighted means of the features.
    mean : (C,) array
        Weighted mean of the targets.
    total : float
        Weight of all rows.
    QtY : (r, C) array
        ``Q' S^1/2 (Y - mean)``, over all rows.
    """

    rows: LabelledRows
    Q: FloatArray
    k: FloatArray
    V: FloatArray | None
    center: FloatArray
    mean: FloatArray
    total: float
    QtY: FloatArray

    @property
    def scale(self) -> float:
        """A unit of ridges: what an average row has of the trace of the kernel matrix."""
        return float(self.k.sum() / self.total) or 1.0

    def fitted(self, ridge: float) -> FloatArray:
        """F at the rows: (N, C)."""
        shrink = self.k / (self.k + ridge)
        root_s = np.sqrt(self.rows.s)[:, None]
        return self.mean + (self.Q @ (shrink[:, None] * self.QtY)) / root_s

    def leverages(self, ridges: FloatArray) -> FloatArray:
        """Leverages h at the rows, for several ridges: (N, n_ridges)."""
        shrink = self.k[:, None] / (self.k[:, None] + ridges)
        return (self.rows.s / self.total)[:, None] + np.square(self.Q) @ shrink

    def coefficients(self, ridge: float) -> tuple[FloatArray, FloatArray]:
        """Weights of the features, and the constants: (p, C), (C,)."""
        shrunk = self.QtY / (self.k + ridge)[:, None]
        if self.V is None:
            coef = np.sqrt(self.rows.s)[:, None] * (self.Q @ shrunk)
        else:
            coef = self.V @ (np.sqrt(self.k)[:, None] * shrunk)
        return coef, self.mean - self.center @ coef


def smoother_of_kernel(K: FloatArray, rows: LabelledRows) -> Smoother:
    """From the kernel matrix of the rows, which is overwritten: (N, N)."""
    root_s, total = np.sqrt(rows.s), float(rows.s.sum())
    share = rows.s / total
    center = K @ share
    K -= center
    K -= (center - share @ center)[:, None]
    K *= root_s
    K *= root_s[:, None]
    k, Q = eigh(K, driver="evd", overwrite_a=True, check_finite=False)
    kept = k > RANK_TOLERANCE * max(float(k[-1]), np.finfo(float).tiny)
    if not kept.all():
        k, Q = k[kept], Q[:, kept]
    mean = share @ rows.Y
    QtY = Q.T @ (root_s[:, None] * (rows.Y - mean))
    return Smoother(rows, Q, k, None, center, mean, total, QtY)


def smoother_of_features(Z: FloatArray, rows: LabelledRows) -> Smoother:
    """From features, fewer than rows, which are overwritten: (N, p)."""
    root_s, total = np.sqrt(rows.s), float(rows.s.sum())
    share = rows.s / total
    center = share @ Z
    Z -= center
    Z *= root_s[:, None]
    k, V = spectrum(Z.T @ Z)
    mean = share @ rows.Y
    Q = Z @ (V / np.sqrt(k))
    QtY = Q.T @ (root_s[:, None] * (rows.Y - mean))
    return Smoother(rows, Q, k, V, center, mean, total, QtY)


def spectrum(G: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues above rounding and eigenvectors of a Gram matrix, which is overwritten."""
    if not len(G):
        return np.empty(0), np.empty((0, 0))
    k, V = eigh(G, driver="evd", overwrite_a=True, check_finite=False)
    kept = k > RANK_TOLERANCE * max(float(k[-1]), np.finfo(float).tiny)
    return k[kept], V[:, kept]


def own_influence(h: FloatArray, rows: LabelledRows) -> FloatArray:
    """What a case contributes to its own prediction, g, with a bound below one: (U,)."""
    cases = rows.cases
    g = h[cases.row] * (cases.mass / rows.s[cases.row])
    return np.minimum(g, 1.0 - SMALLEST_REST)


def left_out(F: FloatArray, h: FloatArray, rows: LabelledRows) -> FloatArray:
    """Prediction of every case without it: (U, C)."""
    cases = rows.cases
    g = own_influence(h, rows)
    without = F[cases.row]
    without[np.arange(len(cases)), cases.label] -= g
    without /= (1.0 - g)[:, None]
    return without


def squared_error(F: FloatArray, h: FloatArray, rows: LabelledRows) -> float:
    """Mean squared error of the predictions of cases without them."""
    cases = rows.cases
    error = F[cases.row]
    error[np.arange(len(cases)), cases.label] -= 1.0
    squared = np.einsum("uc,uc->u", error, error)
    squared /= np.square(1.0 - own_influence(h, rows))
    return float(cases.weight @ squared / cases.weight.sum())
