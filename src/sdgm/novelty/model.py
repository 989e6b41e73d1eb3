"""A fitted density of inputs as a value: all that novelty detection needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.mixtures.density import Density
from sdgm.core.model.fitted_model import Scaler


@dataclass(frozen=True, eq=False)
class NoveltyModel:
    """Gaussian mixtures of the standardised inputs, and the log density that is too low.

    Attributes
    ----------
    scaler : Scaler
    density : Density
        Of standardised rows.
    shrinkage : float
        Share of the sphere in the covariances.
    held_out_scores : (N,) array
        Log density of each training row under the model of the other folds.
    offset : float
        Log density below which a row is novel.
    """

    scaler: Scaler
    density: Density
    shrinkage: float
    held_out_scores: FloatArray
    offset: float

    @property
    def n_components(self) -> IntArray:
        """Components of each mixture."""
        return np.array([len(mixture.share) for mixture in self.density.mixtures])

    def log_density(self, X: FloatArray) -> FloatArray:
        """``ln p(x)`` in the units of the inputs: (N,)."""
        standardized = self.scaler.standardized(X)
        return self.density.log_density(standardized) + log_volume(self.scaler)


def log_volume(scaler: Scaler) -> float:
    """Log of how much the inputs were stretched."""
    return float(np.log(scaler.inverse_scale).sum())
