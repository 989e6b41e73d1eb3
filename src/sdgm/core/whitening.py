"""Coordinates in which the prior of the weights is the standard normal.

For component k with active columns R_a and precisions A, a thin QR factorisation
``A^-1/2 R_a' = Q L'`` gives ``theta = Q' A^1/2 w ~ N(0, I)`` and ``Phi w = Z L theta``: as many
coordinates as the component has weights or the design has rank, whichever is smaller. QR, because
a Cholesky factor of ``R_a A^-1 R_a'`` would square the condition number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.state import State


@dataclass(frozen=True)
class Whitening:
    """The map between active weights w and whitened coordinates theta, component by component.

    Attributes
    ----------
    L : (p, m) array
        Blocks L_k side by side; the scores of component k are ``Z @ L_k @ theta_k``.
    Q : tuple of (n_k, m_k) arrays, or None where it is the identity
    prior_std : (n_active,) array
        ``alpha ** -0.5``.
    starts : (K + 1,) array
        Where each component's coordinates begin in theta.
    weight_starts : (K + 1,) array
        Where each component's weights begin in w.
    """

    L: FloatArray
    Q: tuple[FloatArray | None, ...]
    prior_std: FloatArray
    starts: IntArray
    weight_starts: IntArray

    @property
    def component(self) -> IntArray:
        """Component of each coordinate: (m,)."""
        return np.repeat(np.arange(len(self.Q)), np.diff(self.starts))

    def blocks(self) -> list[tuple[slice, slice, FloatArray | None]]:
        """Per component: its coordinates, its weights, and Q."""
        return [
            (slice(a, b), slice(c, d), Q)
            for a, b, c, d, Q in zip(
                self.starts[:-1],
                self.starts[1:],
                self.weight_starts[:-1],
                self.weight_starts[1:],
                self.Q,
                strict=True,
            )
        ]

    def to_theta(self, w: FloatArray) -> FloatArray:
        """``theta = Q' A^1/2 w``, the coordinates with the same scores: (m,)."""
        scaled = w / self.prior_std
        if all(Q is None for Q in self.Q):
            return scaled
        return np.concatenate(
            [
                scaled[weights] if Q is None else Q.T @ scaled[weights]
                for _, weights, Q in self.blocks()
            ]
        )

    def to_w(self, theta: FloatArray) -> FloatArray:
        """``w = A^-1/2 Q theta``, the most probable weights with these scores: (n_active,)."""
        if all(Q is None for Q in self.Q):
            return self.prior_std * theta
        scaled = np.concatenate(
            [theta[coords] if Q is None else Q @ theta[coords] for coords, _, Q in self.blocks()]
        )
        return self.prior_std * scaled

    def score_vectors(self, theta: FloatArray) -> FloatArray:
        """``V`` with one column ``L_k theta_k`` per component, so that the scores are ``Z V``: (p, K)."""
        V = np.zeros((len(self.L), len(self.Q)))
        np.add.at(V.T, self.component, (self.L * theta).T)
        return V


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
    A_inv_sqrt_Rt = Rt[state.column] * prior_std[:, None]  # (n_active, p)
    weight_starts = state.starts
    n_weights = np.diff(weight_starts)
    starts = np.concatenate([[0], np.cumsum(np.minimum(n_weights, p))])
    if n_weights.max(initial=0) <= p:
        L = A_inv_sqrt_Rt.T
        return Whitening(L, (None,) * len(n_weights), prior_std, starts, weight_starts)
    Q: list[FloatArray | None] = []
    Lt: list[FloatArray] = []
    for first, last in zip(weight_starts[:-1], weight_starts[1:], strict=True):
        block = A_inv_sqrt_Rt[first:last]
        if len(block) <= p:
            Q.append(None)
            Lt.append(block)
        else:
            Q_k, Lt_k = np.linalg.qr(block)
            Q.append(Q_k)
            Lt.append(Lt_k)
    return Whitening(np.concatenate(Lt).T, tuple(Q), prior_std, starts, weight_starts)
