"""Log likelihoods that are quadratic in the weights, whose evidence is known exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.inference.mode import Mode
from sdgm.core.inference.relevance import quality_over_sparsity


@dataclass(frozen=True)
class Quadratic:
    """A log likelihood ``b'w - w'Bw / 2``, whose evidence is known exactly."""

    B: FloatArray
    b: FloatArray
    alpha: FloatArray

    @property
    def Lambda(self) -> FloatArray:
        return np.linalg.inv(self.B + np.diag(self.alpha))

    @property
    def w(self) -> FloatArray:
        return self.Lambda @ self.b

    @property
    def gamma(self) -> FloatArray:
        return 1.0 - self.alpha * np.diag(self.Lambda)

    @property
    def ratio(self) -> FloatArray:
        return quality_over_sparsity(self.alpha, self.w, self.gamma)

    def log_evidence(self, alpha: FloatArray) -> float:
        """Log of the integral over all weights whose alpha is finite."""
        kept = np.isfinite(alpha)
        B, b, alpha = self.B[kept][:, kept], self.b[kept], alpha[kept]
        precision = B + np.diag(alpha)
        return float(
            0.5 * np.log(alpha).sum()
            - 0.5 * np.linalg.slogdet(precision).logabsdet
            + 0.5 * b @ np.linalg.solve(precision, b)
        )

    def with_alpha(self, h: int, value: float) -> FloatArray:
        alpha = self.alpha.copy()
        alpha[h] = value
        return alpha


def quadratic(seed: int, n: int = 5) -> Quadratic:
    """A random one; some of its weights are needed and some are not."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(12, n))
    target = Phi @ (rng.normal(size=n) * (rng.random(n) < 0.6)) + 0.5 * rng.normal(size=12)
    return Quadratic(Phi.T @ Phi, Phi.T @ target, 10.0 ** rng.uniform(-1, 1, size=n))


def mode(*, is_reached: bool = True) -> Mode:
    """All that an update of alpha asks of a mode: whether w is there."""
    return Mode(None, np.empty(0), n_steps=0, is_reached=is_reached, has_initial_r=False)
