"""From a problem to a fitted model: columns, initialisation, Algorithm 1, the user's units."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Crew, Rows
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.inference.initialization import Start, initial_responsibilities, initial_state
from sdgm.core.inference.learning import Result, class_shares
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.objective.derivatives import class_weights
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.budget import within_budget
from sdgm.estimators.plan import Plan
from sdgm.estimators.problem import Columns, Problem
from sdgm.estimators.requirements import (
    largest_matrix,
    require_learning,
    require_rank,
)
from sdgm.estimators.run import Run, print_end, warn_user
from sdgm.estimators.training import Fit, Training
from sdgm.exceptions import NumericalTroubleWarning
from sdgm.scale.memory import SMALL_NUMBERS, keeps_covariance
from sdgm.scale.threads import SHARED_WORK, learning_threads, one_blas_thread


def fit_problem(problem: Problem, plan: Plan, run: Run) -> Fit:
    """Learn with the settings as they are, and keep to the budget of weights."""
    columns = columns_of(problem, plan)
    previous = None if plan.previous is None else previous_state(problem, plan, columns)
    if previous is None:
        class_weight = class_weights(problem.y, problem.s)
        state = initial_state(
            len(columns.design.scale),
            problem.n_components,
            class_shares(class_weight, problem.recipe.method.class_prior),
            alpha=problem.recipe.preparation.alpha,
            pinned=problem.recipe.preparation.pinned,
        )
    else:
        state = in_columns(previous, columns)
    fit = fit_columns(problem, columns, state, plan, run, is_warm=previous is not None)
    if plan.max_weights is None or fit.is_interrupted:
        return fit
    return within_budget(fit, plan.max_weights, problem.recipe, problem.sample, problem.sample)


def fit_columns(
    problem: Problem, columns: Columns, state: State, plan: Plan, run: Run, *, is_warm: bool
) -> Fit:
    """Learn weights of these columns from a state, several times if there are several starts.

    A warm state needs no responsibilities to start from.
    """
    is_interrupted = False
    starts = [
        partial(learned, problem, columns, state, plan, run.at(f"start {start}"), seed, is_warm)
        for start, seed in enumerate(run.seeds(plan.seeds))
    ]
    is_alone = run.task is None and run.checkpoint is None  # no callbacks, and no checkpoint
    if is_alone and len(starts) > 1 and plan.n_jobs not in (None, 1):
        results = Parallel(n_jobs=plan.n_jobs)(delayed(start)() for start in starts)
        is_interrupted = Stop.INTERRUPTED in [result.stop for result in results]
    else:
        results = []
        for start in starts:
            try:
                results.append(start())
            except KeyboardInterrupt:  # before its first pass; there may be starts before it
                if not results:
                    raise
                is_interrupted = True
            if is_interrupted or results[-1].stop is Stop.INTERRUPTED:
                is_interrupted = True
                break
    best = max(results, key=final_evidence)
    if run.verbose:
        print_end(best)
    covariance = learned_covariance(problem, columns, best.state)
    return Fit(
        replace(fitted_model(problem, columns, best.state), covariance=covariance),
        training_of(results, best, columns, plan, state.n_weights),
        is_interrupted,
    )


def columns_of(problem: Problem, plan: Plan) -> Columns:
    """The candidate columns, if learning with them fits into memory."""

    def grown(n_columns: int, rank: int) -> None:
        require_rank(problem, plan, n_columns, rank)

    columns = plan.form.columns(problem, grown)
    if problem.recipe.preparation.scale_columns:
        columns = replace(columns, design=columns.design.scaled(problem.s))
    H, p = columns.design.Rt.shape
    m = int(problem.n_components.sum()) * min(H, p)
    if plan.max_weights is not None or m * max(len(problem.y), H, m) > SMALL_NUMBERS:
        require_learning(problem, plan, H, min(H, p))
    return columns


# --- where learning starts ---


def previous_state(problem: Problem, plan: Plan, columns: Columns) -> State | None:
    """The state of the last fit, in the columns of this one; None if it has none of them."""
    assert plan.previous is not None
    model, training = plan.previous
    key = plan.key(columns.basis)
    if training.settings != key:
        raise ValueError(
            f"warm_start cannot continue from {training.settings} to {key}; set warm_start=False."
        )
    state = model.among(columns.basis)
    if not problem.recipe.learns_alpha:
        state = replace(state, alpha=np.full(state.n_weights, plan.alpha))
    # nothing to start from: all was pruned, or no relevance vector is among the rows
    return state if state.n_weights else None


def in_columns(state: State, columns: Columns) -> State:
    """A state in the user's units, in those of the columns."""
    scale = columns.design.scale[state.column]
    return replace(state, w=state.w * scale, alpha=state.alpha / scale**2)


