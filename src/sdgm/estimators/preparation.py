"""Preparation of the user's table: checked weights, merged rows, scaling, number of components."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_X_y

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import Start, distinct_rows
from sdgm.core.model.fitted_model import FittedModel, Scaler
from sdgm.estimators.parameters import (
    check_classes,
    check_labels,
    checked_responsibilities,
    checked_sample_weight,
    choice,
    class_factors,
    components_per_class,
    is_open,
)
from sdgm.estimators.plan import Plan, plan_of
from sdgm.estimators.problem import LARGEST_INPUT, Given, Problem, Sample, merged_means
from sdgm.estimators.run import warn_user
from sdgm.exceptions import ComponentsReducedWarning

# standard deviation of a column, relative to its mean, that is only rounding
CONSTANT_COLUMN = 1e-13


def prepared(X: FloatArray, y: np.ndarray[Any, Any], sample_weight: Any, plan: Plan) -> Problem:
    """The problem of a table: weights checked, repeated rows merged, inputs standardised.

    Parameters
    ----------
    X : (n_samples, D) array
        Checked inputs, or kernel values.
    y : (n_samples,) array
        Labels.
    sample_weight : array-like or None
        As given.
    plan : Plan
    """
    check_labels(y)
    s = checked_sample_weight(sample_weight, X)
    factors: FloatArray | float = 1.0
    if plan.class_weight is not None:
        factors = class_factors(plan.class_weight, y, s)
        s *= factors
    used = np.flatnonzero(s > 0)
    classes, codes = np.unique(y[used], return_inverse=True)
    check_classes(classes)
    if plan.previous is not None:
        check_same_classes(plan.previous[0], classes)
    class_factor = None
    if plan.class_weight is not None:
        class_factor = np.ones(len(classes))
        class_factor[codes] = np.broadcast_to(factors, len(y))[used]
    given = plan.settings.given["n_components"]
    n_components = components_per_class(plan.settings["n_components"], classes)
    if plan.form.is_precomputed:  # the table itself is large
        plan.form.require(len(used), X.shape[1], plan.settings)
    rows, s = plan.read(X[used]), s[used]
    merged, merged_s, inverse = distinct_rows(np.column_stack([rows, codes]), s)
    first = np.full(len(merged), len(X))
    np.minimum.at(first, inverse, used)
    merged_codes = codes[np.searchsorted(used, first)]
    init: Start | FloatArray
    if isinstance(plan.init, str):
        init = choice("init", plan.init, Start)
        n_components = reduced_to_samples(
            n_components, merged_codes, classes, warn=not is_open(given)
        )
    else:
        init = checked_responsibilities(plan.init, codes, n_components, used, len(X))
    given_rows = Given(used, inverse, s) if plan.merges_rows else None
    if plan.merges_rows:
        if not isinstance(init, Start):
            init = merged_means(init, s, inverse)
        rows, codes, s = merged[:, :-1], merged_codes, merged_s
    else:
        first = used
    scaler = scaler_of(rows, s, plan)
    rows = scaler.standardized(rows)
    if not np.abs(rows).max() < LARGEST_INPUT:
        remedy = "divide the kernel by a number" if plan.form.is_precomputed else None
        raise ValueError(
            f"the inputs are too large, up to {np.abs(rows).max():.3g}: their squares would "
            f"overflow; {remedy or 'use standardize=True'}."
        )
    return Problem(
        classes,
        scaler.reaching(rows),
        X,
        first,
        rows,
        codes,
        s,
        n_components,
        plan.recipe,
        init,
        class_factor,
        plan.inputs,
        given_rows,
    )


def prepared_again(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, chosen: Any = None
) -> tuple[Plan, Problem]:
    """The plan and the problem of an estimator that has been fitted to these rows.

    Parameters
    ----------
    estimator : fitted estimator
        It is not changed.
    X, y, sample_weight
        What it was fitted to.
    chosen : dict, optional
        Settings to take as chosen; if not given, those that were open are open again.
    """
    plan = plan_of(estimator, chosen=chosen)
    if plan.max_features is not None and plan.max_features < estimator.n_features_in_:
        plan = plan.with_inputs(estimator.model_.scaler.inputs)
    X, y = check_X_y(X, y, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has warned
        return plan, prepared(X, y, sample_weight, plan)


def prepared_sample(
    sample: Sample, classes: np.ndarray[Any, Any], plan: Plan, n_rows: int
) -> Problem:
    """The problem of rows with class frequencies; the first rows determine the scaling."""
    n_components = components_per_class(plan.settings["n_components"], classes)
    rows = plan.read(sample.X)
    scaler = scaler_of(rows[:n_rows], sample.s[:n_rows], plan)
    X = scaler.standardized(rows)
    return Problem(
        classes,
        scaler.reaching(X),
        sample.X,
        np.arange(len(X)),
        X,
        sample.y,
        sample.s,
        np.minimum(n_components, (sample.y > 0.0).sum(axis=0)),
        plan.recipe,
        choice("init", plan.init, Start),
        inputs=plan.inputs,
    )


def scaler_of(X: FloatArray, s: FloatArray, plan: Plan) -> Scaler:
    """Mean and inverse deviation of the inputs, or zero and one; those of the last fit."""
    D = X.shape[1]
    if plan.previous is not None:
        check_same_inputs(plan.previous[0], D)
        return replace(plan.previous[0].scaler, reach=np.inf)
    wanted = plan.standardize
    if wanted is None:
        wanted = plan.recipe.preparation.standardize
    if plan.form.is_precomputed or not wanted:
        return Scaler.identity(D)
    return Scaler(*center_and_inverse_scale(X, s))


def check_same_inputs(model: FittedModel, D: int) -> None:
    """Refuse to continue from a model with another number of inputs."""
    before = len(model.scaler.center)
    if before != D:
        raise ValueError(
            f"warm_start cannot continue from {before} features to {D}; set warm_start=False."
        )


def check_same_classes(model: FittedModel, classes: np.ndarray[Any, Any]) -> None:
    """Refuse to continue from a model with other classes."""
    if not np.array_equal(model.classes, classes):
        raise ValueError(
            f"warm_start cannot continue from classes {model.classes.tolist()} to "
            f"{classes.tolist()}; set warm_start=False."
        )


def reduced_to_samples(
    n_components: IntArray, y: IntArray, classes: np.ndarray[Any, Any], *, warn: bool
) -> IntArray:
    """At most as many components as samples in each class; warns if more were requested."""
    n_samples = np.bincount(y, minlength=len(classes))
    too_many = np.flatnonzero(n_components > n_samples)
    if warn and len(too_many):
        c = too_many[0]
        others = f" (and {len(too_many) - 1} other classes)" if len(too_many) > 1 else ""
        warn_user(
            f"Class {classes.tolist()[c]!r} has {n_samples[c]} samples for {n_components[c]} "
            f"components and gets {n_samples[c]}{others}; lower n_components.",
            ComponentsReducedWarning,
        )
    return np.minimum(n_components, n_samples)


def center_and_inverse_scale(X: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and inverse standard deviation of every column; one for constant columns."""
    share = s / s.sum()
    center = share @ X
    offset = X - center
    # squares of the offsets in units of the largest cannot overflow
    largest = np.abs(offset).max(axis=0)
    # rounding leaves a small deviation of a constant column far from zero
    constant = largest <= CONSTANT_COLUMN * np.abs(center)
    center[constant] = X[0, constant]
    largest[constant] = 1.0
    deviation = largest * np.sqrt(share @ (offset / largest) ** 2)
    deviation[constant] = 1.0
    return center, 1.0 / deviation
