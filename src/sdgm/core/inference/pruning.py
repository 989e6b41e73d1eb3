"""Which components leave, and which weights say nothing that the others do not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sdgm.core.inference.phases import Phase
from sdgm.core.model.state import State

# relative difference of weights that is only rounding; among equals the last is the reference
SAME_SIZE = 1e-6


@dataclass(frozen=True)
class EmptyComponents:
    """The paper's elimination of components: those without samples or without weights.

    Attributes
    ----------
    min_share : float
        A component with a smaller share of its class counts as empty.
    """

    min_share: float

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
