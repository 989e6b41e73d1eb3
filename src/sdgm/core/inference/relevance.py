"""Automatic relevance determination: updates of alpha, removal of weights and components.

`MacKay` is the paper's update. `TwoPhase` takes longer steps while there are many weights and
assesses them individually once there are few. The `Shared` variants have one alpha per column for
all components.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.evidence import updated_alpha
from sdgm.core.inference.mode import FewColumns, FewWeights, Mode, Phase
from sdgm.core.model.state import State

# quality^2 / sparsity above which alpha may jump to its optimum; for ratios just above one the
# optimum is far away and changes with every other weight
CLEARLY_NEEDED = 1.1
# damping of such jumps on the log scale: with full jumps, correlated weights overshoot together and
# oscillate
DAMPING = 0.7
# lower bound on gamma (1 - gamma) in a denominator
SMALLEST_DOUBT = 1e-200
# overrelaxation, on the log scale, of alphas whose optimum is infinite
OVERRELAXATION = 2.0
# lower bound on 1 - gamma in a logarithm
SMALLEST_REST = 1e-12
# weights within this relative difference count as equal; the last of them is the reference
SAME_SIZE = 1e-6


class AlphaStep(NamedTuple):
    """Updated precisions and which weights to keep: (n_active,)."""

    alpha: FloatArray
    keep: BoolArray  # which weights stay
    kept: tuple[FloatArray, FloatArray]  # precisions of these, before and after


@dataclass(frozen=True)
class Bounds:
    """Weights with alpha above the cap are removed; alpha is at least the floor."""

    floor: float
    cap: float

    def step(self, before: FloatArray, alpha: FloatArray, remove: BoolArray | bool) -> AlphaStep:
        """The step to these precisions, clipped to the bounds."""
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
    """MacKay's update with longer steps; in the final phase, jumps to the maximum of the evidence.

    With the paper's update, the alphas of irrelevant weights approach the cap slowly. This is
    necessary for many correlated weights, where only the steps can be longer; few weights at their
    mode can be assessed individually.
    """

    bounds: Bounds
    final_phase: FewWeights
    min_evidence: float  # log evidence that a weight must add to be kept in the final phase

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
    """One alpha per column: ``alpha_h <- sum_k gamma_kh / sum_k w_kh^2``."""

    bounds: Bounds

    def __call__(
        self, state: State, w: FloatArray, gamma: FloatArray, mode: Mode, rank: int
    ) -> AlphaStep:
        return self.bounds.step(state.alpha, shared_alpha(state, w, gamma), remove=False)


@dataclass(frozen=True)
class SharedTwoPhase:
    """The same with longer steps; in the final phase the least relevant column is removed.

    The fields are as in `TwoPhase`, for columns instead of weights.
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
        # one at a time: columns can replace each other
        return self.bounds.step(state.alpha, alpha, remove)


AlphaUpdate = MacKay | TwoPhase | SharedMacKay | SharedTwoPhase


# --- one weight ---


def overrelaxed(before: FloatArray, after: FloatArray, ratio: FloatArray) -> FloatArray:
    """The alphas of an update, overrelaxed if the optimum is infinite (ratio < 1)."""
    growth = np.maximum(after / before, 1.0)
    with np.errstate(over="ignore"):
        return np.where(ratio < 1.0, after * growth ** (OVERRELAXATION - 1.0), after)


def quality_over_sparsity(alpha: FloatArray, w: FloatArray, gamma: FloatArray) -> FloatArray:
    """Tipping & Faul's ``quality^2 / sparsity`` of every weight at the mode: (n_active,).

    With ``S = gamma alpha`` and ``Q = alpha w``, sparsity is ``S / (1 - gamma)`` and quality is
    ``Q / (1 - gamma)``. At or below one, the evidence is highest without the weight.
    """
    # gamma (1 - gamma) vanishes for weights that the data do not determine or determine completely:
    # the ratio is then zero or large, but neither 0 / 0 nor infinite
    ratio = alpha * w * w / np.maximum(gamma * (1.0 - gamma), SMALLEST_DOUBT)
    return np.where(gamma > SMALLEST_DOUBT, ratio, 0.0)


def evidence_of_weight(ratio: FloatArray) -> FloatArray:
    """Log evidence that a weight adds at its optimal alpha, given its `quality_over_sparsity`.

    ``(ratio - 1 - log ratio) / 2``, and zero if the optimal alpha is infinite.
    """
    above = np.maximum(ratio, 1.0)
    return 0.5 * (above - 1.0 - np.log(above))


def optimal_alpha(alpha: FloatArray, gamma: FloatArray, ratio: FloatArray) -> FloatArray:
    """The alpha that maximises the evidence with all others fixed.

    ``sparsity^2 / (quality^2 - sparsity)``, infinite if their ratio is at most one.
    """
    sparsity = gamma * alpha / np.maximum(1.0 - gamma, np.finfo(float).tiny)
    excess = np.where(ratio > 1.0, ratio - 1.0, 1.0)
    return np.where(ratio > 1.0, sparsity / excess, np.inf)


def least_needed(
    ratio: FloatArray, component: IntArray, column: IntArray, min_evidence: float, rank: int
) -> BoolArray:
    """Mask of weights that add less than ``min_evidence``, least first, and few at a time.

    Weights of one component, and weights of one column in different components, can replace each
    other: each looks irrelevant while the other is present, and removing both has cost whole
    classes. Therefore at most one weight per column is removed at a time, and at most one per
    component or, if it has more weights than the rank of the design, half of the excess.
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
    """Log evidence that each column adds, treating its weights as independent: (n_columns,).

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
    """The paper's elimination of components without samples or without weights."""

    min_share: float  # a component with a smaller share of its class counts as empty

    def __call__(self, state: State) -> State:
        return prune_components(state, self.min_share)


@dataclass(frozen=True)
class EmptyComponentsAndTies:
    """The same and, in the final phase, of one weight per column that all components use."""

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
    """For every column that all components use, make one component the reference without it.

    Posteriors depend on differences of scores, so subtracting the weight of one component from all
    of them only changes the number of weights. The others inherit its prior variance: with two
    components the evidence, which depends on the sum of the variances, does not change, and nothing
    else would break the tie.
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
    """Remove components without samples; merge the components of a class without weights.

    A component with pi = 0 has no effect. One without weights has the score ``log pi`` everywhere:
    within a class these are merged into one constant background with the sum of their pi, which
    does not change predictions.
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
