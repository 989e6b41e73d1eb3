"""P(c, m | x), P(c | x) and r, in log space.

Arrays are (N, K) but stored with the samples contiguous (column-major), so that the many
reductions over the few components run along the long axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray, LabelArray


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


# a posterior below this counts as zero: its products with others would be denormal numbers, which
# processors are a hundred times slower with
NEGLIGIBLE = 1e-100
# below this, a sum of exponentials relative to the largest has lost digits to underflow
SMALLEST_SAFE_SUM = 1e-290


class RowPosterior(NamedTuple):
    """What the model says about rows of known class, or of known frequencies of the classes."""

    P_cm: FloatArray  # component posterior P(c, m | x): (N, K)
    r: FloatArray  # P(c, m | x) / P(c | x) in the own class, times its frequency; else 0: (N, K)
    log_P_own: FloatArray  # ln P(c_n | x_n) of the own class, or its mean: (N,)
    log_total: FloatArray  # log normaliser of the scores: (N,)


def row_posterior(logits: FloatArray, y: LabelArray, component_class: IntArray) -> RowPosterior:
    """Posteriors and responsibilities of rows from their scores (N, K).

    y are class indices (N,), or frequencies of the classes (N, C) that sum to one.
    """
    if y.ndim == 2:
        return frequent_posterior(logits, y, component_class)
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
    P[P < NEGLIGIBLE] = 0.0
    r /= own_total
    r[r < NEGLIGIBLE] = 0.0
    log_P_own = log_own - log_total
    log_total += largest
    return RowPosterior(P.T, r.T, log_P_own, log_total)


def frequent_posterior(
    logits: FloatArray, frequency: LabelArray, component_class: IntArray
) -> RowPosterior:
    """`row_posterior` where a row belongs to several classes, each with some frequency.

    The same as one row per class, each with its share of the weight.
    """
    shifted = logits.T - logits.max(axis=1)  # (K, N)
    starts = np.searchsorted(component_class, np.arange(frequency.shape[1]))
    # every class is shifted by its own maximum: far from a class all its terms would underflow
    class_largest = np.maximum.reduceat(shifted, starts, axis=0)  # (C, N)
    r = np.exp(shifted - class_largest[component_class])
    class_total = np.add.reduceat(r, starts, axis=0)
    log_class = np.log(class_total) + class_largest
    P = np.exp(shifted)
    total = P.sum(axis=0)
    P /= total
    P[P < NEGLIGIBLE] = 0.0
    r *= (frequency.T / class_total)[component_class]
    r[r < NEGLIGIBLE] = 0.0
    log_total = np.log(total)
    log_P_own = (frequency.T * (log_class - log_total)).sum(axis=0)
    return RowPosterior(P.T, r.T, log_P_own, log_total + logits.max(axis=1))
