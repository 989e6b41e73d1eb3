"""Which weights that a model does without would add to its evidence.

Tipping and Faul's test: with the gradient Q of a weight at zero, and S what the other weights leave
of its curvature, the evidence grows if ``Q^2 > S``. A third of all weights that are noise pass. How
many fail tells how many are noise, and so from which ratio on those that pass are mostly not.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack
from scipy.special import erfc

from sdgm._typing import BoolArray, FloatArray
from sdgm.core.objective import Mixture, block_posteriors, gradient_of_rows
from sdgm.core.precision import NumericalTrouble, robust_precision_cholesky
from sdgm.core.rows import Rows, RowSource
from sdgm.core.state import State

# part of those that come back that may be noise, and part of all noise whose ratio is above one
MOST_NOISE = 0.2
ABOVE_ONE = 0.3173
# numbers up to which it is computed what the weights there are leave of the curvature of the others
MOST_NUMBERS = 1 << 25
# part of its curvature below which a weight says only what others say
SAME = 1e-6
# curvature of a weight, in units of its column's norm, that counts as none: rows that are surely
# wrong have none, and a weight for them alone could be anything
SMALLEST_CURVATURE = 1e-8


def quality_of_absent(
    rows: RowSource, sample: RowSource, mixture: Mixture, state: State, norm: FloatArray
) -> FloatArray:
    """``Q^2 / S`` of every weight that the state does without, NaN for those it has: (K, p).

    Parameters
    ----------
    rows : RowSource
        They tell the gradients.
    sample : RowSource
        The same, or some of them weighted to stand for all: they tell the curvatures.
    mixture : Mixture
        The model at the state, in the columns of the rows.
    state : State
        With weights in units of the columns' norms, near their mode.
    norm : (p,) array
    """
    K, p, m = state.n_components, len(norm), state.n_weights
    Q = gradient_of_rows(rows, mixture, None).of_V / norm
    together = m * K * p <= MOST_NUMBERS
    others = state if together else state.keep_weights(np.zeros(m, dtype=bool))
    curvature = curvature_of_all(sample, mixture, others)
    S = curvature[:, -1] / norm**2
    there = state.component, state.column
    if together and m:
        prior_std = 1.0 / np.sqrt(state.alpha)
        # of the weights there are with all, in coordinates in which the prior has precision one
        cross = curvature[:, :-1] * (prior_std / norm[state.column])[:, None] / norm  # (K, m, p)
        slope = prior_std * (Q[there] - state.alpha * state.w)
        try:
            L = robust_precision_cholesky(cross[state.component, :, state.column].T * prior_std)
        except NumericalTrouble:
            pass  # S is too large then, and the test too strict
        else:
            half, _ = lapack.dtrtrs(L, slope, lower=1)
            for k in range(K):
                explained, _ = lapack.dtrtrs(L, cross[k], lower=1)  # (m, p)
                # the gradient where the weights there are will be at their mode
                Q[k] -= half @ explained
                left = S[k] - (explained**2).sum(axis=0)
                S[k] = np.where(left > SAME * S[k], left, np.inf)
    ratio = Q**2 / np.maximum(S, SMALLEST_CURVATURE)
    ratio[there] = np.nan
    return ratio


def curvature_of_all(rows: RowSource, mixture: Mixture, state: State) -> FloatArray:
    """Curvature of the state's weights with all, and last of all by themselves: (K, m + 1, p).

    That is `sdgm.core.objective.information`, between some and all.
    """
    K, m = state.n_components, state.n_weights

    def of_block(block: Rows) -> FloatArray:
        P_cm = block_posteriors(block, mixture, None)[0]
        alone = block.weighted(P_cm * (1.0 - P_cm))  # (K, N)
        result = np.empty((K, m + 1, block.Z.shape[1]))
        result[:, -1] = alone @ block.Z**2
        Gt = block.Z.T.take(state.column, axis=0)  # (m, N)
        Ut = block.weighted(P_cm).take(state.component, axis=0)
        Ut *= Gt
        for k in range(K if m else 0):
            np.matmul(-Ut, P_cm[k][:, None] * block.Z, out=result[k, :-1])
            own = state.component == k
            result[k, :-1][own] = Gt[own] @ (alone[k][:, None] * block.Z)
        return result

    # blocks of many rows, since sums of so many numbers take time too
    return rows.total(of_block, len(mixture.V))


def is_no_noise(ratio: FloatArray) -> BoolArray:
    """Marks ratios above one among which there is little noise, as Storey's q-values tell.

    Parameters
    ----------
    ratio : (n,) array
        ``Q^2 / S`` of each; those of noise are squares of standard normal numbers.
    """
    order = np.argsort(-ratio, kind="stable")
    n_noise = min((1 + np.count_nonzero(ratio <= 1.0)) / (1.0 - ABOVE_ONE), len(ratio))
    n_above = 1 + np.arange(len(ratio))
    noise_above = n_noise * erfc(np.sqrt(0.5 * ratio[order]))
    few = (noise_above <= MOST_NOISE * n_above) & (ratio[order] > 1.0)
    marked = np.zeros(len(ratio), dtype=bool)
    marked[order[: np.flatnonzero(few)[-1] + 1 if few.any() else 0]] = True
    return marked
