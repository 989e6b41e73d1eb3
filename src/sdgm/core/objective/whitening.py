"""Coordinates in which the prior of the weights is the standard normal.

For component k with active columns R_a and precisions A, a thin QR factorisation
``A^-1/2 R_a' = Q L'`` gives ``theta = Q' A^1/2 w ~ N(0, I)`` and ``Phi w = Z L theta``: as many
coordinates as the component has weights or the design has rank, whichever is smaller. QR, because
a Cholesky factor of ``R_a A^-1 R_a'`` would square the condition number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.model.state import State

# workspace per row, without which LAPACK works column by column
LAPACK_BLOCK = 64
# numbers of a factor up to which one product with all of it takes less time than one per component
SMALL_FACTOR = 1 << 16
EVERYWHERE = slice(None)


class Picks(NamedTuple):
    """The columns of L where each has one number only: its row, (m,), and the number, (m,)."""

    row: IntArray
    number: FloatArray


@dataclass(frozen=True)
class Whitening:
    """The map between active weights w and whitened coordinates theta, component by component.

    Attributes
    ----------
    rank : int
        p, the rank of the design.
    factor : (p, m) array or Picks
        L, with the blocks L_k side by side; the scores of component k are ``Z @ L_k @ theta_k``.
    Q : tuple of (n_k, m_k) arrays, or None where it is the identity
    prior_std : (n_active,) array
        ``alpha ** -0.5``.
    starts : (K + 1,) array
        Where each component's coordinates begin in theta.
    weight_starts : (K + 1,) array
        Where each component's weights begin in w.
    component : (m,) array
        Component of each coordinate.
    column : (n_active,) array
        Column of each weight.
    """

    rank: int
    factor: FloatArray | Picks
    Q: tuple[FloatArray | None, ...]
    prior_std: FloatArray
    starts: IntArray
    weight_starts: IntArray
    component: IntArray
    column: IntArray

    @cached_property
    def L(self) -> FloatArray:
        """The factor as a matrix: (p, m)."""
        if not isinstance(self.factor, Picks):
            return self.factor
        L = np.zeros((self.rank, len(self.component)))
        L[self.factor.row, np.arange(len(self.component))] = self.factor.number
        return L

    @cached_property
    def spread(self) -> FloatArray:
        """L with the rows of every component of its own, block by block: (K p, m)."""
        spread = self.in_component.T[:, None, :] * self.L
        return spread.reshape(len(self.Q) * self.rank, len(self.component))

    @property
    def is_diagonal(self) -> bool:
        """Whether every coordinate is one scaled weight."""
        return len(self.component) == len(self.prior_std)

    @cached_property
    def is_alike(self) -> bool:
        """Whether all components have the same columns with the same precisions."""
        K = len(self.Q)
        if not isinstance(self.factor, Picks) or K == 0 or len(self.component) % K:
            return False
        return all(
            bool((numbers.reshape(K, -1) == numbers[: len(numbers) // K]).all())
            for numbers in (self.factor.row, self.factor.number)
        )

    @cached_property
    def in_component(self) -> BoolArray:
        """Which coordinates belong to which component: (m, K)."""
        return self.component[:, None] == np.arange(len(self.Q))

    @cached_property
    def coordinates(self) -> list[slice]:
        """Where each component's coordinates are in theta."""
        return [slice(a, b) for a, b in pairwise(self.starts.tolist())]

    def blocks(self) -> list[tuple[slice, slice, FloatArray | None]]:
        """Per component: its coordinates, its weights, and Q."""
        weights = [slice(a, b) for a, b in pairwise(self.weight_starts.tolist())]
        return list(zip(self.coordinates, weights, self.Q, strict=True))

    def to_theta(self, w: FloatArray) -> FloatArray:
        """``theta = Q' A^1/2 w``, the coordinates with the same scores: (m,)."""
        scaled = w / self.prior_std
        if self.is_diagonal:
            return scaled
        return np.concatenate(
            [
                scaled[weights] if Q is None else scaled[weights] @ Q
                for _, weights, Q in self.blocks()
            ]
        )

    def to_w(self, theta: FloatArray) -> FloatArray:
        """``w = A^-1/2 Q theta``, the most probable weights with these scores: (n_active,)."""
        if self.is_diagonal:
            return self.prior_std * theta
        scaled = np.concatenate(
            [theta[coords] if Q is None else Q @ theta[coords] for coords, _, Q in self.blocks()]
        )
        return self.prior_std * scaled

    def score_vectors(self, theta: FloatArray) -> FloatArray:
        """``V`` with columns ``v_k = L_k theta_k``, so that the scores are ``Z V``: (p, K)."""
        if isinstance(self.factor, Picks):
            V = np.zeros((self.rank, len(self.Q)))
            V[self.factor.row, self.component] = self.factor.number * theta
            return V
        return self.factor @ (self.in_component * theta[:, None])

    def of_scores(self, of_V: FloatArray) -> FloatArray:
        """Derivatives with respect to theta from those with respect to V, (K, p): (m,)."""
        if isinstance(self.factor, Picks):
            return self.factor.number * of_V[self.component, self.factor.row]
        if self.factor.size <= SMALL_FACTOR:
            return (self.factor * of_V.T[:, self.component]).sum(axis=0)
        return np.concatenate(
            [of_v @ self.factor[:, k] for k, of_v in zip(self.coordinates, of_V, strict=True)]
        )

    def whitened(self, Zt: FloatArray, where: slice = EVERYWHERE) -> FloatArray:
        """``L' Z'`` of Z', (p, N), at some or all coordinates: (m, N)."""
        if isinstance(self.factor, Picks):
            result = Zt.take(self.factor.row[where], axis=0)
            result *= self.factor.number[where, None]
            return result
        return self.factor[:, where].T @ Zt


