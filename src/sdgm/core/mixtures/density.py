"""The density of inputs: Gaussian mixtures, covariances shrunk as far as unseen rows ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.mixtures.gaussian_mixture import Gaussians, chosen_mixture, fitted_mixture
from sdgm.core.model.posterior import log_sum_exp

# shares of the sphere in every covariance that are tried; never none, so that an input that is
# constant among the training rows may vary a little
SHRINKAGES = (0.001, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0)
# least variance of the sphere, for standardised rows that are all alike
SMALLEST_SPHERE = 1e-6


class Density(NamedTuple):
    """Mixtures of classes, one sphere for all, and the shares of the classes (C,)."""

    mixtures: list[Gaussians]
    share: FloatArray

    def log_density(self, X: FloatArray) -> FloatArray:
        """``ln p(x)`` of standardised rows: (N,)."""
        terms = np.stack([mixture.log_density(X) for mixture in self.mixtures], axis=1)
        return log_sum_exp(terms + np.log(self.share))

    def shrunk(self, shrinkage: float) -> Density:
        """Every covariance ``(1 - a) S + a v I``, with v the mean variance within components."""
        roots = [np.linalg.inv(mixture.whitening) for mixture in self.mixtures]  # (M, D, D) each
        variances = [(L**2).sum(axis=2).mean(axis=1) for L in roots]  # (M,) each
        of_class = [m.share @ v for m, v in zip(self.mixtures, variances, strict=True)]
        v = max(float(self.share @ np.array(of_class)), SMALLEST_SPHERE)
        mixtures = []
        for mixture, L in zip(self.mixtures, roots, strict=True):
            S = L @ L.transpose(0, 2, 1)
            S = (1.0 - shrinkage) * S + shrinkage * v * np.eye(S.shape[-1])
            mixtures.append(mixture._replace(whitening=np.linalg.inv(np.linalg.cholesky(S))))
        return Density(mixtures, self.share)


class HeldOut(NamedTuple):
    """A density, its shrinkage, and the log density (N,) at each row by the other folds."""

    density: Density
    shrinkage: float
    log_density: FloatArray


def fitted_density(
    X: FloatArray, y: IntArray, numbers: Sequence[int] | None, seed: int
) -> tuple[Density, list[int]]:
    """A mixture per class that has rows, with components as given or of lowest BIC."""
    n_rows = np.bincount(y)
    mixtures, found = [], []
    for c in np.flatnonzero(n_rows).tolist():
        own, s = X[y == c], np.ones(n_rows[c])
        if numbers is None:
            mixtures.append(chosen_mixture(own, s, seed))
        else:
            mixtures.append(fitted_mixture(own, s, min(numbers[c], len(own)), seed))
        found.append(len(mixtures[-1].share))
    return Density(mixtures, n_rows[n_rows > 0] / len(y)), found


def held_out_density(X: FloatArray, y: IntArray, fold: IntArray, seed: int) -> HeldOut:
    """A density of standardised rows, and of each row without its fold (of at least two).

    y (N,) are class indices, with rows of every class from zero up.
    """
    density, numbers = fitted_density(X, y, None, seed)
    log_density = np.empty((len(SHRINKAGES), len(X)))
    for left_out in np.unique(fold):
        out = fold == left_out
        part, _ = fitted_density(X[~out], y[~out], numbers, seed)
        for i, shrinkage in enumerate(SHRINKAGES):
            log_density[i, out] = part.shrunk(shrinkage).log_density(X[out])
    best = int(log_density.mean(axis=1).argmax())
    return HeldOut(density.shrunk(SHRINKAGES[best]), SHRINKAGES[best], log_density[best])
