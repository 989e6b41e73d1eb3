"""P(c, m | x), P(c | x) and r, in log space.

Arrays are (N, K) but stored with the samples contiguous (column-major), so that the many
reductions over the few components run along the long axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray


def scores(Z: FloatArray, V: FloatArray, log_pi: FloatArray) -> FloatArray:
    """Unnormalised log posteriors ``log pi_k + v_k' z_n``: (N, K), column-major."""
    logits: FloatArray = V.T @ Z.T  # (K, N)
    logits += log_pi[:, None]
    return logits.T


def log_sum_exp(a: FloatArray) -> FloatArray:
    """Log of the sum of exponentials along the last axis; scipy's costs more than small fits do."""
    largest = a.max(axis=-1)
    return np.log(np.exp(a - largest[..., None]).sum(axis=-1)) + largest


def component_log_posterior(logits: FloatArray) -> FloatArray:
    """Component posterior ``ln P(c, m | x)`` (Eq. 1): (N, K)."""
    # the largest score goes first: beside a huge one, the log of the sum would be rounded away
    shifted = logits - logits.max(axis=1)[:, None]
    shifted -= np.log(np.exp(shifted).sum(axis=1))[:, None]
    return shifted


def class_log_posterior(
    log_P_cm: FloatArray, component_class: IntArray, n_classes: int
) -> FloatArray:
    """Class posterior ``ln P(c | x) = ln sum_m P(c, m | x)`` (Eq. 1): (N, C)."""
    log_P_c = np.empty((len(log_P_cm), n_classes), order="F")
    starts = np.searchsorted(component_class, np.arange(n_classes + 1))
    for c in range(n_classes):
        own = log_P_cm[:, starts[c] : starts[c + 1]]
        log_P_c[:, c] = own[:, 0] if own.shape[1] == 1 else log_sum_exp(own)
    # a sum of rounded probabilities may be just above one
    return np.minimum(log_P_c, 0.0, out=log_P_c)


# below this, a sum of exponentials relative to the largest has lost digits to underflow
SMALLEST_SAFE_SUM = 1e-290


class RowPosterior(NamedTuple):
    """What the model says about rows of known class.

    Attributes
    ----------
    P_cm : (N, K) array
        Component posterior P(c, m | x).
    r : (N, K) array
        ``P(c, m | x) / P(c | x)`` in the row's own class, zero elsewhere.
    log_P_own : (N,) array
        ``ln P(c_n | x_n)`` of the row's own class.
    log_total : (N,) array
        Log normaliser of the scores.
    """

    P_cm: FloatArray
    r: FloatArray
    log_P_own: FloatArray
    log_total: FloatArray


def row_posterior(logits: FloatArray, y: IntArray, component_class: IntArray) -> RowPosterior:
    """Posteriors and responsibilities of rows with class indices ``y`` from their scores."""
    largest = logits.max(axis=1)
    shifted = logits.T - largest  # (K, N)
    own = component_class[:, None] == y  # (K, N)
    P = np.exp(shifted)
    total = P.sum(axis=0)
    r = P * own
    own_total = r.sum(axis=0)
    log_total = np.log(total)
    if own_total.min() > SMALLEST_SAFE_SUM:
        log_own = np.log(own_total)
    else:
        # a row so far from its class that every exp of the class underflows: shift by the
        # class's own maximum, so that r stays a distribution instead of 0 / 0
        own_shifted = np.where(own, shifted, -np.inf)
        own_largest = own_shifted.max(axis=0)
        r = np.exp(own_shifted - own_largest)
        own_total = r.sum(axis=0)
        log_own = np.log(own_total) + own_largest
    P /= total
    r /= own_total
    log_P_own = log_own - log_total
    log_total += largest
    return RowPosterior(P.T, r.T, log_P_own, log_total)
