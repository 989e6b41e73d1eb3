"""Feature maps x -> phi of the original form: monomials of degree at most two.

The form of the covariance decides which monomials there are; pruning decides which are left. Both
are a list of index pairs, so the features of a pruned model cost as much as its weights.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, assert_never

import numpy as np

from sdgm._choice import choice
from sdgm._typing import BoolArray, FloatArray, IntArray

# index codes that stand for something other than a variable x_i: no factor, and the sum of all
# squares; as negative indices they find the last two rows of the table that Monomials.transform
# builds
ABSENT, SQUARED_NORM = -1, -2

# numbers in a gathered block of columns, 512 KB: small enough to stay in the cache
GATHERED_NUMBERS = 1 << 16


class CovarianceType(StrEnum):
    """What the Gaussians of a mixture may look like, and with it the features that phi holds."""

    FULL = "full"
    DIAG = "diag"
    SPHERICAL = "spherical"
    TIED = "tied"


@dataclass(frozen=True)
class Monomials:
    """A list of monomials of degree at most two, each a product of two factors.

    Attributes
    ----------
    first, second : (n_terms,) integer arrays
        Factors of each monomial: ``(i, j)`` with i <= j for x_i x_j, ``(i, -1)`` for x_i,
        ``(-1, -1)`` for the constant and ``(-2, -1)`` for the squared norm ``|x|^2``, which is
        one feature of its own.

    Examples
    --------
    >>> terms = monomials(2, "full").take([0, 1, 4])
    >>> terms.names(["x1", "x2"])
    ['1', 'x1', 'x1*x2']
    >>> terms.transform(np.array([[2.0, 3.0]]))
    array([[1., 2., 6.]])
    """

    first: IntArray
    second: IntArray

    n_stored_numbers: ClassVar[int] = 0  # of the training rows

    def __len__(self) -> int:
        return len(self.first)

    def without_constant(self) -> Monomials:
        """All but the first, which is the constant."""
        return Monomials(self.first[1:], self.second[1:])

    def take(self, indices: IntArray | BoolArray | Sequence[int]) -> Monomials:
        """The chosen monomials, in the order of ``indices``; a boolean mask works too."""
        return Monomials(self.first[indices], self.second[indices])

    def transform(self, X: FloatArray) -> FloatArray:
        """Values of the monomials at the rows of X.

        Squares of numbers beyond 1e154 overflow to infinity: scaling the input is up to the
        caller.

        Parameters
        ----------
        X : (N, D) array

        Returns
        -------
        Phi : (N, n_terms) array, column-major
        """
        N, D = X.shape
        largest = max(self.first.max(initial=ABSENT), self.second.max(initial=ABSENT))
        if largest >= D:
            raise ValueError(
                f"X has {D} columns, but the monomials use the variable of index {largest}; "
                f"pass all the columns that the feature map was made for."
            )
        columns = np.empty((D + 2, N))
        columns[:D] = X.T
        columns[ABSENT] = 1.0
        if np.any(self.first == SQUARED_NORM):  # only then, since it may overflow
            columns[SQUARED_NORM] = np.einsum("nd,nd->n", X, X)
        return column_products(columns, np.stack([self.first, self.second]))

    def transform_with_constant(self, X: FloatArray) -> FloatArray:
        """The same with a column of ones in front: (N, 1 + n_terms), column-major."""
        constant = np.array([ABSENT])
        first, second = (np.concatenate([constant, each]) for each in (self.first, self.second))
        return Monomials(first, second).transform(X)

    def at_rows(self, user_rows: IntArray) -> Monomials:
        """The same monomials, which do not refer to training rows."""
        return self

    def at_inputs(self, inputs: IntArray, n_inputs: int) -> Monomials:
        """The same monomials, where input i is input ``inputs[i]``."""
        index = np.concatenate([inputs, [SQUARED_NORM, ABSENT]])  # found as indices -2 and -1
        return Monomials(index[self.first], index[self.second])

    def only_inputs(self, inputs: IntArray, n_inputs: int) -> Monomials:
        """The same monomials of these inputs alone, where they read no others."""
        position = np.full(n_inputs + 2, ABSENT)
        position[inputs], position[SQUARED_NORM] = np.arange(len(inputs)), SQUARED_NORM
        return Monomials(position[self.first], position[self.second])

    def inputs_read(self, n_inputs: int) -> IntArray:
        """Sorted indices of the inputs that some monomial depends on."""
        factors = np.concatenate([self.first, self.second])
        if np.any(factors == SQUARED_NORM):
            return np.arange(n_inputs)
        return np.unique(factors[factors > ABSENT])

    def column_keys(self) -> list[Hashable]:
        """Pairs of factors."""
        return list(zip(self.first.tolist(), self.second.tolist(), strict=True))

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """The monomials in words, such as ``1``, ``x1``, ``x1^2``, ``x1*x3`` and ``|x|^2``.

        Parameters
        ----------
        feature_names : sequence of D strings
        """

        def name(i: int, j: int) -> str:
            if i == SQUARED_NORM:
                return "|x|^2"
            if i == ABSENT:
                return "1"
            if j == ABSENT:
                return feature_names[i]
            return f"{feature_names[i]}^2" if i == j else f"{feature_names[i]}*{feature_names[j]}"

        return [name(int(i), int(j)) for i, j in zip(self.first, self.second, strict=True)]


def monomials(n_features: int, covariance_type: str = CovarianceType.FULL) -> Monomials:
    """The features that Gaussians of a given form need (Eq. 2 for ``full``).

    Parameters
    ----------
    n_features : int
        D, the number of input variables.
    covariance_type : {"full", "diag", "spherical", "tied"}
        After the constant and x follow: ``full``, all products in the paper's order x_1^2, x_1x_2,
        ..., x_1x_D, x_2^2, ..., x_D^2; ``diag``, the squares; ``spherical``, the squared norm;
        ``tied``, nothing, since a shared quadratic term cancels (Appendix A).

    Examples
    --------
    >>> monomials(2, "full").names(["x1", "x2"])
    ['1', 'x1', 'x2', 'x1^2', 'x1*x2', 'x2^2']
    >>> monomials(2, "spherical").names(["x1", "x2"])
    ['1', 'x1', 'x2', '|x|^2']
    """
    kind = choice("covariance_type", covariance_type, CovarianceType)
    first, second = _quadratic_terms(n_features, kind)
    linear = np.arange(ABSENT, n_features)  # the constant, then every variable
    return Monomials(
        np.concatenate([linear, first]),
        np.concatenate([np.full_like(linear, ABSENT), second]),
    )


def _quadratic_terms(D: int, covariance_type: CovarianceType) -> tuple[IntArray, IntArray]:
    match covariance_type:
        case CovarianceType.FULL:
            return np.triu_indices(D)
        case CovarianceType.DIAG:
            return np.arange(D), np.arange(D)
        case CovarianceType.SPHERICAL:
            return np.array([SQUARED_NORM]), np.array([ABSENT])
        case CovarianceType.TIED:
            return np.arange(0), np.arange(0)
        case _:
            assert_never(covariance_type)


def n_monomials(n_features: int, covariance_type: str = CovarianceType.FULL) -> int:
    """The length H of phi, without building it: ``1 + D (D + 3) / 2`` for ``full``.

    Examples
    --------
    >>> n_monomials(200, "full"), n_monomials(200, "diag")
    (20301, 401)
    """
    D = n_features
    n_quadratic = {
        CovarianceType.FULL: D * (D + 1) // 2,
        CovarianceType.DIAG: D,
        CovarianceType.SPHERICAL: 1,
        CovarianceType.TIED: 0,
    }
    return 1 + D + n_quadratic[choice("covariance_type", covariance_type, CovarianceType)]


def column_products(columns: FloatArray, index: IntArray) -> FloatArray:
    """Products of chosen columns, in blocks, so that little more than the result is held.

    Parameters
    ----------
    columns : (n_columns, N) array
        One column of the data per row.
    index : (degree, n_terms) integer array
        Factors of each product.

    Returns
    -------
    products : (N, n_terms) array, column-major

    Examples
    --------
    >>> column_products(np.array([[2.0], [3.0]]), np.array([[0, 0, 1], [0, 1, 1]]))
    array([[4., 6., 9.]])
    """
    columns = np.ascontiguousarray(columns)  # gathering rows of a transpose would crawl
    N, n_terms = columns.shape[1], index.shape[1]
    products = np.empty((n_terms, N))
    step = max(1, GATHERED_NUMBERS // max(1, N))
    for start in range(0, n_terms, step):
        block = products[start : start + step]
        factors = index[:, start : start + step]
        # without a mode the result would be buffered; in this one indices may count from the end
        np.take(columns, factors[0], axis=0, out=block, mode="wrap")
        for factor in factors[1:]:
            block *= columns[factor]
    return products.T
