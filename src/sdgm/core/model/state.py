"""The values that Algorithm 1 passes from step to step: state and record, and why it stops."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class State:
    """What Algorithm 1 learns: the weights that are not zero, and the mixture they belong to.

    The paper's pair (c, m) is one index k, ordered by class. Only active weights are stored, as
    parallel arrays ordered by component, so that pruning is a selection and 100,000 initial
    weights cost nothing once ten are left. A component without entries scores ``log_pi[k]``.

    Attributes
    ----------
    w, alpha : (n_active,) arrays
        Weights and the precisions of their priors.
    component, column : (n_active,) integer arrays
        Component k and column h of the design that each weight belongs to.
    pi : (K,) array
        Mixture weights.
    component_class : (K,) integer array
        Class of each component, non-decreasing.
    """

    w: FloatArray
    alpha: FloatArray
    component: IntArray
    column: IntArray
    pi: FloatArray
    component_class: IntArray

    @property
    def n_components(self) -> int:
        return len(self.pi)

    @property
    def n_classes(self) -> int:
        return int(self.component_class[-1]) + 1

    @property
    def n_weights(self) -> int:
        return len(self.w)

    @property
    def starts(self) -> IntArray:
        """Where each component's weights begin, and one past the last: (K + 1,)."""
        return np.searchsorted(self.component, np.arange(self.n_components + 1))

    def keep_weights(self, keep: BoolArray) -> State:
        """The state with the other weights removed."""
        return replace(
            self,
            w=self.w[keep],
            alpha=self.alpha[keep],
            component=self.component[keep],
            column=self.column[keep],
        )

    def keep_components(self, keep: BoolArray, pi: FloatArray) -> State:
        """The state with the other components and all their weights removed."""
        new_index = np.cumsum(keep) - 1
        state = self.keep_weights(keep[self.component])
        return replace(
            state,
            component=new_index[state.component],
            pi=pi[keep],
            component_class=self.component_class[keep],
        )


class Stop(StrEnum):
    """Why learning ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    EMPTY = "all weights pruned"
    CALLBACK = "stopped by a callback"
    INTERRUPTED = "interrupted"
    NUMERICAL = "numerical trouble"
    ELSEWHERE = "learned elsewhere"

    @classmethod
    def at_limit(cls, state: State) -> Stop:
        """Why learning ended with its last pass."""
        return cls.MAX_ITER if state.n_weights else cls.EMPTY


@dataclass(frozen=True)
class Record:
    """What one pass of the outer loop did, for histories, reports and progress lines.

    ``alpha_change`` is the largest relative change of an alpha that stayed, or of pi where alpha is
    fixed. The state is the one after the pass.
    """

    iteration: int
    log_posterior: float
    log_likelihood: float
    log_evidence: float
    n_weights: int
    n_components: int
    alpha_change: float
    newton_steps: int
    seconds: float
    state: State | None = field(default=None, repr=False)
