"""Curvature by pairs of components, for models that keep most of their weights.

The posteriors of a row sum to one, so ``p_k (1 - p_k)`` is the sum of ``p_k p_l`` over all others,
and the blocks of the information

    G_k' diag(p_k (1 - p_k)) G_k   on the diagonal,   -G_k' diag(p_k p_l) G_l   off it

are parts of one symmetric matrix per pair, ``B_kl = Z' diag(p_k p_l) Z`` over the columns that any
component uses. Where each uses most of them that is half the work with many components, and a third
with four. Nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.objective.whitening import Picks, Whitening

# how many times less work the pairs must be, since their matrices are smaller and more
PAIRS_PAY = 1.5
# multiplications of a pass from which on that counts
LEAST_WORK = 1e6


@dataclass(frozen=True)
class Side:
    """One side of a pair: a component with weights, or all those without."""

    components: IntArray  # whose posteriors are added
    coordinates: slice  # of the weights in theta; empty without
    position: IntArray  # column of each weight, among the columns of the pairs

    def root(self, P: FloatArray) -> FloatArray:
        """Root of its posterior, from the posteriors P (K, N): (N,)."""
        first = self.components[0]
        return np.sqrt(P[first] if len(self.components) == 1 else P[self.components].sum(axis=0))


@dataclass(frozen=True)
class Pairs:
    """Pairs of components whose posteriors sum to one, and the columns that they use."""

    columns: IntArray  # of Z: (q,)
    sides: list[Side]
    number: FloatArray  # scale of each whitened coordinate: (m,)

    @classmethod
    def among(cls, whitening: Whitening, components: Sequence[int] | None = None) -> Pairs:
        """Pairs of some or all components, where each coordinate is one scaled weight."""
        assert isinstance(whitening.factor, Picks)
        row, number = whitening.factor
        chosen = range(len(whitening.coordinates)) if components is None else components
        coordinates = [whitening.coordinates[k] for k in chosen]
        columns = np.unique(np.concatenate([row[where] for where in coordinates]))
        sides, empty = [], []
        for k, where in zip(chosen, coordinates, strict=True):
            if where.start == where.stop:
                empty.append(k)
            else:
                sides.append(Side(np.array([k]), where, np.searchsorted(columns, row[where])))
        if empty:
            sides.append(Side(np.array(empty), slice(0, 0), np.arange(0)))
        return cls(columns, sides, number)

    @property
    def n_pairs(self) -> int:
        """How many matrices there are."""
        return len(self.sides) * (len(self.sides) - 1) // 2

    def take(self, Z: FloatArray) -> FloatArray:
        """The columns, transposed: (q, N)."""
        return Z.T if len(self.columns) == Z.shape[1] else Z.T.take(self.columns, axis=0)

    def matrices(self, Zt: FloatArray, P: FloatArray) -> FloatArray:
        """``B_kl`` of every pair: (n_pairs, q, q).

        Zt (q, N) comes from `take`, times the root of the sample weights; P is (K, N).
        """
        result = np.empty((self.n_pairs, len(Zt), len(Zt)))
        roots = [side.root(P) for side in self.sides]
        At = np.empty_like(Zt)
        for B, (root_k, root_l) in zip(result, combinations(roots, 2), strict=True):
            np.multiply(Zt, root_k * root_l, out=At)
            np.matmul(At, At.T, out=B)
        return result

    def fill(self, information: FloatArray, matrices: FloatArray) -> None:
        """Add to `derivatives.information`, (m, m), what is of these coordinates."""
        for B, (one, other) in zip(matrices, combinations(self.sides, 2), strict=True):
            for side in (one, other):
                information[side.coordinates, side.coordinates] += self._scaled(B, side, side)
            cross = self._scaled(B, one, other)
            information[one.coordinates, other.coordinates] -= cross
            information[other.coordinates, one.coordinates] -= cross.T

    def _scaled(self, B: FloatArray, one: Side, other: Side) -> FloatArray:
        """Part of a matrix, in whitened coordinates."""
        part = B[np.ix_(one.position, other.position)]
        part *= np.outer(self.number[one.coordinates], self.number[other.coordinates])
        return part


def whole_work(sizes: FloatArray) -> float:
    """For the information of one row, all coordinates at once."""
    return float(sizes.sum() ** 2 + sizes @ sizes)


def pairs_work(sizes: FloatArray, n_columns: int) -> float:
    """The same by pairs of components, which share ``n_columns`` columns of Z.

    Components without coordinates count as one.
    """
    n_sides = min(int(np.count_nonzero(sizes)) + 1, len(sizes))
    return 0.5 * n_sides * (n_sides - 1) * n_columns**2


def pairs_pay(n_rows: int, whitening: Whitening) -> bool:
    """Whether the curvature takes less time by pairs than as a whole."""
    if not isinstance(whitening.factor, Picks):
        return False
    sizes = np.diff(whitening.starts).astype(np.float64)
    whole = whole_work(sizes)
    if n_rows * whole < LEAST_WORK:
        return False
    q = int(np.count_nonzero(np.bincount(whitening.factor.row)))
    return PAIRS_PAY * pairs_work(sizes, q) <= whole
