"""Settings chosen by labels: a sample learns, and other rows validate.

A teacher fitted to a sample knows less than all rows do, and a model that is faithful to it can be
too simple. So candidates learn the labels of the sample, simple ones first, and are judged by their
log loss at rows that no candidate has learned from. The simplest candidate that is about as good as
the best is chosen; numbers of weights do not count, because all rows determine them later. The
scale of a kernel is the smoothest with which a ridge regression on the labels is about as good as
with the best scale.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sdgm.core.model.kernels import KernelBasis
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.choosing import FAITHFUL, Tried, faithful, judged, summary
from sdgm.estimators.fitting import fit_problem
from sdgm.estimators.kernel_form import MAX_VECTORS, KernelForm
from sdgm.estimators.label_ridge import labelled, ridge_regression
from sdgm.estimators.plan import Plan
from sdgm.estimators.preparation import prepared
from sdgm.estimators.problem import Sample
from sdgm.estimators.run import Run
from sdgm.estimators.students import SCALES
from sdgm.estimators.training import Fit
from sdgm.exceptions import ComponentsReducedWarning, NumericalTroubleWarning
from sdgm.scale.sampling import Picked


def chosen_by_labels(
    picked: Picked, others: Picked, classes: np.ndarray[Any, Any], plan: Plan, run: Run
) -> Fit:
    """The simplest model of a sample that is about as good as the best on held-out rows.

    Parameters
    ----------
    picked : Picked
        The sample.
    others : Picked
        Rows for validation; those of the sample are left out, unless there are no others.
    classes : (C,) array
        Labels.
    plan : Plan
    run : Run
    """
    unseen = unseen_labels(picked, others, len(classes))
    tried: list[Tried] = []
    failures: list[Exception] = []

    def attempt(parameters: dict[str, Any]) -> bool:
        """Whether to continue; false after an interrupt by the user."""
        own, number = plan.with_settings(parameters), len(tried) + len(failures)
        try:
            fit = label_fit(picked, classes, own, run.at(f"candidate {number}"))
        except (FactorizationError, MemoryError) as error:
            failures.append(error)  # simpler settings may do
            return True
        except KeyboardInterrupt:  # before its first pass; there may be candidates before it
            if not tried:
                raise
            return False
        tried.append(Tried(judged(fit, parameters, 1.0, unseen), fit))
        if run.verbose:
            print(f"[sdgm] candidate {number}: {summary(tried[-1].candidate)}", flush=True)
        return not fit.is_interrupted

    def least() -> float:
        return min((each.candidate.divergence for each in tried), default=np.inf)

    def enough() -> float:
        may_lose = faithful(least()) if plan.max_divergence is None else plan.max_divergence
        return least() + may_lose

    goes_on, shape = True, (len(picked.s), picked.X.shape[1])
    find_scale = partial(scale_by_labels, picked, classes, plan)
    for round_ in plan.form.rounds(plan.settings, shape, len(classes), find_scale):
        before = least()
        goes_on = all(attempt(parameters) for parameters in round_)
        if not goes_on or (tried and before <= enough()):
            break
    if not tried:
        raise failures[0]
    limit, columns = enough(), plan.form.candidate_basis(picked.X.shape[1])

    def preference(each: Tried) -> tuple[bool, int]:
        # simple ones come first; vectors of a kernel are few or many, whatever the round
        size = each.candidate.n_numbers if columns is None else 0
        return each.candidate.divergence > limit, size

    tried.sort(key=preference)
    best = tried[0]
    if run.verbose:
        print(f"[sdgm] chosen: {summary(best.candidate)}", flush=True)
    candidates = [each.candidate for each in tried]
    training = replace(
        best.fit.training, chosen=dict(best.candidate.parameters), candidates=candidates
    )
    return Fit(best.fit.model, training, not goes_on)


def unseen_labels(picked: Picked, others: Picked, n_classes: int) -> Sample:
    """Rows that are not in the sample, with their labels as frequencies of the classes."""
    is_new = ~np.isin(others.number, picked.number)
    if not is_new.any():  # the sample has all rows of positive weight
        is_new[:] = True
    return Sample(others.X[is_new], np.eye(n_classes)[others.y[is_new]], others.s[is_new])


def label_fit(picked: Picked, classes: np.ndarray[Any, Any], plan: Plan, run: Run) -> Fit:
    """A model that learned the labels of the sample, perhaps up to an interrupt."""
    with warnings.catch_warnings():
        # of the chosen model alone the caller is told how it ended
        for category in (ConvergenceWarning, ComponentsReducedWarning, NumericalTroubleWarning):
            warnings.simplefilter("ignore", category)
        return fit_problem(prepared(picked.X, classes[picked.y], picked.s, plan), plan, run)


def scale_by_labels(
    picked: Picked, classes: np.ndarray[Any, Any], plan: Plan, kernel: str
) -> float:
    """The smoothest scale of a kernel that predicts the labels of rows left out about as well."""
    settings = {"kernel": kernel, "gamma": "scale", "n_components": 1}
    problem = prepared(picked.X, classes[picked.y], picked.s, plan.with_settings(settings))
    rows, share = labelled(problem, problem.y)

    def basis_with(gamma: Any) -> KernelBasis:
        form = plan.with_settings({**settings, "gamma": gamma}).form
        assert isinstance(form, KernelForm)
        return form.basis_at(problem, len(rows.s), MAX_VECTORS)

    plain = basis_with("scale").gamma
    gammas = [factor * plain for factor in SCALES]
    losses = [ridge_regression(rows, basis_with(gamma), share)[1].loss for gamma in gammas]
    enough = min(losses) + FAITHFUL
    return next(gamma for gamma, loss in zip(gammas, losses, strict=True) if loss <= enough)
