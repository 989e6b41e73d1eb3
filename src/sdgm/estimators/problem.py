"""The problem that a fit solves: rows and candidate columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from sdgm._typing import FloatArray, IntArray, LabelArray
from sdgm.core.inference.initialization import Start
from sdgm.core.inference.recipe import Recipe
from sdgm.core.model.basis import Basis
from sdgm.core.model.design import Design
from sdgm.core.model.fitted_model import Scaler

# largest feature or kernel value whose squares can still be summed, over 10^28 rows
LARGEST_VALUE = 1e140
# largest input whose square is such a feature
LARGEST_INPUT = 1e70


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
        """The smallest possible log loss: zero if y are labels."""
        if self.y.ndim == 1:
            return 0.0
        return float(self.s @ entr(self.y).sum(axis=1) / self.s.sum())


class Given(NamedTuple):
    """The rows of weight, before repeated ones were merged.

    Attributes
    ----------
    user_row : (n,) array
        Which of the user's rows each is.
    row : (n,) array
        Which row of the fit it went into.
    s : (n,) array
        Its weight.
    """

    user_row: IntArray
    row: IntArray
    s: FloatArray


@dataclass(frozen=True)
class Problem:
    """Everything that `learn` needs.

    Attributes
    ----------
    classes : (C,) array
        Labels.
    scaler : Scaler
        From the features that are read to ``X``.
    X_user : (n_samples, n_features) array
        The rows as given.
    first_user_row : (N,) array
        For each row of the fit, the first given row that is equal to it.
    X, y, s : arrays of N rows
        Standardised rows, class indices or frequencies of the classes, and weights; repeated rows
        merged where the preset says so.
    n_components : (C,) array
    recipe : Recipe
    init : Start or (N, K) array
        Initial responsibilities, or how they are made.
    class_factor : (C,) array or None
        Factors by class that are in the weights; None for one.
    inputs : (D,) array or None
        Which of the user's features the columns of ``X`` are; None for all.
    given : Given or None
        None if the rows were not the user's.
    """

    classes: np.ndarray[Any, Any]
    scaler: Scaler
    X_user: FloatArray
    first_user_row: IntArray
    X: FloatArray
    y: LabelArray
    s: FloatArray
    n_components: IntArray
    recipe: Recipe
    init: Start | FloatArray
    class_factor: FloatArray | None = None
    inputs: IntArray | None = None
    given: Given | None = None

    def read(self, X: FloatArray) -> FloatArray:
        """The features that the fit reads, of rows as given: (N, D)."""
        return X if self.inputs is None else np.ascontiguousarray(X[:, self.inputs])

    @property
    def sample(self) -> Sample:
        """The rows of the fit, in the user's units."""
        return Sample(self.X_user[self.first_user_row], self.y, self.s)

    @property
    def sample_as_given(self) -> Sample:
        """The rows before repeated ones were merged, in the user's units."""
        if self.given is None:
            return self.sample
        return Sample(self.X_user[self.given.user_row], self.y[self.given.row], self.given.s)

    def merged_means(self, values: FloatArray) -> FloatArray:
        """From values of the rows as given, the weighted mean of each row of the fit: (N, C)."""
        if self.given is None:
            return values
        return merged_means(values, self.given.s, self.given.row)


@dataclass(frozen=True)
class Columns:
    """The candidate columns of a fit: as a factorised matrix, and as functions of the input.

    Attributes
    ----------
    design : Design
        At the rows of the fit.
    basis : Basis
        Column 0 of the design is the constant, which is not in it.
    points : (N, d) array
        What the start clusters: the standardised rows, or kernel coordinates in their place.
    """

    design: Design
    basis: Basis
    points: FloatArray


def merged_means(values: FloatArray, s: FloatArray, inverse: IntArray) -> FloatArray:
    """Weighted mean of the values of the rows that were merged into each: (n_merged, K)."""
    total = np.bincount(inverse, s)
    means = [np.bincount(inverse, s * column) / total for column in values.T]
    return np.stack(means, axis=1)
