"""What is written down of every outer pass."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.evidence import log_evidence
from sdgm.core.inference.mode import Mode
from sdgm.core.model.state import Record, State
from sdgm.core.objective.derivatives import Mixture, fit_of_rows
from sdgm.core.solvers.points import log_posterior


class Clock:
    """Seconds since learning began, including earlier passes."""

    def __init__(self, earlier: Sequence[Record] = ()) -> None:
        self.begin = perf_counter() - (earlier[-1].seconds if earlier else 0.0)

    def seconds(self) -> float:
        return perf_counter() - self.begin


def record_of(mode: Mode, state: State, change: float, iteration: int, clock: Clock) -> Record:
    """The record of an outer pass that ended in ``state``."""
    fit, theta = mode.point.fit, mode.point.theta
    expected_log_posterior = log_posterior(fit, theta, complete=True)  # Eq. 11
    return Record(
        iteration=iteration,
        log_posterior=log_posterior(fit, theta, complete=False),
        log_likelihood=fit.log_likelihood,
        log_evidence=log_evidence(expected_log_posterior, mode.point.precision),
        n_weights=state.n_weights,
        n_components=state.n_components,
        alpha_change=change,
        newton_steps=mode.n_steps,
        seconds=clock.seconds(),
    )


def empty_record(
    rows: RowSource, Rt: FloatArray, state: State, iteration: int, clock: Clock
) -> Record:
    """The record of a model without weights, which only knows pi."""
    V = np.zeros((Rt.shape[1], state.n_components))
    mixture = Mixture(V, np.log(state.pi), state.component_class)
    fit = fit_of_rows(rows.without_initial_r(), mixture, None)
    return Record(
        iteration=iteration,
        log_posterior=fit.log_likelihood,
        log_likelihood=fit.log_likelihood,
        log_evidence=fit.J,
        n_weights=0,
        n_components=state.n_components,
        alpha_change=0.0,
        newton_steps=0,
        seconds=clock.seconds(),
    )
