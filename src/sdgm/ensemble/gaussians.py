"""Linear and quadratic discriminant analysis with exact leave-one-out predictions.

The covariance of a class, or of all, is ``M = (1 - r) W / n + r I`` with W the scatter around the
class means. Without a mass m at x, the mean of its class moves and W loses a product of one vector,
so that distances and determinants follow by the Sherman-Morrison formula. Every class has a
fraction of a row at the origin besides its own, so that a class of one row can be left out too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from sdgm._typing import FloatArray
from sdgm.ensemble.rows import LabelledRows

# number of rows at the origin that are added to each class
ORIGIN_ROWS = 0.5


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """Log densities of the classes up to a constant, times their frequencies.

    Attributes
    ----------
    means : (C, D) array
    rotations : (1 or C, D, D) array
        Eigenvectors of the scatter, shared or of each class.
    variances : (1 or C, D) array
        Shrunken, along the eigenvectors.
    offset : (C,) array
    """

    means: FloatArray
    rotations: FloatArray
    variances: FloatArray
    offset: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Log densities: (n, C)."""
        F = np.empty((len(Z), len(self.means)))
        for c, mean in enumerate(self.means):
            own = min(c, len(self.rotations) - 1)
            z = (Z - mean) @ self.rotations[own]
            F[:, c] = self.offset[c] - 0.5 * np.square(z) @ (1.0 / self.variances[own])
        return F


class Moments:
    """Masses, means and scatters of the classes, for any shrinkage."""

    def __init__(
        self, Z: FloatArray, rows: LabelledRows, *, shared: bool, sphere: float | None = None
    ) -> None:
        weight = rows.s[:, None] * rows.Y  # (N, C)
        self.rows, self.Z, self.shared = rows, Z, shared
        self.mass = weight.sum(axis=0) + ORIGIN_ROWS
        self.means = weight.T @ Z / self.mass[:, None]
        scatters = [
            (Z * w[:, None]).T @ Z - n * np.outer(mean, mean)
            for w, n, mean in zip(weight.T, self.mass, self.means, strict=True)
        ]
        pooled = np.sum(scatters, axis=0)
        if shared:
            scatters = [pooled]
        # variance of the sphere: the mean one within classes, taken as given when a row is left out
        self.sphere = sphere or float(np.trace(pooled) / (len(pooled) * self.mass.sum()))
        found = [eigh(W, driver="evd", check_finite=False) for W in scatters]
        self.e = np.maximum([e for e, _ in found], 0.0)  # (1 or C, D)
        self.V = np.array([V for _, V in found])
        self.z = [  # rotated differences to the means
            (Z - mean) @ self.V[min(c, len(self.V) - 1)] for c, mean in enumerate(self.means)
        ]

    def model(self, r: float) -> GaussianClasses:
        """With shrinkage r."""
        n = np.array([self.mass.sum()]) if self.shared else self.mass
        variances = (1.0 - r) * self.e / n[:, None] + r * self.sphere
        offset = np.log(self.mass) - 0.5 * np.log(variances).sum(axis=1)
        return GaussianClasses(self.means, self.V, variances, offset)

    def left_out(self, r: float) -> FloatArray:
        """Scores of every case without it, with shrinkage r: (U, C)."""
        cases, n_all = self.rows.cases, self.mass.sum()
        m = cases.mass
        n_own = self.mass[cases.label]
        F = np.empty((len(cases), len(self.mass)))
        d = np.empty((len(cases), self.Z.shape[1]))
        for c in range(len(self.mass)):
            own = cases.label == c
            d[own] = self.z[c][cases.row[own]]
        # without the case the mean is x - d n / (n - m), and the scatter less by m n / (n - m) dd'
        stretch = n_own / (n_own - m)
        if self.shared:
            a = (1.0 - r) / (n_all - m)
            inverse = 1.0 / (a[:, None] * self.e[0] + r * self.sphere)  # (U, D)
            g = a * m * stretch
            Md = inverse * d
            rest = 1.0 - g * np.einsum("ud,ud->u", Md, d)
            for c in range(len(self.mass)):
                own = cases.label == c
                z = self.z[c][cases.row]
                z[own] *= stretch[own, None]
                cross = np.einsum("ud,ud->u", Md, z)
                distance = np.einsum("ud,ud->u", inverse, np.square(z)) + g * cross**2 / rest
                F[:, c] = np.log(self.mass[c] - own * m) - 0.5 * distance
            return F
        full = self.model(r)
        for c in range(len(self.mass)):
            own = cases.label == c
            z = self.z[c][cases.row]
            F[:, c] = full.offset[c] - 0.5 * np.square(z) @ (1.0 / full.variances[c])
            n, m_c, t = self.mass[c], m[own], stretch[own]
            a = (1.0 - r) / (n - m_c)
            variance = a[:, None] * self.e[c] + r * self.sphere
            q = np.einsum("ud,ud->u", np.square(d[own]), 1.0 / variance)
            rest = 1.0 - a * m_c * t * q
            # (M - g dd')^-1 has d'..d = q / (1 - g q)
            distance = t**2 * q / rest
            log_det = np.log(variance).sum(axis=1) + np.log(rest)
            F[own, c] = np.log(n - m_c) - 0.5 * (log_det + distance)
        return F