def whiten(Rt: FloatArray, state: State) -> Whitening:
    """Whitened coordinates of a state's active weights.

    Parameters
    ----------
    Rt : (H, p) array
        Transposed right factor of the design ``Phi = Z R``.
    state : State
    """
    p = Rt.shape[1]
    prior_std = 1.0 / np.sqrt(state.alpha)
    weight_starts = state.starts
    n_weights = weight_starts[1:] - weight_starts[:-1]
    if n_weights.max(initial=0) <= p:
        factor: FloatArray | Picks
        if len(Rt) == p and np.count_nonzero(Rt) == np.count_nonzero(Rt.diagonal()):
            factor = Picks(state.column, Rt.diagonal()[state.column] * prior_std)
        else:
            factor = (Rt[state.column] * prior_std[:, None]).T
        return Whitening(
            rank=p,
            factor=factor,
            Q=(None,) * len(n_weights),
            prior_std=prior_std,
            starts=weight_starts,
            weight_starts=weight_starts,
            component=state.component,
            column=state.column,
        )
    upper = np.tri(p, dtype=bool).T
    factors = []
    for first, last in pairwise(weight_starts.tolist()):
        A_inv_sqrt_Rt = Rt[state.column[first:last]]  # (n_k, p)
        A_inv_sqrt_Rt *= prior_std[first:last, None]
        few = last - first <= p
        factors.append((None, A_inv_sqrt_Rt.T) if few else rq(A_inv_sqrt_Rt.T, upper))
    Qs, Ls = zip(*factors, strict=True)
    sizes = np.minimum(n_weights, p)
    return Whitening(
        rank=p,
        factor=np.concatenate(Ls, axis=1),
        Q=Qs,
        prior_std=prior_std,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        weight_starts=weight_starts,
        component=np.repeat(np.arange(len(sizes)), sizes),
        column=state.column,
    )


def rq(block: FloatArray, upper: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Q (n, p) and L (p, p) with ``block = L Q'``, of a wide column-major (p, n) block.

    LAPACK's own routines, and the mask of the triangle handed in: numpy's wrapper costs more than
    the work on the usual small blocks. Overwrites the block.
    """
    work = LAPACK_BLOCK * len(block)
    packed, tau, _, info = lapack.dgerqf(block, lwork=work, overwrite_a=1)
    L = packed[:, -len(block) :] * upper
    Qt, _, info_q = lapack.dorgrq(packed, tau, lwork=work, overwrite_a=1)
    assert info == info_q == 0  # anything else means that the arguments are illegal
    return Qt.T, L