# --- learning ---


def learned(
    problem: Problem,
    columns: Columns,
    state: State,
    plan: Plan,
    run: Run,
    seed: int,
    is_warm: bool,
) -> Result:
    """One run of Algorithm 1; a warm start needs no responsibilities to start from."""

    def attributes(record: Record) -> dict[str, Any]:
        assert record.state is not None
        return {"model_": fitted_model(problem, columns, record.state)}

    N, rank, design = len(problem.y), min(columns.design.Rt.shape), columns.design
    m = float(problem.n_components.sum()) * rank
    threads: AbstractContextManager[Crew | None] = one_blas_thread()
    if N * m**2 >= SHARED_WORK:
        size = largest_matrix(problem, rank)
        threads = learning_threads(N, N * size * m, size)
    learn = run.learning(problem.recipe)
    with threads as crew:
        if is_warm:
            r0 = None
        elif isinstance(problem.init, Start):
            r0 = initial_responsibilities(
                columns.points, problem.y, problem.s, problem.n_components, problem.init, seed
            )
        else:
            r0 = problem.init
        return learn(
            Rows(design.Z, problem.y, problem.s, r0, crew=crew),
            design.Rt,
            problem.recipe.begun(state),
            run.observer(attributes),
            keep_states=plan.record_states,
        )


# --- what was learned, in the user's units ---


def fitted_model(problem: Problem, columns: Columns, state: State) -> FittedModel:
    """The model of a state of learning, without the covariance of its weights."""
    model = FittedModel.from_candidates(
        problem.classes, problem.scaler, columns.basis, in_user_units(state, columns)
    )
    if problem.inputs is None:
        return model
    return model.at_inputs(problem.inputs, problem.X_user.shape[1])


def in_user_units(state: State, columns: Columns) -> State:
    """The state with weights of columns that were not divided by their norms."""
    scale = columns.design.scale[state.column]
    return replace(state, w=state.w / scale, alpha=state.alpha * scale**2)


def learned_covariance(problem: Problem, columns: Columns, state: State) -> FloatArray | None:
    """Posterior covariance of the weights in the user's units; None if there are too many."""
    if state.n_weights**2 <= SMALL_NUMBERS or keeps_covariance(state.n_weights):
        rows, scale = Rows(columns.design.Z, problem.y, problem.s), columns.design.scale
        own = scale[state.column]
        with suppress(FactorizationError, FloatingPointError), np.errstate(over="raise"):
            return laplace_covariance(rows, columns.design.Rt, state) / own / own[:, None]
    return None


def training_of(
    results: list[Result], best: Result, columns: Columns, plan: Plan, n_initial_weights: int
) -> Training:
    """How the best of several starts was learned; an earlier fit may have chosen settings."""
    history = [
        replace(record, state=in_user_units(record.state, columns))
        if plan.record_states and record.state is not None
        else replace(record, state=None)
        for record in best.records
    ]
    earlier = None if plan.previous is None else plan.previous[1]
    return Training(
        history=history,
        log_evidence=final_evidence(best),
        start_log_evidences=np.array([final_evidence(result) for result in results]),
        n_initial_weights=n_initial_weights,
        converged=best.stop in (Stop.CONVERGED, Stop.EMPTY),
        stop_reason=best.stop.value,
        settings=plan.key(columns.basis),
        chosen={} if earlier is None else earlier.chosen,
        candidates=[] if earlier is None else earlier.candidates,
    )


def final_evidence(result: Result) -> float:
    """Log evidence at the end of a run."""
    return result.records[-1].log_evidence if result.records else -np.inf


def warn_about(training: Training) -> None:
    """Warn if learning did not end well."""
    if training.converged:
        return
    n_iter, of_what, remedy = training.n_iter, "", ""
    if training.learned_reference:
        of_what = " of the chosen model"
        remedy = "give the settings instead of having them chosen"
    if training.stop_reason == Stop.MAX_ITER:
        change = f" (last relative change {training.history[-1].alpha_change:.2g})"
        warn_user(
            f"The fit{of_what} stopped at max_iter={n_iter} before it converged"
            f"{'' if remedy else change}; raise max_iter or tol{', or ' * bool(remedy)}{remedy}.",
            ConvergenceWarning,
        )
    elif training.stop_reason == Stop.NUMERICAL:
        remedy = remedy or "standardise the features, or use a smaller kernel scale"
        warn_user(
            f"The fit{of_what} stopped after {n_iter} iterations because the posterior "
            "precision of the weights could not be factorised; the last state is kept. "
            f"{remedy[0].upper()}{remedy[1:]}.",
            NumericalTroubleWarning,
        )
