"""One alpha per column, common to all components: relevance vectors that all of them share."""

from __future__ import annotations

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.evidence import updated_alpha
from sdgm.core.inference.presets import Options
from sdgm.core.inference.pruning import has_few_weights, hastened
from sdgm.core.model.state import State

# least part of a weight's prior variance that is left, to take the logarithm of
SMALLEST_REST = 1e-12


def next_shared_alpha(
    state: State, w: FloatArray, gamma: FloatArray, gain: float, options: Options
) -> tuple[FloatArray, BoolArray]:
    """The updated alphas of whole columns, and which weights leave; see `pruning.next_alpha`.

    The prior of a column's weights has one precision, and MacKay's update sums over them:
    ``alpha_h <- sum_k gamma_kh / sum_k w_kh^2``. A column leaves as a whole.
    """
    remove = np.zeros(len(w), dtype=bool)
    if not options.learn_alpha:
        return state.alpha, remove
    _, group = np.unique(state.column, return_inverse=True)
    squared: FloatArray = np.bincount(group, w * w).astype(np.float64)
    determined: FloatArray = np.bincount(group, gamma).astype(np.float64)
    alpha = updated_alpha(determined, np.sqrt(squared))[group]
    evidence = evidence_of_columns(state.alpha, w, gamma, group)
    if has_few_weights(state, options) and gain <= options.newton_tol:
        least = int(evidence.argmin())
        if evidence[least] < options.min_evidence:
            remove = group == least  # others may stand in for it: one at a time
    elif options.few_weights:
        alpha = hastened(state.alpha, alpha, np.where(evidence[group] < 0.0, 0.0, 1.0))
    remove |= alpha > options.alpha_cap
    return np.clip(alpha, options.alpha_floor, options.alpha_cap), remove


def evidence_of_columns(
    alpha: FloatArray, w: FloatArray, gamma: FloatArray, group: IntArray
) -> FloatArray:
    """Log evidence that each column adds, its weights taken as independent: (n_columns,).

    A weight of sparsity S and quality Q adds
    ``(Q^2 / (alpha + S) + log(alpha / (alpha + S))) / 2``, which at the mode is
    ``(alpha w^2 / (1 - gamma) + log(1 - gamma)) / 2``.
    """
    rest = np.maximum(1.0 - gamma, SMALLEST_REST)
    each = 0.5 * (alpha * w * w / rest + np.log(rest))
    return np.bincount(group, each).astype(np.float64)
