"""The description of a fitted model."""

from __future__ import annotations

from itertools import compress
from operator import not_
from typing import Any

import numpy as np

from sdgm._typing import BoolArray, FloatArray
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.gaussians import gaussian_from_weights, is_gaussian
from sdgm.description.values import (
    ClassDescription,
    Description,
    FeatureDescription,
    GaussianDescription,
    ModeDescription,
    TermDescription,
    VectorDescription,
)
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.quadratics import standardized_form
from sdgm.export.model import classifier_and_inputs
from sdgm.json_values import json_value
from sdgm.tables.inputs import Category, Input, feature_names

# how much wider a Gaussian can be in one input than with all others known, before only rounding
# keeps it from being flat in some direction, as where one input is the negative of another
FLAT = 1e10


def describe(model: Any) -> Description:
    """Describe what a fitted model has learned.

    Parameters
    ----------
    model : fitted classifier of this package, or TableModel

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> words = describe(SDGMClassifier().fit(X, y))
    >>> words.form, words.n_modes, words.n_weights < words.n_initial_weights
    ('primal', 3, True)
    >>> words.classes[2].modes[0].terms[0].name
    'petal width (cm)'
    """
    classifier, inputs = classifier_and_inputs(model)
    names = feature_names(inputs)
    used, kernel = _used(classifier), _kernel_formula(classifier)
    scaler = classifier.model_.scaler
    center, scale = scaler.center, np.ones(len(names))
    scale[scaler.inputs] /= scaler.inverse_scale[scaler.inputs]
    ends = np.cumsum([len(each.features) for each in inputs])
    input_used = [bool(part.any()) for part in np.split(used, ends[:-1])]  # one of its features is
    rows = None if kernel is None else table_rows(model)
    return Description(
        estimator=type(classifier).__name__,
        form="primal" if kernel is None else "dual",
        target=getattr(model, "target", None),
        classes=_classes(classifier, names),
        inputs=tuple(each.name for each in compress(inputs, input_used)),
        unused=tuple(each.name for each in compress(inputs, map(not_, input_used))),
        features=tuple(
            map(FeatureDescription, names, center.tolist(), scale.tolist(), used.tolist())
        ),
        standardized=bool(np.any(center != 0.0) or np.any(scale != 1.0)),
        kernel=kernel,
        vectors=() if kernel is None else _vectors(classifier, inputs, rows),
        n_weights=int(classifier.n_active_weights_),
        n_initial_weights=int(classifier.n_initial_weights_),
        chosen=json_value(classifier.chosen_),
        fidelity=getattr(classifier, "fidelity_", None),
        rows_from=0 if rows is None else 1,
    )


def _classes(classifier: BaseSDGM, names: tuple[str, ...]) -> tuple[ClassDescription, ...]:
    # [intercept_, coef_] and their deviations, None where unknown
    active, weights = classifier.model_.active, classifier.model_.weights
    std = np.full(active.shape, np.nan)
    if classifier.covariance_ is not None:
        # rounding can leave a variance just below zero
        std[active] = np.sqrt(np.maximum(np.diagonal(classifier.covariance_), 0.0))
    terms = _named_columns(classifier.model_.basis, names, classifier.coef_.shape[1])

    def mode(k: int, number: int) -> ModeDescription:
        kept = [
            TermDescription(
                name=name,
                weight=float(weights[k, h]),
                std=None if np.isnan(std[k, h]) else float(std[k, h]),
                features=parts,
                column=h - 1 if h else None,
            )
            for h, (name, parts) in enumerate(terms)
            if active[k, h]
        ]
        constant = kept.pop(0) if active[k, 0] else None
        return ModeDescription(
            number=number,
            mixture_weight=float(classifier.mixture_weights_[k]),
            constant=constant,
            terms=tuple(sorted(kept, key=lambda term: -term.certainty)),
            gaussian=_gaussian(classifier, k, names),
        )

    of_class = classifier.component_class_
    return tuple(
        ClassDescription(
            label,
            tuple(mode(k, i) for i, k in enumerate(np.flatnonzero(of_class == c).tolist(), 1)),
        )
        for c, label in enumerate(classifier.classes_.tolist())
    )


