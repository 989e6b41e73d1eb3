"""What becomes of each alpha, and which weights and components leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.evidence import updated_alpha
from sdgm.core.inference.presets import Options
from sdgm.core.model.state import State

# quality^2 / sparsity above which a weight's alpha may jump to its optimum; just above one the
# optimum is far away and moves with every other weight
CLEARLY_NEEDED = 1.1
# part of the way, on the log scale, that such an alpha goes: correlated weights that go all the
# way at once overshoot together and swing for ever
DAMPING = 0.7
# relative difference of weights that is only rounding; among equals the last is the reference
SAME_SIZE = 1e-6
# least product of gamma and 1 - gamma to divide by
SMALLEST_DOUBT = 1e-200
# how much longer a step, on the log scale, the alphas of dying weights take
HASTE = 2.0


def next_alpha(
    state: State, w: FloatArray, gamma: FloatArray, gain: float, rank: int, options: Options
) -> tuple[FloatArray, BoolArray]:
    """The updated alphas, and which weights leave.

    The paper's update is gradual, and the alphas of unneeded weights creep to the cap. Many
    correlated weights need that, at most with longer steps; few weights at their mode can be
    judged one by one and moved at once.

    Parameters
    ----------
    state : State
        With the alphas before.
    w, gamma : (n_active,) arrays
        Weights at their mode, and how well the data determine them.
    gain : float
        How far, in log posterior, the weights are from their mode.
    rank : int
        Rank of the design.
    options : Options
    """
    remove = np.zeros(len(w), dtype=bool)
    if not options.learn_alpha:
        return state.alpha, remove
    alpha = updated_alpha(gamma, w)
    if options.few_weights:
        ratio = quality_over_sparsity(state.alpha, w, gamma)
        if has_few_weights(state, options) and gain <= options.newton_tol:
            best = optimal_alpha(state.alpha, gamma, ratio)
            damped = state.alpha * (best / state.alpha) ** DAMPING
            alpha = np.where(ratio > CLEARLY_NEEDED, damped, alpha)
            remove = least_needed(ratio, state.component, state.column, options.min_evidence, rank)
        else:
            alpha = hastened(state.alpha, alpha, ratio)
    remove |= alpha > options.alpha_cap
    return np.clip(alpha, options.alpha_floor, options.alpha_cap), remove


def has_few_weights(state: State, options: Options) -> bool:
    """Whether weights, or columns that components share, are few enough to be judged singly."""
    n_judged = len(np.unique(state.column)) if options.share_columns else state.n_weights
    return n_judged <= options.few_weights * state.n_components


def hastened(before: FloatArray, after: FloatArray, ratio: FloatArray) -> FloatArray:
    """The alphas after an update, further along where the best alpha is infinite: ratio < 1."""
    growth = np.maximum(after / before, 1.0)
    with np.errstate(over="ignore"):
        return np.where(ratio < 1.0, after * growth ** (HASTE - 1.0), after)


def quality_over_sparsity(alpha: FloatArray, w: FloatArray, gamma: FloatArray) -> FloatArray:
    """Tipping & Faul's ``quality^2 / sparsity`` of every weight at the mode: (n_active,).

    With ``S = gamma alpha`` and ``Q = alpha w``, sparsity is ``S / (1 - gamma)`` and quality is
    ``Q / (1 - gamma)``. At or below one, the evidence is highest without the weight.
    """
    # gamma (1 - gamma) vanishes for weights the data say nothing or everything about: the ratio is
    # zero or large then, but neither 0 / 0 nor infinite
    ratio = alpha * w * w / np.maximum(gamma * (1.0 - gamma), SMALLEST_DOUBT)
    return np.where(gamma > SMALLEST_DOUBT, ratio, 0.0)


def evidence_of_weight(ratio: FloatArray) -> FloatArray:
    """Log evidence that a weight adds at its best alpha, given its ``quality_over_sparsity``.

    ``(ratio - 1 - log ratio) / 2``, and nothing when the best alpha is infinite.
    """
    above = np.maximum(ratio, 1.0)
    return 0.5 * (above - 1.0 - np.log(above))


def optimal_alpha(alpha: FloatArray, gamma: FloatArray, ratio: FloatArray) -> FloatArray:
    """The alpha that maximises the evidence with all others held.

    ``sparsity^2 / (quality^2 - sparsity)``, infinite where their ratio is at most one.
    """
    sparsity = gamma * alpha / np.maximum(1.0 - gamma, np.finfo(float).tiny)
    excess = np.where(ratio > 1.0, ratio - 1.0, 1.0)
    return np.where(ratio > 1.0, sparsity / excess, np.inf)


def least_needed(
    ratio: FloatArray, component: IntArray, column: IntArray, min_evidence: float, rank: int
) -> BoolArray:
    """Marks weights that add less than ``min_evidence``, least first, and few at a time.

    Weights of one component, and weights of one column in different components, can stand in for
    each other: each looks unneeded while the other is there, and removing both has cost whole
    classes. So no column loses more than one weight at a time, and no component more than one or,
    while it has more weights than the design has rank, half of those it has too many.
    """
    n_weights = np.bincount(component)
    quota = np.maximum((n_weights - rank) // 2, 1).tolist()
    remove = np.zeros(len(ratio), dtype=bool)
    columns: set[int] = set()
    candidates = np.flatnonzero(evidence_of_weight(ratio) < min_evidence)
    for i in candidates[np.argsort(ratio[candidates], kind="stable")].tolist():
        k, h = int(component[i]), int(column[i])
        if quota[k] and h not in columns:
            remove[i] = True
            quota[k] -= 1
            columns.add(h)
    return remove


def prune(state: State, options: Options) -> State:
    """The state without weights and components that make no difference."""
    state = prune_components(state, options.min_share)
    if has_few_weights(state, options):
        relative = relative_to_one_component(state)
        if relative is not state:
            state = prune_components(relative, options.min_share)
    return state


def relative_to_one_component(state: State) -> State:
    """Where all components use a column, let one of them be the reference and do without it.

    Posteriors depend on differences of scores, so that subtracting one component's weight from all
    changes nothing but the number of weights. The others inherit its prior variance: for two
    components the evidence, which depends on the sum of the variances, stays the same, and nothing
    else would ever break the tie.
    """
    K = state.n_components
    common = np.flatnonzero(np.bincount(state.column, minlength=1) == K)
    if len(common) == 0:
        return state
    w, variance = state.w.copy(), 1.0 / state.alpha
    keep = np.ones(len(w), dtype=bool)
    for h in common.tolist():
        uses = np.flatnonzero(state.column == h)
        size = np.abs(w[uses])
        reference = uses[np.flatnonzero(size <= size.min() * (1.0 + SAME_SIZE))[-1]]
        keep[reference] = False
        w[uses] -= w[reference]
        variance[uses] += variance[reference]
    return replace(state, w=w, alpha=1.0 / variance).keep_weights(keep)


def prune_components(state: State, min_share: float) -> State:
    """Remove components without samples; make one of a class's components without weights.

    A component with pi = 0 never wins and goes. One without weights scores ``log pi`` everywhere:
    all those of a class together are one constant background, with the sum of their pi, and
    predictions stay the same.
    """
    has_weights = np.bincount(state.component, minlength=state.n_components) > 0
    if has_weights.all() and state.pi.min() > min_share:
        return state
    class_pi = np.bincount(state.component_class, state.pi)
    keep = state.pi > min_share * class_pi[state.component_class]
    empty = keep & ~has_weights
    pi = state.pi.copy()
    for c in np.unique(state.component_class[empty]):
        background = np.flatnonzero(empty & (state.component_class == c))
        pi[background[0]] = pi[background].sum()
        keep[background[1:]] = False
    return state if keep.all() else state.keep_components(keep, pi)
