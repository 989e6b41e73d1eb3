"""Settings chosen by labels: a sample learns, and other rows validate.

A teacher fitted to a sample knows less than all rows do, and a model that is faithful to it can be
too simple. So candidates learn the labels of the sample, simple ones first, and are judged by their
log loss at rows that no candidate has learned from. The simplest candidate that is about as good as
the best is chosen; numbers of weights do not count, because all rows determine them later.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.choosing import Tried, faithful, judged, summary
from sdgm.estimators.fitting import fit_problem
from sdgm.estimators.plan import Plan
from sdgm.estimators.preparation import prepared
from sdgm.estimators.problem import Sample
from sdgm.estimators.run import Run
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
    for round_ in plan.form.rounds(plan.settings, shape, len(classes), no_scale):
        before = least()
        goes_on = all(attempt(parameters) for parameters in round_)
        if not goes_on or (tried and before <= enough()):
            break
    if not tried:
        raise failures[0]
    limit = enough()
    tried.sort(key=lambda each: each.candidate.divergence > limit)  # simple ones first in each part
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


def no_scale(kernel: str) -> float:
    """For forms whose columns do not depend on the rows: they have no kernel."""
    raise ValueError(f"kernel={kernel!r} has a scale, which labels do not choose.")
