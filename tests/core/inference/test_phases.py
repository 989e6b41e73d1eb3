"""Claims about when weights are few enough to be judged one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdgm.core.inference.mode import NEVER, FewColumns, FewWeights, always
from sdgm.core.model.state import State


def test_weights_are_counted_per_component_and_columns_once() -> None:
    # two components that use the same three columns
    state = State(
        w=np.zeros(6),
        alpha=np.ones(6),
        component=np.repeat([0, 1], 3),
        column=np.tile(np.arange(3), 2),
        pi=np.ones(2),
        component_class=np.arange(2),
    )
    assert FewWeights(3)(state) and not FewWeights(2)(state)
    assert FewColumns(2)(state) and not FewColumns(1)(state)
    assert always(state) and not NEVER(state)
    four = replace(
        state, w=np.zeros(8), component=np.repeat([0, 1], 4), column=np.tile([0, 1, 2, 3], 2)
    )
    assert FewColumns(2)(four)  # as many as that are few
