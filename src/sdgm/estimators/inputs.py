"""A budget of inputs: the inputs that a fit reads, selected with a teacher before learning.

The teacher predicts class probabilities from all inputs; forward selection finds the inputs that
explain most of them (`core/selection/inputs.py`). The fit that follows is like any other, its own
teacher included, but sees only these inputs.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import Start
from sdgm.core.selection.inputs import inputs_in_order
from sdgm.core.selection.screening import Linearised
from sdgm.estimators.choosing import MAX_ROWS
from sdgm.estimators.distillation import Targets, targets_of
from sdgm.estimators.parameters import is_given
from sdgm.estimators.plan import Plan
from sdgm.estimators.preparation import center_and_inverse_scale, check_same_inputs, prepared
from sdgm.estimators.problem import Sample
from sdgm.scale.threads import one_blas_thread


def with_inputs(plan: Plan, X: FloatArray, y: np.ndarray[Any, Any], sample_weight: Any) -> Plan:
    """The plan of a fit that reads at most ``max_features`` inputs; a warm start keeps them.

    Parameters
    ----------
    plan : Plan
    X : (n_samples, D) array
        Checked inputs.
    y : (n_samples,) array
        Labels.
    sample_weight : array-like or None
        As given.
    """
    D = X.shape[1]
    n_inputs = D if plan.max_features is None else plan.max_features
    if n_inputs > D:
        raise ValueError(
            f"max_features={n_inputs} is more than the {D} features of X; give at most {D}, or "
            "None for all of them."
        )
    if plan.previous is not None:
        check_same_inputs(plan.previous[0], D)
        inputs = plan.previous[0].scaler.inputs
        if len(inputs) != n_inputs:
            raise ValueError(
                f"warm_start cannot continue from {len(inputs)} features in use to {n_inputs}; set "
                "warm_start=False."
            )
    elif n_inputs < D:
        inputs = chosen_inputs(plan, X, y, sample_weight, n_inputs)
    return plan if n_inputs == D else plan.with_inputs(inputs)


def chosen_inputs(
    plan: Plan, X: FloatArray, y: np.ndarray[Any, Any], sample_weight: Any, n_inputs: int
) -> IntArray:
    """Inputs that explain most of the predictions of a plan's teacher, or of ours: sorted."""
    some = np.arange(len(X))
    if len(X) > MAX_ROWS:
        some = np.sort(np.random.RandomState(0).permutation(len(X))[:MAX_ROWS])
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[some]
    plain = replace(plan, init=Start.KMEANS.value)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # the fit itself will warn
        problem = prepared(X[some], y[some], sample_weight, plain)
        teacher = plan.teacher if is_given(plan.teacher) else "auto"
        try:
            targets = targets_of(teacher, problem)
        except np.linalg.LinAlgError:
            if is_given(teacher):
                raise
            rows, C = problem.sample, len(problem.classes)
            targets = Targets.at_rows(Sample(rows.X, np.eye(C)[rows.y], rows.s))
        learned = targets.learned
        center, inverse_scale = center_and_inverse_scale(learned.X, learned.s)
        rows_of_teacher = Linearised.around(learned.y, learned.s)
        order = inputs_in_order((learned.X - center) * inverse_scale, rows_of_teacher, n_inputs)
    return np.sort(order)
