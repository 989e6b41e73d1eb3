"""Learning with alpha fixed: only w and pi are updated, and no weight is removed.

For a ridge prior, for backward elimination, and to find the mode in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.evidence import Settled, empty_record, log_change, record_of, updated_pi
from sdgm.core.inference.learning import Observer, Result, class_shares
from sdgm.core.inference.mode import EM, EMGradient
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.objective.derivatives import class_totals
from sdgm.core.objective.whitening import whiten


@dataclass(frozen=True)
class FixedAlpha:
    """The parts of Algorithm 1 with fixed precisions.

    Attributes
    ----------
    max_iter, find_mode, class_prior
        As in `Method`.
    has_converged : Settled
        Criterion for pi instead of alpha.
    min_share : float
        Lower bound on the share of a component within its class.
    """

    max_iter: int
    find_mode: EM | EMGradient
    has_converged: Settled
    min_share: float
    class_prior: bool


def learn_with_fixed_alpha(
    rows: RowSource,
    Rt: FloatArray,
    state: State,
    method: FixedAlpha,
    observe: Observer | None = None,
    earlier: Sequence[Record] = (),
) -> Result:
    """Learn the weights and the mixture; parameters are as in `learn`."""
    records = list(earlier)
    begin = perf_counter() - sum(record.seconds for record in records[-1:])
    class_share = class_shares(class_totals(rows, state.n_classes), method.class_prior)
    least_pi = method.min_share * class_share[state.component_class]
    for iteration in range(len(records) + 1, method.max_iter + 1):
        if state.n_weights == 0:
            record = empty_record(rows, Rt, state, iteration, perf_counter() - begin)
            return Result(state, [*records, record], Stop.EMPTY)
        whitening = whiten(Rt, state)
        mode = method.find_mode(rows, whitening, state)
        pi = updated_pi(mode.r_sum, state.component_class, class_share)
        before = state
        state = replace(state, w=whitening.to_w(mode.point.theta), pi=np.maximum(pi, least_pi))
        changed = before.pi, state.pi
        seconds, change = perf_counter() - begin, log_change(*changed)
        records.append(record_of(mode, state, change, iteration, seconds))
        rows = rows.without_initial_r()
        if observe is not None and observe(state, records[-1]):
            return Result(state, records, Stop.CALLBACK)
        if method.has_converged(changed, before, state, mode, records):
            return Result(state, records, Stop.CONVERGED)
    return Result(state, records, Stop.at_limit(state))
