"""From what learning led to, in the units of the design, to values in the user's units."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.inference.learning import Result
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import State, Stop
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.elimination import keeps_covariance
from sdgm.estimators.problem import Columns, Problem
from sdgm.estimators.progress import FIT_FRAMES
from sdgm.estimators.training import Training
from sdgm.exceptions import NumericalTroubleWarning


def fitted_model(problem: Problem, columns: Columns, state: State) -> FittedModel:
    """The model of a state of learning, without the covariance of its weights."""
    return FittedModel.from_candidates(
        problem.classes, problem.scaler, columns.basis, in_user_units(state, columns)
    )


def in_user_units(state: State, columns: Columns) -> State:
    """The state with weights of columns that were not divided by their norms."""
    scale = columns.design.scale[state.column]
    return replace(state, w=state.w / scale, alpha=state.alpha * scale**2)


def learned_covariance(problem: Problem, columns: Columns, state: State) -> FloatArray | None:
    """Posterior covariance of the weights in the user's units; None if there are too many."""
    if keeps_covariance(state.n_weights):
        rows, scale = Rows(columns.design.Z, problem.y, problem.s), columns.design.scale
        own = scale[state.column]
        with suppress(FactorizationError, FloatingPointError), np.errstate(over="raise"):
            return laplace_covariance(rows, columns.design.Rt, state) / own / own[:, None]
    return None


def training_of(
    results: list[Result],
    best: Result,
    columns: Columns,
    *,
    n_initial_weights: int,
    settings: str,
    record_states: bool,
    earlier: Training | None,
) -> Training:
    """How the best of several starts was learned; settings may have been chosen by a fit before."""
    history = [
        replace(record, state=in_user_units(record.state, columns))
        if record_states and record.state is not None
        else replace(record, state=None)
        for record in best.records
    ]
    return Training(
        history=history,
        log_evidence=final_evidence(best),
        start_log_evidences=np.array([final_evidence(result) for result in results]),
        n_initial_weights=n_initial_weights,
        converged=best.stop in (Stop.CONVERGED, Stop.EMPTY),
        stop_reason=best.stop.value,
        settings=settings,
        chosen={} if earlier is None else earlier.chosen,
        candidates=[] if earlier is None else earlier.candidates,
    )


def final_evidence(result: Result) -> float:
    """Log evidence at the end of a run."""
    return result.records[-1].log_evidence if result.records else -np.inf


def warn_about(result: Result) -> None:
    """Say so when learning did not end well."""
    if result.stop is Stop.MAX_ITER:
        warnings.warn(
            f"Learning stopped at max_iter={len(result.records)} before it converged (last "
            f"relative change {result.records[-1].alpha_change:.2g}); raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3 + FIT_FRAMES,
        )
    elif result.stop is Stop.NUMERICAL:
        warnings.warn(
            f"Learning stopped after {len(result.records)} iterations because the posterior "
            "precision of the weights could not be factorised; the model is the one reached so "
            "far. Standardise the inputs, or lower the scale of the kernel.",
            NumericalTroubleWarning,
            stacklevel=3 + FIT_FRAMES,
        )
