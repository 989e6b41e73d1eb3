"""Criteria from the Laplace approximation: evidence of both kinds, and leaving out single rows.

The curvature of the log posterior of a mixture is ``I + complete - missing``: with responsibilities
held it would be ``I + complete``, which is what evidence maximisation uses; that they move with the
weights is what is missing. Coordinates are whitened, so that the prior is the ``I``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.model.posterior import (
    class_log_posterior,
    component_log_posterior,
    row_posterior,
    scores,
)
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Derivatives, Mixture, derivatives_of_rows
from sdgm.core.objective.whitening import Whitening, whiten
from sdgm.core.solvers.newton import maximize_over_w

# eigenvalues of the precision are at least this: along no direction is the posterior variance more
# than a hundred times that of the prior. Only away from a maximum is one smaller.
SMALLEST_EIGENVALUE = 0.01
# largest eigenvalue of (covariance x curvature) of a row left out; at one the row alone would
# decide its own scores
LARGEST_LEVERAGE = 0.99


@dataclass(frozen=True)
class Mode:
    """The most probable weights of a fitted model with its precisions and mixture weights held."""

    rows: Rows
    whitening: Whitening
    mixture: Mixture
    theta: FloatArray
    here: Derivatives

    def eigen(self, *, observed: bool) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the precision, as they are, and eigenvectors."""
        information = self.here.curvature
        if observed:
            assert self.here.missing is not None
            information = information - self.here.missing
        values, vectors = np.linalg.eigh(information)
        return 1.0 + values, vectors


def problem_of(model: Any, X: FloatArray, codes: IntArray) -> tuple[Rows, State]:
    """Rows in the columns that a fitted model kept, each counted once, and its state in them."""
    state = model._state
    Phi = model._basis.transform(model._standardized(X))
    Z = np.asfortranarray(np.column_stack([np.ones(len(X)), Phi]))
    columns = np.unique(np.concatenate([[0], state.column]))
    position = np.searchsorted(columns, state.column)
    return Rows(Z, codes, np.ones(len(X))), replace(state, column=position)


def mode_of(rows: Rows, state: State, *, tol: float = 1e-8) -> Mode:
    """Climb from the weights of a state to their mode."""
    whitening = whiten(np.eye(rows.Z.shape[1]), state)
    theta = whitening.to_theta(state.w)
    mixture = Mixture(whitening.score_vectors(theta), np.log(state.pi), state.component_class)
    if len(theta):
        end, _ = maximize_over_w(
            rows, whitening, mixture, theta, max_steps=50, tol=tol, r_from=None, observed=True
        )
        theta, mixture = end.theta, end.mixture
    here = derivatives_of_rows(rows, mixture, None, whitening, missing=True)
    return Mode(rows, whitening, mixture, theta, here)


def observed_evidence(mode: Mode) -> tuple[float, int]:
    """Laplace evidence with the curvature of the log posterior itself, and eigenvalues raised."""
    values, _ = mode.eigen(observed=True)
    raised = int((values < SMALLEST_EIGENVALUE).sum())
    half_log_det = 0.5 * float(np.log(np.maximum(values, SMALLEST_EIGENVALUE)).sum())
    log_posterior = mode.here.fit.log_likelihood - 0.5 * float(mode.theta @ mode.theta)
    return log_posterior - half_log_det, raised


def leave_one_out_losses(mode: Mode, *, observed: bool) -> FloatArray:
    """``-ln P(c_n | x_n)`` by the model without row n, one Newton step away: (N,).

    Row n acts on the K scores a at its own input, with gradient ``e = r - p`` and curvature
    ``W = diag(p) - pp' - (diag(r) - rr')`` there. With Sigma the posterior covariance of these
    scores, Newton's step without the row moves them to ``a - (I - Sigma W)^-1 Sigma e``.
    """
    rows, whitening, mixture = mode.rows, mode.whitening, mode.mixture
    a = scores(rows.Z, mixture.V, mixture.log_pi)
    now = row_posterior(a, rows.y, mixture.component_class)
    values, vectors = mode.eigen(observed=observed)
    half = vectors / np.sqrt(np.maximum(values, SMALLEST_EIGENVALUE))  # V = half half'
    G = rows.Z @ whitening.L  # (N, m)
    parts = [G[:, k] @ half[k] for k in whitening.coordinates]
    S = np.stack(parts, axis=1)  # (N, K, m)
    root = matrix_root(S @ S.transpose(0, 2, 1))
    W = softmax_curvature(now.P_cm)
    if observed:
        W -= softmax_curvature(now.r)
    # I - Sigma W is similar to the symmetric I - root W root
    leverage, Q = np.linalg.eigh(root @ W @ root)
    leverage = np.minimum(leverage, LARGEST_LEVERAGE)
    pull = Q.transpose(0, 2, 1) @ root @ (now.r - now.P_cm)[:, :, None]  # (N, K, 1)
    moved = root @ Q @ (pull / (1.0 - leverage)[:, :, None])
    n_classes = int(mixture.component_class[-1]) + 1
    without = component_log_posterior(a - moved[:, :, 0])
    log_P_c = class_log_posterior(without, mixture.component_class, n_classes)
    return -log_P_c[np.arange(len(rows)), rows.y]


def softmax_curvature(P: FloatArray) -> FloatArray:
    """``diag(p) - pp'`` of every row: (N, K, K)."""
    return P[:, :, None] * (np.eye(P.shape[1]) - P[:, None, :])


def matrix_root(A: FloatArray) -> FloatArray:
    """Symmetric square roots of positive semidefinite matrices: (N, K, K)."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)
