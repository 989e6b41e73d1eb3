"""Which weights and which components leave."""

from __future__ import annotations

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.state import State


def quality_over_sparsity(alpha: FloatArray, w: FloatArray, gamma: FloatArray) -> FloatArray:
    """Tipping & Faul's ``quality^2 / sparsity`` of every weight at the mode: (n_active,).

    With ``S = gamma alpha`` and ``Q = alpha w``, sparsity is ``S / (1 - gamma)`` and quality is
    ``Q / (1 - gamma)``. At or below one, the evidence is highest without the weight.
    """
    # gamma (1 - gamma) underflows for a weight the data say nothing about: ratio 0, not 0 / 0
    return alpha * w * w / np.maximum(gamma * (1.0 - gamma), np.finfo(float).tiny)


def evidence_of_weight(ratio: FloatArray) -> FloatArray:
    """Log evidence that a weight adds at its best alpha, given its ``quality_over_sparsity``.

    ``(ratio - 1 - log ratio) / 2``, and nothing when the best alpha is infinite.
    """
    above = np.maximum(ratio, 1.0)
    return 0.5 * (above - 1.0 - np.log(above))


def optimal_alpha(alpha: FloatArray, gamma: FloatArray, ratio: FloatArray) -> FloatArray:
    """The alpha that maximises the evidence with all others held: sparsity^2 / (quality^2 - sparsity).

    Infinite where the ratio of quality^2 to sparsity is at most one.
    """
    sparsity = gamma * alpha / np.maximum(1.0 - gamma, np.finfo(float).tiny)
    with np.errstate(divide="ignore"):
        return np.where(ratio > 1.0, sparsity / np.maximum(ratio - 1.0, 0.0), np.inf)


def least_needed(
    ratio: FloatArray, component: IntArray, column: IntArray, min_evidence: float
) -> BoolArray:
    """Marks weights that add less than ``min_evidence``, least first, and no two that are related.

    Weights of one component, and weights of one column in different components, can stand in for
    each other: each looks unneeded while the other is there, and removing both has cost whole
    classes. So no component and no column loses more than one at a time.
    """
    remove = np.zeros(len(ratio), dtype=bool)
    candidates = np.flatnonzero(evidence_of_weight(ratio) < min_evidence)
    components: set[int] = set()
    columns: set[int] = set()
    for i in candidates[np.argsort(ratio[candidates], kind="stable")].tolist():
        if component[i] not in components and column[i] not in columns:
            remove[i] = True
            components.add(component[i])
            columns.add(column[i])
    return remove


def prune_components(state: State, min_share: float) -> State:
    """Remove components without samples; make one of a class's components without weights.

    A component with pi = 0 never wins and goes. One without weights scores ``log pi`` everywhere:
    all those of a class together are one constant background, with the sum of their pi, and
    predictions stay the same.
    """
    n_classes = int(state.component_class[-1]) + 1
    class_pi = np.bincount(state.component_class, state.pi, minlength=n_classes)
    keep = state.pi > min_share * class_pi[state.component_class]
    pi = state.pi.copy()
    empty = keep & (np.diff(state.starts) == 0)
    for c in np.unique(state.component_class[empty]):
        background = np.flatnonzero(empty & (state.component_class == c))
        pi[background[0]] = pi[background].sum()
        keep[background[1:]] = False
    return state if keep.all() else state.keep_components(keep, pi)
