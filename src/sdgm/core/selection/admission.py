"""Which weights outside the model would increase its evidence.

Tipping and Faul's test: with the gradient Q of a weight at zero, and the part S of its curvature
that the other weights leave, the evidence increases if ``Q^2 > S``. A third of all noise weights
pass. The number that fail gives an estimate of the number of noise weights, and hence the ratio
above which few of those that pass are noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.special import erfc

from sdgm._typing import BoolArray, FloatArray
from sdgm.core.data.rows import Rows, RowSource, Sums
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture, block_posteriors
from sdgm.core.solvers.precision import FactorizationError, robust_precision_cholesky

# false discovery rate of the admitted weights; learning goes on and removes those that are noise
MOST_NOISE = 0.2
# share of noise weights whose ratio is above one: the ratio is a squared standard normal number
ABOVE_ONE = 0.3173
# limits for computing the curvature that the active weights leave to the others: numbers, 32 MB per
# copy, of which there are several;
MOST_NUMBERS = 1 << 22
# multiplications, about 25 seconds of a core;
MOST_WORK = 2.5e11
# and rows of the sample per weight: with fewer, correlations would be mostly noise
ROWS_PER_WEIGHT = 32
# maximum error of a gradient, relative to its variance
LARGEST_ERROR = 0.2
# part of its curvature below which a weight is redundant
SAME = 1e-6
# curvature of a weight, in units of its column's norm, that counts as zero: rows that are certainly
# misclassified have none, so a weight for these rows alone is undetermined
SMALLEST_CURVATURE = 1e-8


@dataclass(slots=True)
class Slopes(Sums):
    """Sums over rows for every weight, at the current model."""

    Q: FloatArray  # gradient, sum s (r - P) z: (K, p)
    S: FloatArray  # curvature, sum s P (1 - P) z^2: (K, p)
    spread: FloatArray  # variance of a noise weight's gradient, sum s^2 P (1 - P) z^2: (K, p)
    weight: FloatArray  # sum of s, and how many are above zero: (2,)


def slopes_of_rows(rows: RowSource, mixture: Mixture) -> Slopes:
    """The sums of all rows."""

    def of_block(block: Rows) -> Slopes:
        P_cm, r, _ = block_posteriors(block, mixture, None)
        curvature = P_cm * (1.0 - P_cm) * block.s  # (K, N)
        squares = block.Z**2
        S = curvature @ squares
        return Slopes(
            ((r - P_cm) * block.s) @ block.Z,
            S,
            S.copy() if block.is_unweighted else (curvature * block.s) @ squares,
            np.array([block.s.sum(), np.count_nonzero(block.s)]),
        )

    return rows.total(of_block, len(mixture.V))


@dataclass(frozen=True)
class Quality:
    """For every weight outside the model; NaN for weights of the model and uninformative ones.

    Attributes
    ----------
    ratio : (K, p) array
        ``Q^2 / S``: the evidence grows with the weight if that is above one.
    surprise : (K, p) array
        ``Q^2`` in units of its expectation for a weight that is noise. The same where all sample
        weights are equal: they are frequencies then. Where they differ, some rows count more than
        others, and with them their noise.
    """

    ratio: FloatArray
    surprise: FloatArray


def quality_of_absent(
    rows: RowSource, sample: RowSource, mixture: Mixture, state: State, norm: FloatArray
) -> Quality:
    """How much each weight outside the state would matter.

    Parameters
    ----------
    rows : RowSource
        For the gradients, and the curvature of each weight by itself.
    sample : RowSource
        The same, or some of them weighted to stand for all: for what the others leave of it.
    mixture : Mixture
        The model at the state, in the columns of the rows.
    state : State
        With weights in units of the columns' norms. At their mode, unless `is_near_enough`.
    norm : (p,) array
    """
    slopes = slopes_of_rows(rows, mixture)
    Q, S = slopes.Q / norm, slopes.S / norm**2
    mean_weight = slopes.weight[0] / slopes.weight[1]
    noise = np.ones_like(S)
    np.divide(slopes.spread, mean_weight * slopes.S, out=noise, where=S > SMALLEST_CURVATURE)
    is_known = np.maximum(S, Q**2) < SMALLEST_CURVATURE  # such as a column of zeros
    if state.n_weights and considers_others(sample, state, len(norm)):
        Q, left = beside_others(Q, sample, mixture, state, norm)
        is_known |= left < SAME
        S *= np.maximum(left, SAME)
    ratio = Q**2 / np.maximum(S, SMALLEST_CURVATURE)
    is_known[state.component, state.column] = True
    ratio[is_known] = np.nan
    return Quality(ratio, ratio / noise)


def considers_others(sample: RowSource, state: State, n_columns: int) -> bool:
    """Whether what the active weights leave of the curvature of the others is computed.

    If not, the test is strict and needs gradients at the mode.
    """
    numbers = float(state.n_weights) * state.n_components * n_columns
    return (
        len(sample) >= ROWS_PER_WEIGHT * state.n_weights
        and numbers <= MOST_NUMBERS
        and len(sample) * numbers <= MOST_WORK
    )


def is_near_enough(n_rows: int, sample: RowSource, state: State, n_columns: int) -> bool:
    """Whether weights at the mode of a sample are near enough to the mode of all rows.

    The curvature of n sampled rows, which differs from the curvature of all N, carries the
    gradients to that mode. In units of the variance of a noise weight's gradient, the error has the
    variance ``N m / n^2``.
    """
    error = float(n_rows) * state.n_weights / float(len(sample)) ** 2
    return considers_others(sample, state, n_columns) and error <= LARGEST_ERROR


def beside_others(
    Q: FloatArray, sample: RowSource, mixture: Mixture, state: State, norm: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradients with the active weights at their mode, and the part of S they leave: (K, p) each.

    Nothing is left if the precision of the active weights cannot be factorised.
    """
    curvature = curvature_of_all(sample, mixture, state)
    curvature /= norm
    S, cross = curvature[:, -1] / norm, curvature[:, :-1]
    # of the active weights with all, in coordinates in which the prior has precision one
    prior_std = 1.0 / np.sqrt(state.alpha)
    cross *= (prior_std / norm[state.column])[:, None]  # (K, m, p)
    try:
        L = robust_precision_cholesky(cross[state.component, :, state.column].T * prior_std)
    except FactorizationError:
        return Q, np.zeros_like(Q)
    slope = prior_std * (Q[state.component, state.column] - state.alpha * state.w)
    half, _ = lapack.dtrtrs(L, slope, lower=1)
    moved, left = np.empty_like(Q), np.ones_like(Q)
    for k in range(len(Q)):
        explained, _ = lapack.dtrtrs(L, cross[k], lower=1)  # (m, p)
        moved[k] = Q[k] - half @ explained
        left[k] -= (explained**2).sum(axis=0) / np.maximum(S[k], SMALLEST_CURVATURE)
    return moved, left


