"""Automatic relevance determination: how alpha moves, and which weights and components leave.

`MacKay` is the paper's update. `TwoPhase` takes longer steps while weights are many, and judges
them one by one once they are few. The `Shared` forms have one alpha per column for all components.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.evidence import updated_alpha
from sdgm.core.inference.mode import FewColumns, FewWeights, Mode, Phase
from sdgm.core.model.state import State

# quality^2 / sparsity above which a weight's alpha may jump to its optimum; just above one the
# optimum is far away and moves with every other weight
CLEARLY_NEEDED = 1.1
# part of the way, on the log scale, that such an alpha goes: correlated weights that go all the
# way at once overshoot together and swing for ever
DAMPING = 0.7
# least product of gamma and 1 - gamma to divide by
SMALLEST_DOUBT = 1e-200
# how much longer a step, on the log scale, the alphas of dying weights take
OVERRELAXATION = 2.0
# least part of a weight's prior variance that is left, to take the logarithm of
SMALLEST_REST = 1e-12
# relative difference of weights that is only rounding; among equals the last is the reference
SAME_SIZE = 1e-6


class AlphaStep(NamedTuple):
    """What an update makes of the precisions: (n_active,)."""

    alpha: FloatArray
    keep: BoolArray  # which weights stay
    kept: tuple[FloatArray, FloatArray]  # precisions of these, before and after


@dataclass(frozen=True)
class Bounds:
    """A weight whose alpha is above the cap is zero; no alpha is below the floor."""

    floor: float
    cap: float

    def step(self, before: FloatArray, alpha: FloatArray, remove: BoolArray | bool) -> AlphaStep:
        """The step to these precisions, held within the bounds."""
        keep = ~(remove | (alpha > self.cap))
        alpha = np.clip(alpha, self.floor, self.cap)
        return AlphaStep(alpha, keep, kept=(before[keep], alpha[keep]))


@dataclass(frozen=True)
class MacKay:
    """The paper's gradual update, ``alpha <- (1 - alpha lambda) / w^2`` (Eq. 17)."""

    bounds: Bounds

    def __call__(
        self, state: State, w: FloatArray, gamma: FloatArray, mode: Mode, rank: int
    ) -> AlphaStep:
        return self.bounds.step(state.alpha, updated_alpha(gamma, w), remove=False)


@dataclass(frozen=True)
class TwoPhase:
    """The same with longer steps; in the final phase straight to where the evidence is highest.

    With the paper's update the alphas of unneeded weights creep to the cap. Many correlated weights
    need that, at most with longer steps; few weights at their mode can be judged one by one.
    """

    bounds: Bounds
    final_phase: FewWeights
    min_evidence: float  # log evidence that a weight must add to stay in the final phase

    def __call__(
        self, state: State, w: FloatArray, gamma: FloatArray, mode: Mode, rank: int
    ) -> AlphaStep:
        alpha = updated_alpha(gamma, w)
        ratio = quality_over_sparsity(state.alpha, w, gamma)
        if not (self.final_phase(state) and mode.is_reached):
            return self.bounds.step(state.alpha, overrelaxed(state.alpha, alpha, ratio), False)
        best = optimal_alpha(state.alpha, gamma, ratio)
        damped = state.alpha * (best / state.alpha) ** DAMPING
        alpha = np.where(ratio > CLEARLY_NEEDED, damped, alpha)
        remove = least_needed(ratio, state.component, state.column, self.min_evidence, rank)
        return self.bounds.step(state.alpha, alpha, remove)


@dataclass(frozen=True)
class SharedMacKay:
    """One alpha per column, ``alpha_h <- sum_k gamma_kh / sum_k w_kh^2``; it leaves as a whole."""

    bounds: Bounds

    def __call__(
        self, state: State, w: FloatArray, gamma: FloatArray, mode: Mode, rank: int
    ) -> AlphaStep:
        return self.bounds.step(state.alpha, shared_alpha(state, w, gamma), remove=False)


@dataclass(frozen=True)
class SharedTwoPhase:
    """The same with longer steps; in the final phase the least needed column leaves.

    The fields are as in `TwoPhase`, of columns in place of weights.
    """

    bounds: Bounds
    final_phase: FewColumns
    min_evidence: float

    def __call__(
        self, state: State, w: FloatArray, gamma: FloatArray, mode: Mode, rank: int
    ) -> AlphaStep:
        alpha = shared_alpha(state, w, gamma)
        _, group = np.unique(state.column, return_inverse=True)
        evidence = evidence_of_columns(state.alpha, w, gamma, group)
        if not (self.final_phase(state) and mode.is_reached):
            ratio = np.where(evidence[group] < 0.0, 0.0, 1.0)
            return self.bounds.step(state.alpha, overrelaxed(state.alpha, alpha, ratio), False)
        least = int(evidence.argmin())
        remove = (group == least) & (evidence[least] < self.min_evidence)
        return self.bounds.step(state.alpha, alpha, remove)  # others may stand in: one at a time


AlphaUpdate = MacKay | TwoPhase | SharedMacKay | SharedTwoPhase


# --- one weight ---


def overrelaxed(before: FloatArray, after: FloatArray, ratio: FloatArray) -> FloatArray:
    """The alphas after an update, further along where the best alpha is infinite: ratio < 1."""
    growth = np.maximum(after / before, 1.0)
    with np.errstate(over="ignore"):
        return np.where(ratio < 1.0, after * growth ** (OVERRELAXATION - 1.0), after)


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
    """Log evidence that a weight adds at its best alpha, given its `quality_over_sparsity`.

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


# --- columns that components share ---


def shared_alpha(state: State, w: FloatArray, gamma: FloatArray) -> FloatArray:
    """MacKay's update of one precision per column, which sums over its weights: (n_active,)."""
    _, group = np.unique(state.column, return_inverse=True)
    squared: FloatArray = np.bincount(group, w * w).astype(np.float64)
    determined: FloatArray = np.bincount(group, gamma).astype(np.float64)
    return updated_alpha(determined, np.sqrt(squared))[group]


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


# --- components, and ties between them ---


@dataclass(frozen=True)
class EmptyComponents:
    """The paper's elimination of components: those without samples or without weights."""

    min_share: float  # a component with a smaller share of its class counts as empty

    def __call__(self, state: State) -> State:
        return prune_components(state, self.min_share)


@dataclass(frozen=True)
class EmptyComponentsAndTies:
    """The same and, in the final phase, one weight of every column that all components use."""

    min_share: float
    final_phase: Phase

    def __call__(self, state: State) -> State:
        state = prune_components(state, self.min_share)
        if self.final_phase(state):
            relative = relative_to_one_component(state)
            if relative is not state:
                state = prune_components(relative, self.min_share)
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
    within a class they become one constant background, with the sum of their pi, and predictions
    stay the same.
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
