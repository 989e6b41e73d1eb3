"""A fitted ensemble as a value: everything that prediction needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray
from sdgm.ensemble.calibration import Calibration
from sdgm.ensemble.members import Scorer
from sdgm.ensemble.spaces import Space, View

# numbers in a working array of prediction, and how many there are at a time: the distances in each
# of up to three spaces, and a kernel of them
PREDICT_NUMBERS = 1 << 20
PREDICT_ARRAYS = 3.5


@dataclass(frozen=True, eq=False)
class WeightedMember:
    """A member with its weight in the average."""

    name: str
    weight: float
    scorer: Scorer
    calibration: Calibration


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Probabilities averaged over members.

    Attributes
    ----------
    frequencies : (C,) array
        Of the classes among the training rows: the prediction if there is no member.
    members : list of WeightedMember
        The largest weight first.
    """

    frequencies: FloatArray
    members: list[WeightedMember]

    def proba(self, X: FloatArray) -> FloatArray:
        """Probabilities of the classes of rows in the user's units: (n, C)."""
        if not self.members:
            return np.tile(self.frequencies, (len(X), 1))
        width = max(len(each.scorer.space.centers) for each in self.members)
        size = max(PREDICT_NUMBERS // width, 1)
        P = np.zeros((len(X), len(self.frequencies)))
        for first in range(0, len(X), size):
            block = slice(first, first + size)
            views: dict[Space, View] = {}
            for member in self.members:
                space = member.scorer.space
                if space not in views:
                    views[space] = space.at(X[block])
                F = member.scorer.scores(views[space])
                P[block] += member.weight * member.calibration.proba(F)
        return P


def prediction_bytes(n_training: int, n_rows: int) -> float:
    """Memory to predict rows by an ensemble that was fitted to others."""
    return 8.0 * PREDICT_ARRAYS * min(n_training * n_rows, PREDICT_NUMBERS)
