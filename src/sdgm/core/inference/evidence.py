"""The outer updates: how well the data determine each weight, alpha, pi, the log evidence.

And when they have converged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.mode import NEVER, Mode, Phase
from sdgm.core.model.state import Record, State
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows, fit_of_rows, mixture_at
from sdgm.core.objective.whitening import Whitening, whiten
from sdgm.core.solvers.block_precision import BlockPrecision
from sdgm.core.solvers.newton import log_posterior
from sdgm.core.solvers.precision import Precision, robust_precision_cholesky


def well_determined(whitening: Whitening, precision: Precision) -> FloatArray:
    """``1 - alpha_h lambda_h`` of every active weight, between zero and one: (n_active,).

    MacKay's gamma is ``q_h' (I - V) q_h`` with V the inverse of the precision.
    """
    if whitening.is_diagonal:
        gamma = precision.shrinkage_diagonal()
    else:
        blocks = precision.shrinkage(whitening.coordinates)
        gamma = np.concatenate(
            [
                np.diagonal(block) if Q is None else ((Q @ block) * Q).sum(axis=1)
                for block, Q in zip(blocks, whitening.Q, strict=True)
            ]
        )
    # rounding may leave a tiny negative value, whose alpha would be negative
    return np.clip(gamma, 0.0, 1.0)


def log_evidence(log_posterior: float, precision: Precision) -> float:
    """Laplace approximation ``J - |theta|^2 / 2 - log det(precision) / 2``."""
    return log_posterior - precision.half_log_det


def updated_alpha(gamma: FloatArray, w: FloatArray) -> FloatArray:
    """``alpha_h <- (1 - alpha_h lambda_h) / w_h^2`` (Eq. 17).

    Infinite where the weight is zero or the data say nothing about it.
    """
    w_squared = w * w
    known = (gamma > 0.0) & (w_squared > 0.0)
    # gamma is at most one, so that a square of at least this cannot overflow the quotient
    return np.where(known, gamma / np.maximum(w_squared, 1e-300), np.inf)


def updated_pi(r_sum: FloatArray, component_class: IntArray, class_share: FloatArray) -> FloatArray:
    """Mean responsibility of each component within its class, times the share of the class.

    With shares of one this is the paper's update of pi (Eq. 18).
    """
    class_sum = np.bincount(component_class, r_sum, minlength=len(class_share))
    return r_sum / class_sum[component_class] * class_share[component_class]


def weight_covariance(whitening: Whitening, cholesky: FloatArray) -> FloatArray:
    """Posterior covariance Lambda of the active weights (Eq. 16): (n_active, n_active).

    ``Lambda = A^-1/2 (I - Q Q' + Q V Q') A^-1/2``: the data say nothing about combinations of
    weights outside Q, which keep their prior.
    """
    if len(cholesky) == 0:
        return np.empty((0, 0))
    V, _ = lapack.dpotri(cholesky, lower=1)
    V = np.tril(V) + np.tril(V, -1).T
    if not whitening.is_diagonal:
        Q_all = np.zeros((len(whitening.prior_std), len(V)))
        for coords, weights, Q in whitening.blocks():
            Q_all[weights, coords] = np.eye(coords.stop - coords.start) if Q is None else Q
        V = Q_all @ (V - np.eye(len(V))) @ Q_all.T + np.eye(len(Q_all))
    return V * whitening.prior_std * whitening.prior_std[:, None]


def laplace_covariance(rows: RowSource, Rt: FloatArray, state: State) -> FloatArray:
    """Posterior covariance Lambda of the weights of a state (Eq. 16): (n_active, n_active)."""
    whitening = whiten(Rt, state)
    mixture = mixture_at(whitening, whitening.to_theta(state.w), state)
    curvature = derivatives_of_rows(rows, mixture, None, whitening).curvature
    return weight_covariance(whitening, robust_precision_cholesky(curvature))


# --- what is written down of every outer pass ---


def record_of(mode: Mode, state: State, change: float, iteration: int, seconds: float) -> Record:
    """The record of an outer pass that ended in ``state``."""
    fit, theta = mode.point.fit, mode.point.theta
    expected_log_posterior = log_posterior(fit, theta, complete=True)  # Eq. 11
    return Record(
        iteration=iteration,
        log_posterior=log_posterior(fit, theta, complete=False),
        log_likelihood=fit.log_likelihood,
        log_evidence=log_evidence(expected_log_posterior, mode.point.precision),
        n_weights=state.n_weights,
        n_components=state.n_components,
        alpha_change=change,
        newton_steps=mode.n_steps,
        seconds=seconds,
    )


def empty_record(
    rows: RowSource, Rt: FloatArray, state: State, iteration: int, seconds: float
) -> Record:
    """The record of a model without weights, which only knows pi."""
    V = np.zeros((Rt.shape[1], state.n_components))
    mixture = Mixture(V, np.log(state.pi), state.component_class)
    fit = fit_of_rows(rows.without_initial_r(), mixture, None)
    return Record(
        iteration=iteration,
        log_posterior=fit.log_likelihood,
        log_likelihood=fit.log_likelihood,
        log_evidence=fit.J,
        n_weights=0,
        n_components=state.n_components,
        alpha_change=0.0,
        newton_steps=0,
        seconds=seconds,
    )


# --- whether learning has converged ---

# passes over which the log evidence must grow for learning to go on: single ones may lose some
STALLED_PASSES = 10
# passes without a weight less after which precisions swing rather than settle
IDLE_PASSES = 20
# what it must grow by: per weight where the rows are a sample, since all rows decide again; per
# component where it comes from diagonal blocks
SAMPLE_GAIN, BLOCKS_GAIN = 0.05, 0.01


@dataclass(frozen=True)
class Settled:
    """Whether precisions have settled, w is at its mode and nothing left.

    Of hundreds of weights some are always on their way out. With the approximate evidence of
    diagonal blocks it is not worth waiting for the last of them: learning also ends when the
    evidence stalls.

    Attributes
    ----------
    tol : float
        Largest relative change that counts as none.
    squared_tol : float
        Sum of squared changes that does, the authors' rule; zero for never.
    waits : Phase
        When a stall does not count, since the last weights are judged one by one.
    """

    tol: float
    squared_tol: float = 0.0
    waits: Phase = NEVER

    def __call__(
        self,
        changed: tuple[FloatArray, FloatArray],
        before: State,
        after: State,
        mode: Mode,
        records: Sequence[Record],
    ) -> bool:
        """Whether to stop, given precisions before and after, the states, mode and records."""
        if not mode.is_reached or mode.has_initial_r:
            return False
        is_approximate = isinstance(mode.point.precision, BlockPrecision)
        may_stall = is_approximate and not self.waits(after)
        if may_stall and has_stalled(records, BLOCKS_GAIN * after.n_components):
            return True
        same_size = (
            before.n_weights == after.n_weights and before.n_components == after.n_components
        )
        if not same_size:
            return False
        squared = float(((changed[1] - changed[0]) ** 2).sum())
        return log_change(*changed) < self.tol or squared < self.squared_tol


@dataclass(frozen=True)
class SettledOrStalled(Settled):
    """The same, or the evidence has stalled: for a sample, after which all rows decide again."""

    def __call__(
        self,
        changed: tuple[FloatArray, FloatArray],
        before: State,
        after: State,
        mode: Mode,
        records: Sequence[Record],
    ) -> bool:
        if not self.waits(after) and has_stalled(records, SAMPLE_GAIN * after.n_weights):
            return True
        return super().__call__(changed, before, after, mode, records)


@dataclass(frozen=True)
class SettledOrIdle(SettledOrStalled):
    """The same, or no weight has left for many passes: for a model of which some leave later."""

    def __call__(
        self,
        changed: tuple[FloatArray, FloatArray],
        before: State,
        after: State,
        mode: Mode,
        records: Sequence[Record],
    ) -> bool:
        if len(records) > IDLE_PASSES and records[-1 - IDLE_PASSES].n_weights == after.n_weights:
            return True
        return super().__call__(changed, before, after, mode, records)


def has_stalled(records: Sequence[Record], least: float) -> bool:
    """Whether the log evidence rose by less than that above its lowest of the last passes.

    Evidence that only falls has stalled; at first it falls and rises, while the components of a
    class part.
    """
    last = [record.log_evidence for record in records[-1 - STALLED_PASSES :]]
    return len(last) > STALLED_PASSES and last[-1] - min(last) < least


def log_change(before: FloatArray, after: FloatArray) -> float:
    """Largest relative change, on the log scale."""
    return float(np.abs(np.log(after / before)).max(initial=0.0))
