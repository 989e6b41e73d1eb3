"""The inputs as members see them: standardised, as normal scores of their ranks, or weighted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.fitted_model import Scaler
from sdgm.estimators.preparation import center_and_inverse_scale

# normal scores are clipped at this value
LARGEST_SCORE = 3.0
# rows are clipped at this multiple of the largest training row: nothing is known further out
FAR_AWAY = 10.0


class Inputs(Protocol):
    """A map of inputs."""

    def __call__(self, X: FloatArray) -> FloatArray:
        """Rows as kernels see them: (n, D')."""
        ...


@dataclass(frozen=True, eq=False)
class Standardized:
    """Mean zero and deviation one; constant columns are left out."""

    varying: IntArray
    scaler: Scaler

    @classmethod
    def of(cls, X: FloatArray, s: FloatArray) -> Standardized:
        """From rows and their weights."""
        center, inverse_scale = center_and_inverse_scale(X, s)
        Z = Scaler(center, inverse_scale).standardized(X)
        # rounding may leave a small deviation of constant columns
        varying = np.flatnonzero(s @ np.square(Z) > 0.5 * s.sum())
        reach = FAR_AWAY * float(np.abs(Z).max(initial=1.0))
        return cls(varying, Scaler(center[varying], inverse_scale[varying], reach))

    def __call__(self, X: FloatArray) -> FloatArray:
        return self.scaler.standardized(X[:, self.varying])


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Normal scores of the ranks among the training rows, standardised; linear in between."""

    inner: Inputs
    values: list[FloatArray]
    scores: list[FloatArray]

    @classmethod
    def of(cls, inner: Inputs, Z: FloatArray, s: FloatArray) -> NormalScores:
        """From rows transformed by the inner map, without constant columns."""
        share_of_row = s / s.sum()
        values, scores = [], []
        for column in Z.T:
            value, inverse = np.unique(column, return_inverse=True)
            share = np.bincount(inverse, share_of_row)
            score = ndtri(np.cumsum(share) - 0.5 * share)
            score = np.clip(score, -LARGEST_SCORE, LARGEST_SCORE)
            score -= share @ score
            values.append(value)
            scores.append(score / np.sqrt(share @ score**2))
        return cls(inner, values, scores)

    def __call__(self, X: FloatArray) -> FloatArray:
        Z = self.inner(X)
        for d, (value, score) in enumerate(zip(self.values, self.scores, strict=True)):
            Z[:, d] = np.interp(Z[:, d], value, score)
        return Z


@dataclass(frozen=True, eq=False)
class Weighted:
    """Inputs times one factor each."""

    inner: Inputs
    factor: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        return self.inner(X) * self.factor
