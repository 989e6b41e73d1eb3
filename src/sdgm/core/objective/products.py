"""Curvature from products of columns, where rows, columns and components are few.

With few of all, what takes time is not arithmetic but the number of calls. The matrices
``B_kl = Z' diag(p_k p_l) Z`` of `pairwise`, for all pairs of components, are one product of
matrices: posteriors multiplied in pairs, times columns of Z multiplied in pairs, which stay the
same for as long as the rows do. The matrices of the missing information are further rows of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.objective.whitening import Whitening

# columns of Z, and multiplications of a pass, up to which this takes less time: measured with 100
# to 1,000 rows, 3 to 10 columns and 2 to 9 components
MOST_COLUMNS = 10
MOST_WORK = 1e6


class ComponentPairs(NamedTuple):
    """Pairs of components, the lower number first: (n_pairs,) each."""

    one: IntArray
    other: IntArray

    @classmethod
    def within(cls, groups: Sequence[range]) -> ComponentPairs:
        """All pairs of components of the same group."""
        pairs = list(chain.from_iterable(combinations(group, 2) for group in groups))
        return cls(*np.array(pairs, dtype=np.intp).reshape(-1, 2).T)

    def products(self, P: FloatArray) -> FloatArray:
        """Posteriors P (K, N), multiplied in pairs: (n_pairs, N)."""
        return P[self.one] * P[self.other]

    def information(self, B: FloatArray, K: int) -> FloatArray:
        """All components, from the matrices (n_pairs, p, p) of the pairs: (K p, K p)."""
        p = B.shape[-1]
        blocks = np.zeros((K, K, p, p))
        blocks[self.one, self.other] = blocks[self.other, self.one] = -B
        # posteriors sum to one, so p_k (1 - p_k) is the sum of p_k p_l over all others
        blocks[range(K), range(K)] = -blocks.sum(axis=1)
        return blocks.swapaxes(1, 2).reshape(K * p, K * p)


@lru_cache(maxsize=64)
def pairs_within(groups: tuple[range, ...]) -> ComponentPairs:
    """`ComponentPairs.within`, made once."""
    return ComponentPairs.within(groups)


def products_width(whitening: Whitening) -> int:
    """Working numbers per row: products of columns, and of posteriors."""
    K, p = len(whitening.coordinates), whitening.rank
    return p * (p + 1) // 2 + K * (K - 1)


def products_pay(n_rows: int, whitening: Whitening) -> bool:
    """Whether the curvature takes less time from products of columns."""
    K, p = len(whitening.coordinates), whitening.rank
    return p <= MOST_COLUMNS and K * (K - 1) * p * (p + 1) / 4 * n_rows <= MOST_WORK


def informations(
    rows: Rows, whitening: Whitening, P: FloatArray, r: FloatArray, groups: tuple[range, ...]
) -> tuple[FloatArray, FloatArray]:
    """The complete information and, of groups of components, the missing one: (m, m) each.

    Parameters
    ----------
    rows, whitening
        Data and coordinates.
    P : (K, N) array
        Posteriors of the components.
    r : (K, N) array
        The same within groups, where they sum to one.
    groups : tuple of range
        Components of the classes that have several.
    """
    K, p = len(P), whitening.rank
    everywhere, grouped = pairs_within((range(K),)), pairs_within(groups)
    weights = everywhere.products(P)
    if groups:
        weights = np.concatenate([weights, grouped.products(r)])
    sums = rows.root_weighted(rows.root_weighted(weights)) @ rows.column_products
    B = sums[:, positions(p)].reshape(len(sums), p, p)
    n_pairs = len(everywhere.one)
    S = whitening.spread
    complete = S.T @ everywhere.information(B[:n_pairs], K) @ S
    if not groups:
        return complete, np.zeros_like(complete)
    return complete, S.T @ grouped.information(B[n_pairs:], K) @ S


@lru_cache(maxsize=64)
def positions(p: int) -> IntArray:
    """Where the product of columns i and j is among those of `Rows.column_products`: (p * p,)."""
    where = np.empty((p, p), dtype=np.intp)
    i, j = np.triu_indices(p)
    where[i, j] = where[j, i] = np.arange(len(i))
    return where.ravel()
