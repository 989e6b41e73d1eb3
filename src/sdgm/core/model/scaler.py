"""Standardised inputs: centred, scaled and limited."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sdgm._typing import FloatArray

# inputs this many times further out than any training row are moved in: their scores would
# overflow, and nothing is known out there
FAR_AWAY = 1e30


@dataclass(frozen=True, eq=False)
class Scaler:
    """``z = clip((x - center) * inverse_scale, -reach, reach)``.

    Attributes
    ----------
    center, inverse_scale : (D,) arrays
    reach : float
        Largest standardised input that is taken as it is.
    """

    center: FloatArray
    inverse_scale: FloatArray
    reach: float = np.inf

    @classmethod
    def identity(cls, D: int) -> Scaler:
        """Inputs as they are."""
        return cls(np.zeros(D), np.ones(D))

    def standardized(self, X: FloatArray) -> FloatArray:
        """Rows as the columns of the design take them: (N, D)."""
        with np.errstate(over="ignore"):
            z = (X - self.center) * self.inverse_scale
        return np.clip(z, -self.reach, self.reach, out=z)

    def reaching(self, X: FloatArray) -> Scaler:
        """The same with a reach far beyond these standardised rows."""
        return replace(self, reach=FAR_AWAY * max(1.0, float(np.abs(X).max())))
