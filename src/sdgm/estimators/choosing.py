"""Settings chosen from the training rows: a dense reference, and the smallest model true to it.

1. `core.selection.reference` fits dense models, tunes each by evidence, weighs them by leaving out
   rows.
2. Candidates learn the posterior of that reference in place of the labels, each row as if it had
   been seen `Form.replicates` times with these frequencies of the classes. The more replicates,
   the closer to the reference, and the more weights.
3. Simple candidates come first. The first round with a model whose mean divergence from the
   reference is below `FAITHFUL` decides, by the fewest stored numbers; with none, the smallest
   divergence of all.

A richer round that comes no closer ends the search where it was close already. Labels enter through
the reference alone, and nothing is cross-validated: a sparse model can only lose what the reference
knows, and the divergence says how much.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.variations import with_few_weights
from sdgm.core.model.state import Stop
from sdgm.core.selection.reference import MAX_RANK, Reference, fit_reference
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.budget import divergence_within, honest_covariance, within_budget
from sdgm.estimators.fitting import fit_problem
from sdgm.estimators.plan import Plan
from sdgm.estimators.prediction import predicted_log_proba
from sdgm.estimators.preparation import prepared_sample
from sdgm.estimators.problem import Problem, Sample
from sdgm.estimators.run import Run
from sdgm.estimators.training import Candidate, Fit
from sdgm.exceptions import ComponentsReducedWarning, NumericalTroubleWarning
from sdgm.scale.memory import reference_bytes, require_memory
from sdgm.scale.threads import blas_threads

# mean divergence in nats that is as good as none: it adds as much to the log loss
FAITHFUL = 0.005
# a richer round must bring the divergence to this share of what it was for the next to be tried,
# once it is within so many times `FAITHFUL`
WORTH_MORE = 0.9
NEARLY = 3.0
# frequency that a row's own label has at least, lest a rare class be lost
OWN_FREQUENCY = 1e-6
# above this many rows labels are learned as they are: there are enough of them
MAX_ROWS = 10_000
# weights per component with which the final phase begins where frequencies are learned: they keep
# more weights than labels do
FEW_WEIGHTS = 48


def reference_for(problem: Problem, plan: Plan) -> Reference | None:
    """The dense model to learn from; None if settings are not to be chosen, or it fails."""
    if not is_automatic(problem, plan):
        return None
    N, C = len(problem.y), len(problem.classes)
    plan.form.require(N, problem.X.shape[1], plan.settings)
    require_memory(
        reference_bytes(N, N, C),
        f"Choosing the settings from {N} rows of {C} classes",
        ["settings of your own", "fewer rows"],
    )
    newton_size = float(C * min(N, MAX_RANK))
    try:
        with blas_threads(N * newton_size**2):
            return fit_reference(problem.X, problem.y, problem.s)
    except FactorizationError:
        return None


def is_automatic(problem: Problem, plan: Plan) -> bool:
    """Whether settings are to be chosen: all were left open, or one was said to be "auto"."""
    is_possible = (
        plan.recipe.learns_alpha
        and plan.merges_rows
        and plan.standardize is not False
        and isinstance(plan.init, str)
    )
    if plan.settings.asks_for_choice and not is_possible:
        raise ValueError(
            "settings can be 'auto' only with prior='ard', preset='fast', standardised inputs, "
            "a named init and a named kernel; give numbers, or leave these at their defaults."
        )
    if plan.is_sample or len(problem.y) > MAX_ROWS:
        return False
    goes_on = plan.previous is not None and plan.form.finds(plan.previous[0], problem)
    return plan.settings.wants_choice and is_possible and not goes_on


def fit_automatically(reference: Reference, problem: Problem, plan: Plan, run: Run) -> Fit:
    """Choose the settings and the model, and keep to the budget of weights."""
    labelled = problem.sample
    rows = labelled.X, problem.y, problem.s
    unlimited = replace(plan, max_weights=None)  # the choice comes first
    choice = choose(unlimited, rows, problem.classes, reference, run, plan.max_weights)
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
    if plan.max_weights is None or fit.is_interrupted:
        return fit
    return within_budget(fit, plan.max_weights, plan.recipe, choice.learned, labelled)


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


def choose(
    plan: Plan,
    rows: tuple[FloatArray, IntArray, FloatArray],
    classes: np.ndarray[Any, Any],
    reference: Reference,
    run: Run,
    max_weights: int | None = None,
) -> Choice:
    """The smallest model that is true to the reference.

    Parameters
    ----------
    plan : Plan
    rows : arrays X, y, s of N rows
        Inputs as the user gave them, class indices and weights.
    classes : (C,) array
        Labels.
    reference : Reference
    run : Run
    max_weights : int, optional
        What the model will be cut down to; where the choice is larger than that, the smallest
        divergence within decides.
    """
    X, _, s = rows
    seed = run.seeds(plan.seeds)[0]
    base = replace(
        plan,
        recipe=with_few_weights(plan.recipe, FEW_WEIGHTS),
        random_state=seed,
        previous=None,
    )
    learned = soft_sample(*rows, reference.P_c, plan.form.replicates)
    tried: list[tuple[Candidate, Fit]] = []
    failures: list[Exception] = []
    closest_before = np.inf
    for round_ in plan.form.rounds(plan.settings, X.shape[1], reference):
        for parameters in round_:
            own, number = base.with_settings(parameters), len(tried) + len(failures)
            try:
                fit = candidate_fit(own, learned, classes, run.at(f"candidate {number}"))
                tried.append((judged(fit, parameters, own, X, s, reference), fit))
            except (FactorizationError, MemoryError) as error:
                failures.append(error)  # simpler settings may do
            if tried and is_interrupted(tried[-1][0]):
                break
        if any(is_interrupted(each) or is_faithful(each) for each, _ in tried):
            break
        closest = min((each.divergence for each, _ in tried), default=np.inf)
        if closest < NEARLY * FAITHFUL and closest > WORTH_MORE * closest_before:
            break
        closest_before = closest
    if not tried:
        raise failures[0]
    tried.sort(key=lambda pair: preference(pair[0]))
    if max_weights is not None and tried[0][0].n_weights > max_weights:
        losses = [divergence_within(fit, max_weights, plan.recipe, learned) for _, fit in tried]
        tried = [tried[i] for i in np.argsort(losses, kind="stable").tolist()]
    return Choice(tried[0][1], [candidate for candidate, _ in tried], learned)


def soft_sample(
    X: FloatArray, y: IntArray, s: FloatArray, P_c: FloatArray, replicates: float
) -> Sample:
    """Rows with the reference's posterior in place of labels; a row's own class always stays."""
    frequency = P_c.copy()
    own = np.arange(len(y)), y
    frequency[own] = np.maximum(frequency[own], OWN_FREQUENCY)
    frequency /= frequency.sum(axis=1, keepdims=True)
    return Sample(X, frequency, replicates * s)


def candidate_fit(plan: Plan, learned: Sample, classes: np.ndarray[Any, Any], run: Run) -> Fit:
    """A model that learned from the reference, perhaps up to an interrupt."""
    with warnings.catch_warnings():
        # of the chosen model alone the caller is told how it ended
        for category in (ConvergenceWarning, ComponentsReducedWarning, NumericalTroubleWarning):
            warnings.simplefilter("ignore", category)
        return fit_problem(prepared_sample(learned, classes, plan), plan, run)


def judged(
    fit: Fit,
    parameters: dict[str, Any],
    plan: Plan,
    X: FloatArray,
    s: FloatArray,
    reference: Reference,
) -> Candidate:
    """A fitted model, measured against the reference."""
    P = reference.P_c
    log_proba = predicted_log_proba(fit.model, X, plan.predictive)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(P > 0.0, np.log(P) - log_proba, 0.0)
    divergence = float(s @ np.where(P > 0.0, P * ratio, 0.0).sum(axis=1) / s.sum())
    n_weights, stop = fit.model.n_weights, fit.training.stop_reason
    n_numbers = n_weights + fit.model.basis.n_stored_numbers
    return Candidate(parameters, plan.form.replicates, n_weights, n_numbers, divergence, stop)


def is_interrupted(candidate: Candidate) -> bool:
    """Whether the user ended learning."""
    return candidate.stop_reason == Stop.INTERRUPTED


def is_faithful(candidate: Candidate) -> bool:
    """Whether it says what the reference says."""
    return candidate.divergence <= FAITHFUL


def preference(candidate: Candidate) -> tuple[bool, float, float]:
    """Smaller is better: true to the reference, small or close to it."""
    faithful = is_faithful(candidate)
    size = float(candidate.n_numbers) if faithful else candidate.divergence
    return not faithful, size, candidate.divergence
