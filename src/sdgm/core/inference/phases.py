"""When weights are few enough to be judged one by one.

The paper's update of alpha is gradual, which many correlated weights need. Few weights can be
brought to their mode and judged each by itself: the final phase of the `fast` preset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdgm.core.model.state import State

Phase = Callable[[State], bool]


@dataclass(frozen=True)
class FewWeights:
    """Whether there are at most this many weights per component; zero for never."""

    per_component: int

    def __call__(self, state: State) -> bool:
        return state.n_weights <= self.per_component * state.n_components


@dataclass(frozen=True)
class FewColumns:
    """The same of columns that components share."""

    per_component: int

    def __call__(self, state: State) -> bool:
        return len(np.unique(state.column)) <= self.per_component * state.n_components


def always(state: State) -> bool:
    """Whatever the state."""
    return True


NEVER = FewWeights(0)
