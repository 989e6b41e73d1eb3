"""Settings chosen from the training rows: a dense teacher, and the smallest faithful model.

1. `distillation` computes the teacher's class probabilities, at the rows and in between.
2. Candidates learn these probabilities instead of the labels (`students`), with each row counted
   `Form.replicates` times.
3. Each candidate is judged by its mean divergence from the teacher, at rows in between that no
   candidate has learned from. In the first round with a faithful model, the faithful model with the
   fewest stored numbers is chosen. A model is faithful if its divergence is negligible, in absolute
   terms or relative to the teacher's own log loss.
4. If no model is faithful, the closest one learns again with more replicates: it comes closer, and
   keeps more weights. With many classes, all classes share the same columns (`shared_columns`), if
   needed with a narrower kernel.
5. Weights are removed from the chosen model as long as its divergence does not change.

Labels enter only through the teacher, and no candidate is cross-validated: a sparse model can only
lose information that the teacher has, and the divergence measures how much.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sdgm._typing import FloatArray
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.selection.elimination import Point
from sdgm.core.selection.screening import MAX_WEIGHTS
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.budget import (
    divergence_within,
    honest_covariance,
    model_at,
    points_within,
    within_budget,
)
from sdgm.estimators.distillation import Targets, targets_of
from sdgm.estimators.parameters import is_given
from sdgm.estimators.plan import Plan
from sdgm.estimators.prediction import predicted_log_proba
from sdgm.estimators.problem import Problem, Sample
from sdgm.estimators.run import Run
from sdgm.estimators.students import ScaleFinder, replicated, student_fit
from sdgm.estimators.training import Candidate, Fit
from sdgm.exceptions import ComponentsReducedWarning, NumericalTroubleWarning
from sdgm.scale.table import LARGE_ROWS
from sdgm.scale.threads import one_blas_thread

# mean divergence in nats that is negligible, since it adds as much to the log loss; and the same as
# a fraction of the teacher's own log loss; the larger of the two applies
FAITHFUL = 0.005
FAITHFUL_SHARE = 0.05
# factor by which replicates increase if no model is faithful, and the divergence, in units of the
# tolerance, above which more replicates are tried before richer settings
MORE_REPLICATES = (4.0, 16.0)
NEARLY = 2.0
# mean divergence in nats that weights may cost together to leave; and the divergence up to which
# they may leave in any case, below what is faithful, so that a model that came closer than it has
# to is not larger for that. On the development sets (`python -m benchmarks accuracy --repeats 3`)
# half of the first and none of the second store a median of 231 numbers instead of 175 (dual), at
# an error of 11.09 instead of 11.12% and the same log loss; with all of what is faithful for the
# second the log loss of the dual form is .248 instead of .247
NEEDLESS = 1e-3
SPENT = 3.5e-3
# multiplications of a Newton step up to which such weights are looked for: 3,000 rows and 400
# weights, some seconds
NEEDLESS_WORK = 5e8
# ratio of successive divergences up to which the next increase is tried
WORTH_MORE = 0.9
# rows of the sample that is used if not all rows choose. With this many, our teacher takes some
# seconds and a fraction of a gigabyte
MAX_ROWS = 10_000


def targets_for(problem: Problem, plan: Plan) -> Targets | None:
    """Probabilities of the teacher; None if labels are to be learned."""
    if not learns_from_teacher(problem, plan):
        return None
    plan.form.require(len(problem.y), problem.X.shape[1], plan.settings)
    with one_blas_thread():
        try:
            return targets_of(plan.teacher, problem)
        except np.linalg.LinAlgError:
            if is_given(plan.teacher):
                raise
            return None


def learns_from_teacher(problem: Problem, plan: Plan) -> bool:
    """Whether there is one for these rows."""
    if is_given(plan.teacher):
        if not can_be_taught(plan):
            raise ValueError(
                "a teacher needs prior='ard', preset='fast', standardised inputs, a named init and "
                "no precomputed kernel; set teacher=None, or leave these as they are."
            )
        return True
    if not can_be_taught(plan) or len(problem.y) > LARGE_ROWS:
        return False  # this many rows are here only if they cannot be sampled
    goes_on = plan.previous is not None and plan.form.finds(plan.previous[0], problem)
    return not goes_on or (plan.previous is not None and plan.previous[1].learned_reference)


def can_be_taught(plan: Plan) -> bool:
    """Whether a model with these parameters can and should learn from a teacher."""
    return (
        plan.teacher is not None
        and plan.recipe.learns_alpha
        and plan.merges_rows
        and plan.standardize is not False
        and isinstance(plan.init, str)
    )


def fit_automatically(targets: Targets, problem: Problem, plan: Plan, run: Run) -> Fit:
    """Choose the settings and the model, and keep to the budget of weights."""
    if plan.previous is not None:  # a warm start keeps what was chosen
        plan = replace(plan.with_settings(plan.previous[1].chosen), previous=None)
    labelled = problem.sample
    rows = labelled.X, problem.y, problem.s
    may_share = plan.may_share and plan.max_weights is None and plan.max_divergence is None
    unlimited = replace(plan, max_weights=None, may_share=may_share)  # the choice comes first
    choice = choose(unlimited, targets, problem.classes, run, plan.max_weights)
    fit, chosen = choice.fit, choice.tried[0].parameters
    model = replace(
        fit.model.at_rows(problem.first_user_row), covariance=honest_covariance(fit.model, *rows)
    )
    training = replace(
        fit.training,
        chosen=dict(chosen),
        candidates=choice.tried,
        learned_reference=True,
        settings=plan.with_settings(chosen).key(model.basis),
    )
    fit = Fit(model, training, any(map(is_interrupted, choice.tried)))
    if fit.is_interrupted:
        return fit
    if not plan.parameters.get("shared_vectors", False):  # none of these can be removed alone
        limit = limit_of(choice.tried[0], plan, targets)
        fit = without_needless(fit, plan, choice.learned, targets.judged, labelled, limit)
    if plan.max_weights is None or fit.is_interrupted:
        return fit
    fit = within_budget(fit, plan.max_weights, plan.recipe, choice.learned, labelled)
    best, *others = fit.training.candidates
    candidates = [remeasured(best, fit.model, targets.judged), *others]
    return replace(fit, training=replace(fit.training, candidates=candidates))


def limit_of(candidate: Candidate, plan: Plan, targets: Targets) -> float:
    """The divergence up to which weights of the chosen model may be removed.

    What makes next to no difference leaves; from a model that is closer to the teacher than it has
    to be, a little more; and from one that learned with more replicates to become faithful, what it
    does not need for that.
    """
    if plan.max_divergence is not None:
        return max(candidate.divergence, plan.max_divergence)
    limit = max(candidate.divergence + NEEDLESS, SPENT)
    if candidate.replicates > plan.form.replicates and candidate.divergence <= tolerance_of(
        targets
    ):
        return max(limit, tolerance_of(targets))
    return limit


def without_needless(
    fit: Fit, plan: Plan, learned: Sample, judged: Sample, labelled: Sample, limit: float
) -> Fit:
    """A fit without the weights that are not needed to keep its divergence within a limit.

    Parameters
    ----------
    fit : Fit
    plan : Plan
    learned : Sample
        What it learned from.
    judged : Sample
        Rows with the teacher's probabilities that the fit has not learned from.
    labelled : Sample
        As in `model_at`.
    limit : float
    """
    chosen, *others = fit.training.candidates

    def room(state: State) -> float:
        return limit - divergence_at(fit.model.with_weights(state), judged)

    smallest = None
    work = len(learned.s) * float(fit.model.n_weights) ** 2
    if not fit.training.converged or work > NEEDLESS_WORK:
        return fit
    try:
        for point in points_within(fit.model, learned, plan.recipe, room):
            smallest = point
    except (FactorizationError, MemoryError):
        pass
    except KeyboardInterrupt:
        return replace(fit, is_interrupted=True)
    if smallest is None or smallest.state.n_weights == fit.model.n_weights:
        return fit
    model = model_at(fit.model, smallest, labelled)
    chosen = remeasured(chosen, model, judged)
    training = replace(
        fit.training,
        candidates=[chosen, *others],
        log_evidence=smallest.log_evidence,
        history=[*fit.training.history, record_of(smallest, fit.training.history[-1])],
    )
    return replace(fit, model=model, training=training)


def record_of(point: Point, last: Record) -> Record:
    """The removal of weights as one more pass, whose state numbers columns in the same way."""
    state = None
    if last.state is not None:
        used = np.union1d([0], last.state.column)
        state = replace(point.state, column=used[point.state.column])
    return Record(
        iteration=last.iteration + 1,
        log_posterior=point.log_posterior,
        log_likelihood=point.log_likelihood,
        log_evidence=point.log_evidence,
        n_weights=point.state.n_weights,
        n_components=point.state.n_components,
        alpha_change=0.0,
        newton_steps=0,
        seconds=last.seconds,
        state=state,
    )


class Choice(NamedTuple):
    """What was chosen.

    Attributes
    ----------
    fit : Fit
    tried : list of Candidate
        The chosen one first.
    learned : Sample
        What it was fitted to.
    """

    fit: Fit
    tried: list[Candidate]
    learned: Sample


class Tried(NamedTuple):
    """A candidate, and the fit that it summarises."""

    candidate: Candidate
    fit: Fit


def choose(
    plan: Plan,
    targets: Targets,
    classes: np.ndarray[Any, Any],
    run: Run,
    max_weights: int | None = None,
) -> Choice:
    """The smallest model that is faithful to the teacher.

    Parameters
    ----------
    plan : Plan
    targets : Targets
    classes : (C,) array
        Labels.
    run : Run
    max_weights : int, optional
        Weights that the model will be reduced to. If the chosen model has more, the smallest
        divergence within the budget decides.
    """
    tolerance = tolerance_of(targets) if plan.max_divergence is None else plan.max_divergence
    if run.verbose:
        print(f"[sdgm] teacher {targets.name}: log loss {targets.log_loss:.4f}", flush=True)
    base = replace(plan, random_state=run.seeds(plan.seeds)[0], previous=None)
    tried, failures = tried_candidates(base, targets, classes, run, tolerance)
    if not tried:
        raise failures[0]
    tried.sort(key=lambda each: preference(each.candidate, tolerance))
    if max_weights is not None and tried[0].candidate.n_weights > max_weights:
        losses = [
            divergence_within(fit, max_weights, plan.recipe, learned_by(candidate, targets))
            for candidate, fit in tried
        ]
        tried = [tried[i] for i in np.argsort(losses, kind="stable").tolist()]
    best = tried[0]
    if run.verbose:
        print(f"[sdgm] chosen: {summary(best.candidate)}", flush=True)
    candidates = [candidate for candidate, _ in tried]
    return Choice(best.fit, candidates, learned_by(best.candidate, targets))


def tried_candidates(
    plan: Plan, targets: Targets, classes: np.ndarray[Any, Any], run: Run, tolerance: float
) -> tuple[list[Tried], list[Exception]]:
    """Candidates, as many as are needed, and the errors of those that failed."""
    tried: list[Tried] = []
    failures: list[Exception] = []

    def attempt(parameters: dict[str, Any], replicates: float) -> None:
        own, number = plan.with_settings(parameters), len(tried) + len(failures)
        try:
            fit = candidate_fit(own, targets, replicates, classes, run.at(f"candidate {number}"))
        except (FactorizationError, MemoryError) as error:
            failures.append(error)  # simpler settings may do
            return
        except KeyboardInterrupt:  # before its first pass; there may be candidates before it
            if not tried:
                raise
            last = tried[-1].candidate
            stopped = replace(last, stop_reason=Stop.INTERRUPTED.value)
            tried[-1] = tried[-1]._replace(candidate=stopped)
            return
        tried.append(Tried(judged(fit, parameters, replicates, targets.judged), fit))
        if run.verbose:
            print(f"[sdgm] candidate {number}: {summary(tried[-1].candidate)}", flush=True)

    def is_over() -> bool:
        return any(is_interrupted(each) or each.divergence <= tolerance for each, _ in tried)

    def come_closer() -> None:
        """More replicates for the closest so far, as long as they bring something.

        A mixture can converge elsewhere and be no closer. In that case the closest model of the
        first round learns from more replicates, if it is nearly as close.
        """
        closest, simple = (
            min(some, key=lambda each: each.candidate.divergence).candidate
            for some in (tried, tried[:n_simple])
        )
        if closest.replicates > replicates:
            return
        if closest.n_weights > MAX_WEIGHTS:  # all classes have all columns: few may not be enough
            gamma = closest.parameters.get("gamma")
            if isinstance(gamma, float) and plan.settings.chooses("gamma"):
                sharper = scales.for_shared_columns(closest.parameters["kernel"])
                if sharper != gamma:
                    attempt({**closest.parameters, "gamma": sharper}, replicates)
            return
        is_near = simple is not closest and simple.divergence <= NEARLY * closest.divergence
        for start in (closest, simple) if is_near else (closest,):
            for factor in MORE_REPLICATES:
                before = min(each.divergence for each, _ in tried)
                attempt(start.parameters, factor * replicates)
                if is_over():
                    return
                if tried[-1].candidate.divergence > WORTH_MORE * before:
                    break
            if min(each.divergence for each, _ in tried) < closest.divergence:
                return

    replicates, scales = plan.form.replicates, ScaleFinder(plan, targets, classes, tolerance)
    shape: tuple[int, int] = targets.learned.X.shape
    n_simple = 0  # candidates of the first round that did not fail
    for round_ in plan.form.rounds(plan.settings, shape, len(classes), scales.smoothest):
        for parameters in round_:
            attempt(parameters, replicates)
            if tried and is_interrupted(tried[-1].candidate):
                break
        n_simple = n_simple or len(tried)
        if not is_over() and any(each.divergence <= NEARLY * tolerance for each, _ in tried):
            come_closer()
        if is_over():
            return tried, failures
    if tried:
        come_closer()
    return tried, failures


def candidate_fit(
    plan: Plan, targets: Targets, replicates: float, classes: np.ndarray[Any, Any], run: Run
) -> Fit:
    """A model that learned from the teacher, perhaps up to an interrupt."""
    with warnings.catch_warnings():
        # of the chosen model alone the caller is told how it ended
        for category in (ConvergenceWarning, ComponentsReducedWarning, NumericalTroubleWarning):
            warnings.simplefilter("ignore", category)
        return student_fit(plan, targets, replicates, classes, run)


def learned_by(candidate: Candidate, targets: Targets) -> Sample:
    """The rows that a candidate was fitted to."""
    return replicated(targets.learned, candidate.replicates)


def judged(fit: Fit, parameters: dict[str, Any], replicates: float, rows: Sample) -> Candidate:
    """A fitted model, measured against the teacher."""
    n_weights, stop = fit.model.n_weights, fit.training.stop_reason
    n_numbers = n_weights + fit.model.basis.n_stored_numbers
    divergence = divergence_at(fit.model, rows)
    return Candidate(parameters, replicates, n_weights, n_numbers, divergence, stop)


def remeasured(candidate: Candidate, model: FittedModel, rows: Sample) -> Candidate:
    """A candidate whose model has lost weights since it was measured."""
    return replace(
        candidate,
        n_weights=model.n_weights,
        n_numbers=model.n_weights + model.basis.n_stored_numbers,
        divergence=divergence_at(model, rows),
    )


def divergence_at(model: FittedModel, rows: Sample) -> float:
    """Mean divergence of a model from the probabilities of rows, in nats."""
    P: FloatArray = rows.y
    log_proba = predicted_log_proba(model, rows.X, "map")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(P > 0.0, np.log(P) - log_proba, 0.0)
    return float(rows.s @ (P * ratio).sum(axis=1) / rows.s.sum())


def summary(candidate: Candidate) -> str:
    """A line on a candidate."""
    settings = ", ".join(f"{name}={value!r}" for name, value in candidate.parameters.items())
    return (
        f"{settings}: {candidate.n_weights} weights, {candidate.n_numbers} numbers, "
        f"divergence {candidate.divergence:.4f}"
    )


def is_interrupted(candidate: Candidate) -> bool:
    """Whether the user ended learning."""
    return candidate.stop_reason == Stop.INTERRUPTED


def tolerance_of(targets: Targets) -> float:
    """The divergence up to which a model counts as faithful to the teacher."""
    return faithful(targets.log_loss)


def faithful(log_loss: float) -> float:
    """Divergence from a model with this log loss that is negligible."""
    return max(FAITHFUL, FAITHFUL_SHARE * log_loss)


def preference(candidate: Candidate, tolerance: float) -> tuple[bool, float, float]:
    """Sort key: faithful models first, by size; then the others, by divergence."""
    faithful = candidate.divergence <= tolerance
    size = float(candidate.n_numbers) if faithful else candidate.divergence
    return not faithful, size, candidate.divergence