def curvature_of_all(rows: RowSource, mixture: Mixture, state: State) -> FloatArray:
    """Curvature of the state's weights with all, and last of all by themselves: (K, m + 1, p).

    That is `sdgm.core.objective.derivatives.information`, between some and all.
    """
    K, m = state.n_components, state.n_weights

    def of_block(block: Rows) -> FloatArray:
        P_cm = block_posteriors(block, mixture, None)[0]
        alone = P_cm * (1.0 - P_cm) * block.s  # (K, N)
        result = np.empty((K, m + 1, block.Z.shape[1]))
        result[:, -1] = alone @ block.Z**2
        Gt = block.Z.T.take(state.column, axis=0)  # (m, N)
        Ut = (P_cm * block.s).take(state.component, axis=0)
        Ut *= Gt
        for k in range(K):
            np.matmul(-Ut, P_cm[k][:, None] * block.Z, out=result[k, :-1])
            own = state.component == k
            result[k, :-1][own] = Gt[own] @ (alone[k][:, None] * block.Z)
        return result

    return rows.total(of_block, max(m, len(mixture.V)))


def is_no_noise(surprise: FloatArray) -> BoolArray:
    """Selects weights with a low false discovery rate, by Storey's q-values: (n,).

    ``surprise`` is as in `Quality`; for noise it is the square of a standard normal number.
    """
    order = np.argsort(-surprise, kind="stable")
    n_noise = min((1 + np.count_nonzero(surprise <= 1.0)) / (1.0 - ABOVE_ONE), len(surprise))
    n_above = 1 + np.arange(len(surprise))
    noise_above = n_noise * erfc(np.sqrt(0.5 * surprise[order]))
    few = (noise_above <= MOST_NOISE * n_above) & (surprise[order] > 1.0)
    marked = np.zeros(len(surprise), dtype=bool)
    marked[order[: np.flatnonzero(few)[-1] + 1 if few.any() else 0]] = True
    return marked
