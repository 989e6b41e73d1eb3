"""Algorithm 1 of the paper: Newton's method inside EM inside the evidence loop.

What the two presets do differently is handed in as the parts of a `Method`; `presets` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.evidence import (
    Settled,
    empty_record,
    log_change,
    record_of,
    updated_pi,
    well_determined,
)
from sdgm.core.inference.mode import EM, EMGradient
from sdgm.core.inference.relevance import AlphaUpdate, EmptyComponents, EmptyComponentsAndTies
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.objective.derivatives import class_totals
from sdgm.core.objective.whitening import whiten

# called with the state and the record of every outer pass; a true answer ends learning
Observer = Callable[[State, Record], bool | None]


@dataclass(frozen=True)
class Method:
    """How the steps of Algorithm 1 are taken.

    Attributes
    ----------
    max_iter : int
        Passes of the outer loop.
    find_mode : EM or EMGradient
        The middle and the innermost loop.
    update_alpha : AlphaUpdate
    prune : EmptyComponents or EmptyComponentsAndTies
        Components, and weights, that make no difference.
    has_converged : Settled
    class_prior : bool
        Whether pi carries the shares of the classes, or sums to one within each class.
    """

    max_iter: int
    find_mode: EM | EMGradient
    update_alpha: AlphaUpdate
    prune: EmptyComponents | EmptyComponentsAndTies
    has_converged: Settled
    class_prior: bool

    @property
    def min_share(self) -> float:
        """Share of its class below which a component counts as empty."""
        return self.prune.min_share


@dataclass(frozen=True)
class Result:
    """What learning returns: the last state, one record per outer pass, and why it stopped."""

    state: State
    records: list[Record]
    stop: Stop


def learn(
    rows: RowSource,
    Rt: FloatArray,
    state: State,
    method: Method,
    observe: Observer | None = None,
    earlier: Sequence[Record] = (),
) -> Result:
    """Learn the weights, their precisions and the mixture (Algorithm 1).

    Parameters
    ----------
    rows : RowSource
        Training rows in the coordinates of the design, with the responsibilities to start from.
    Rt : (H, p) array
        Transposed right factor of the design ``Phi = Z R``.
    state : State
        Where to start.
    method : Method
    observe : callable, optional
        Told the state and the record of every outer pass; a true answer ends learning.
    earlier : sequence of Record
        Passes that led to ``state``; the result is as if learning had never stopped.
    """
    records = list(earlier)
    begin = perf_counter() - sum(record.seconds for record in records[-1:])
    class_share = class_shares(class_totals(rows, state.n_classes), method.class_prior)
    for iteration in range(len(records) + 1, method.max_iter + 1):  # while alpha has not converged
        if state.n_weights == 0:
            record = empty_record(rows, Rt, state, iteration, perf_counter() - begin)
            return Result(state, [*records, record], Stop.EMPTY)
        whitening = whiten(Rt, state)
        mode = method.find_mode(rows, whitening, state)  # while r, while w: Eqs. 11 to 15
        w_hat = whitening.to_w(mode.point.theta)
        gamma = well_determined(whitening, mode.point.precision)  # 1 - alpha lambda, Eq. 16
        step = method.update_alpha(state, w_hat, gamma, mode, whitening.rank)  # Eq. 17
        pi = updated_pi(mode.r_sum, state.component_class, class_share)  # Eq. 18
        before, state = state, replace(state, w=w_hat, alpha=step.alpha, pi=pi)
        state = method.prune(state.keep_weights(step.keep))
        seconds, change = perf_counter() - begin, log_change(*step.kept)
        records.append(record_of(mode, state, change, iteration, seconds))
        rows = rows.without_initial_r()  # from now on w gives r
        if observe is not None and observe(state, records[-1]):
            return Result(state, records, Stop.CALLBACK)
        if method.has_converged(step.kept, before, state, mode, records):
            return Result(state, records, Stop.CONVERGED)
    return Result(state, records, Stop.at_limit(state))


def class_shares(totals: FloatArray, class_prior: bool) -> FloatArray:
    """What pi sums to within each class: the class's share of the summed weights, or one: (C,)."""
    return totals / totals.sum() if class_prior else np.ones(len(totals))
