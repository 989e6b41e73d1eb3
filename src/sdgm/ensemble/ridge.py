"""Kernel ridge regression on class frequencies, with exact leave-one-out predictions.

With features Z of the rows, centred, ``S^1/2 Z V = Q diag(k)^1/2`` and y the weighted mean of Y::

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
from scipy.linalg import eigh, solve_triangular

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Sums
from sdgm.ensemble.rows import LabelledRows

# eigenvalues below this share of the largest are rounding
RANK_TOLERANCE = 1e-12
# smallest 1 - g, for a row that alone determines its own prediction
SMALLEST_REST = 1e-8


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Ridge regression for any ridge, without its training rows.

    Attributes
    ----------
    k : (r,) array
        Eigenvalues, positive.
    V : (p, r) array
        From centred features to the directions of the eigenvalues.
    center : (p,) array
        Weighted means of the features.
    mean : (C,) array
        Weighted mean of the targets.
    total : float
        Weight of all rows.
    QtY : (r, C) array
        ``Q' S^1/2 (Y - mean)``, over all rows.
    """

    k: FloatArray
    V: FloatArray
    center: FloatArray
    mean: FloatArray
    total: float
    QtY: FloatArray

    @property
    def scale(self) -> float:
        """The unit of ridges: the mean diagonal entry of the kernel matrix."""
        return float(self.k.sum() / self.total) or 1.0

    def coefficients(self, ridge: float) -> tuple[FloatArray, FloatArray]:
        """Weights of the features, and the constants: (p, C), (C,)."""
        coef = self.V @ (self.QtY * (np.sqrt(self.k) / (self.k + ridge))[:, None])
        return coef, self.mean - self.center @ coef

    def at(self, Z: FloatArray, rows: LabelledRows) -> Smoother:
        """Its predictions at rows with features Z."""
        Q = Z @ (self.V / np.sqrt(self.k))
        Q -= self.center @ self.V / np.sqrt(self.k)
        Q *= np.sqrt(rows.s)[:, None]
        return Smoother(rows, Q, self)


@dataclass(frozen=True, eq=False)
class Smoother:
    """Ridge regression for any ridge, at some of its training rows.

    Attributes
    ----------
    rows : LabelledRows
    Q : (N, r) array
        Orthonormal if the rows are all.
    spectrum : Spectrum
    """

    rows: LabelledRows
    Q: FloatArray
    spectrum: Spectrum

    def fitted(self, ridges: FloatArray) -> FloatArray:
        """F at the rows, for several ridges: (N, n_ridges, C)."""
        k, QtY = self.spectrum.k, self.spectrum.QtY
        shrunk = (k[:, None] / (k[:, None] + ridges))[:, :, None] * QtY[:, None]
        F = self.Q @ shrunk.reshape(len(k), -1)
        F /= np.sqrt(self.rows.s)[:, None]
        return F.reshape(len(self.Q), len(ridges), -1) + self.spectrum.mean

    def leverages(self, ridges: FloatArray) -> FloatArray:
        """Leverages h at the rows, for several ridges: (N, n_ridges)."""
        k = self.spectrum.k[:, None]
        h = np.square(self.Q) @ (k / (k + ridges))
        return h + (self.rows.s / self.spectrum.total)[:, None]


def smoother_of_kernel(K: FloatArray, rows: LabelledRows) -> Smoother:
    """From the kernel matrix of the rows, which is overwritten: (N, N)."""
    root_s, total = np.sqrt(rows.s), float(rows.s.sum())
    share = rows.s / total
    center = K @ share
    K -= center
    K -= (center - share @ center)[:, None]
    K *= root_s
    K *= root_s[:, None]
    k, Q = eigenpairs(K)
    mean = share @ rows.Y
    QtY = Q.T @ (root_s[:, None] * (rows.Y - mean))
    V = Q * root_s[:, None] / np.sqrt(k)
    return Smoother(rows, Q, Spectrum(k, V, center, mean, total, QtY))


def smoother_of_features(
    Z: FloatArray, rows: LabelledRows, whitener: FloatArray | None = None
) -> Smoother:
    """From features, fewer than rows: (N, p).

    Parameters
    ----------
    Z : (N, p) array
    rows : LabelledRows
    whitener : (p, p) array, optional
        Lower triangular L: the kernel matrix is ``Z (L L')^-1 Z'`` instead of ``Z Z'``.
    """
    return feature_sums(Z, rows.s, rows.Y).spectrum(whitener).at(Z, rows)


@dataclass(slots=True)
class FeatureSums(Sums):
    """What ridge regression needs of all rows.

    Attributes
    ----------
    ZSZ : (p, p) array
    SZ : (p,) array
    ZSY : (p, C) array
    SY : (C,) array
    """

    ZSZ: FloatArray
    SZ: FloatArray
    ZSY: FloatArray
    SY: FloatArray

    def spectrum(self, whitener: FloatArray | None = None) -> Spectrum:
        """The spectrum of the rows that were summed; the sums are overwritten."""
        total = float(self.SY.sum())
        center, mean = self.SZ / total, self.SY / total
        G, ZSY = self.ZSZ, self.ZSY
        G -= np.outer(self.SZ, center)
        ZSY -= np.outer(self.SZ, mean)
        if whitener is None:
            k, V = eigenpairs(G)
        else:
            half = solve_triangular(whitener, G, lower=True, check_finite=False)
            G = solve_triangular(whitener, half.T, lower=True, check_finite=False)
            k, V = eigenpairs(G)
            V = solve_triangular(whitener, V, lower=True, trans="T", check_finite=False)
        QtY = (V / np.sqrt(k)).T @ ZSY
        return Spectrum(k, V, center, mean, total, QtY)


def feature_sums(Z: FloatArray, s: FloatArray, Y: FloatArray) -> FeatureSums:
    """Of rows with features Z, weights s and frequencies of classes Y."""
    half = Z if (s == 1.0).all() else Z * np.sqrt(s)[:, None]  # the largest matrix of a fit
    sY = s[:, None] * Y
    return FeatureSums(half.T @ half, s @ Z, Z.T @ sY, sY.sum(axis=0))


def eigenpairs(G: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues above rounding and eigenvectors of a matrix, which is overwritten."""
    k, V = eigh(G, driver="evd", overwrite_a=True, check_finite=False)
    first = int(np.searchsorted(k, RANK_TOLERANCE * max(float(k[-1]), np.finfo(float).tiny)))
    return k[first:], V[:, first:]


def own_influence(h: FloatArray, rows: LabelledRows) -> FloatArray:
    """What a case contributes to its own prediction, g, with a bound below one: (U,)."""
    cases = rows.cases
    g = h[cases.row] * (cases.mass / rows.s[cases.row])
    return np.minimum(g, 1.0 - SMALLEST_REST)


def left_out(F: FloatArray, h: FloatArray, rows: LabelledRows) -> FloatArray:
    """Leave-one-out prediction of every case: (U, C)."""
    cases = rows.cases
    g = own_influence(h, rows)
    without = F[cases.row]
    without[np.arange(len(cases)), cases.label] -= g
    without /= (1.0 - g)[:, None]
    return without


def squared_error(F: FloatArray, h: FloatArray, rows: LabelledRows) -> float:
    """Mean squared error of the leave-one-out predictions."""
    cases = rows.cases
    error = F[cases.row]
    error[np.arange(len(cases)), cases.label] -= 1.0
    squared = np.einsum("uc,uc->u", error, error)
    squared /= np.square(1.0 - own_influence(h, rows))
    return float(cases.weight @ squared / cases.weight.sum())