def _named_columns(
    basis: Any, names: tuple[str, ...], n_columns: int
) -> list[tuple[str, tuple[str, ...]]]:
    """Name and features of the constant and of every column."""
    columns: list[tuple[str, tuple[str, ...]]] = [("1", ())]
    if not isinstance(basis, Monomials):
        return columns + [(f"k(x, v{h + 1})", ()) for h in range(n_columns)]
    pairs = zip(basis.first.tolist(), basis.second.tolist(), strict=True)
    for name, (i, j) in zip(basis.names(names), pairs, strict=True):
        parts = names if i == SQUARED_NORM else tuple(names[p] for p in (i, j) if p != ABSENT)
        columns.append((name, parts[:1] if i == j else parts))
    return columns


def _used(classifier: BaseSDGM) -> BoolArray:
    """Whether any column depends on each feature: (D,)."""
    used = np.zeros(classifier.n_features_in_, dtype=bool)
    used[classifier.features_used_] = True
    return used


def _kernel_formula(classifier: BaseSDGM) -> str | None:
    """The kernel as a formula, or None in the original form."""
    basis = classifier.model_.basis
    if isinstance(basis, Monomials):
        return None
    kernel = getattr(basis, "kernel", None)
    return "k(x, v) as given in place of the inputs" if kernel is None else kernel.formula()


def _vectors(
    classifier: Any, inputs: tuple[Input, ...], rows: list[int] | None
) -> tuple[VectorDescription, ...]:
    values = classifier.relevance_vectors_
    return tuple(
        VectorDescription(
            name=f"v{h + 1}",
            row=int(row),
            values={} if values is None else _decoded(inputs, values[h]),
            weights=tuple(classifier.coef_[:, h].tolist()),
        )
        for h, row in enumerate(classifier.relevance_ if rows is None else rows)
    )


def table_rows(model: Any) -> list[int] | None:
    """Rows of the user's table that are relevance vectors, from 1; None where it is not known."""
    rows: list[int] | None = getattr(model, "record", {}).get("relevance_rows")
    return rows if rows is not None and len(rows) == len(model.classifier.relevance_) else None


def _decoded(inputs: tuple[Input, ...], features: FloatArray) -> dict[str, Any]:
    """Values by column of a row of features; None where one was missing or no known level."""
    values: dict[str, Any] = {}
    ends = np.cumsum([len(each.features) for each in inputs])
    for each, part in zip(inputs, np.split(features, ends[:-1]), strict=True):
        if isinstance(each, Category):
            level = int(part.argmax()) if part.any() else len(each.levels)
            values[each.name] = each.levels[level] if level < len(each.levels) else None
        else:
            values[each.name] = None if each.indicator and part[1] else float(part[0])
    return values


def _gaussian(classifier: BaseSDGM, k: int, names: tuple[str, ...]) -> GaussianDescription | None:
    """The Gaussian that exp(score) is in the inputs that component k uses, if it is one."""
    model = classifier.model_
    try:
        _, (a,), (Q,) = standardized_form(model.basis, model.coef[[k]], len(names))
    except ValueError:  # no quadratic function
        return None
    own = np.flatnonzero((a != 0.0) | Q.any(axis=1))
    D = len(own)
    if not D:
        return None
    i, j = np.triu_indices(D)
    upper = np.where(i == j, 1.0, 2.0) * Q[np.ix_(own, own)][i, j]
    w = np.concatenate([[0.0], a[own], upper])
    if not is_gaussian(w, D):
        return None
    mean, covariance, _ = gaussian_from_weights(w, D)
    variance = np.diagonal(covariance)
    # relative to the variance that an input has once all others are known, 1 / s_ii
    if np.max(variance * -2.0 * np.diagonal(Q)[own]) > FLAT:
        return None
    deviation, scale = np.sqrt(variance), 1.0 / model.scaler.inverse_scale[own]
    correlation = covariance / deviation / deviation[:, None]
    return GaussianDescription(
        features=tuple(names[i] for i in own),
        mean=tuple((model.scaler.center[own] + scale * mean).tolist()),
        std=tuple((scale * deviation).tolist()),
        correlation=tuple(map(tuple, correlation.tolist())),
    )
