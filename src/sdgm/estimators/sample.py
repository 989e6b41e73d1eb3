"""Rows to learn from, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import entr

from sdgm._typing import FloatArray, LabelArray


@dataclass(frozen=True)
class Sample:
    """Rows to learn from.

    Attributes
    ----------
    X : (N, D) array
        Inputs in the user's units, or kernel values.
    y : (N,) integer array or (N, C) array
        Class indices, or frequencies of the classes that sum to one.
    s : (N,) array
        Weights.
    """

    X: FloatArray
    y: LabelArray
    s: FloatArray

    @property
    def entropy(self) -> float:
        """The smallest log loss there can be: none where y are labels."""
        if self.y.ndim == 1:
            return 0.0
        return float(self.s @ entr(self.y).sum(axis=1) / self.s.sum())
