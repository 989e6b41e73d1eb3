"""A classifier of partly labelled rows as a document and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sdgm.estimators.semi_supervised import SemiSupervisedSDGMClassifier
from sdgm.persistence.classifiers import (
    CLASSIFIERS,
    integers,
    parameter_specs,
    parameters_document,
    put_together,
    specs_of,
    take_apart,
    unfitted,
)
from sdgm.persistence.errors import Unsound
from sdgm.persistence.schema import INTEGER, Spec
from sdgm.persistence.values import (
    MAX_TEXT_BYTES,
    Array,
    Fields,
    decoded,
    decoded_labels,
    encoded,
    encoded_labels,
    object_array,
)

# arrays among the parameters of the estimator that was handed in, which is not fitted
GIVEN = "given/"
TRANSDUCTION = "transduction"


def partly_labelled_document(
    model: SemiSupervisedSDGMClassifier, arrays: dict[str, Array]
) -> dict[str, Any]:
    """The document of a fitted model; its arrays are added to ``arrays``."""
    given: Any = model.estimator
    if given is not None:
        kinds = [kind for kind, known in CLASSIFIERS.items() if type(given) is known]
        if not kinds:
            raise TypeError(f"estimator is {given!r:.60}, which a model file does not hold.")
        given = {"kind": kinds[0], "parameters": parameters_document(given, arrays, GIVEN)}
    labels, codes = np.unique(model.transduction_, return_inverse=True)
    arrays[TRANSDUCTION] = integers(codes)
    return {
        "fitted": take_apart(model.estimator_, arrays),
        "given": given,
        "parameters": {
            name: encoded(getattr(model, name), name) for name in ("max_unlabelled", "random_state")
        },
        "labels": encoded_labels(labels),
        "shares": encoded(model.shares_, "shares_"),
        "unlabelled_share": encoded(float(model.unlabelled_share_), "unlabelled_share_"),
        "n_labelled": int(model.n_labelled_),
    }


def partly_labelled_specs(document: dict[str, Any]) -> tuple[dict[str, Spec], dict[str, int]]:
    """The arrays that a document asks for, and sizes that are known from it."""
    specs, sizes = specs_of(document.get("fitted"))
    given = document.get("given")
    if isinstance(given, dict):
        specs |= parameter_specs(given.get("parameters"), GIVEN)
    return specs | {TRANSDUCTION: Spec("N", INTEGER, least=0)}, sizes


def read_partly_labelled(
    fields: Fields, arrays: Mapping[str, Array]
) -> SemiSupervisedSDGMClassifier:
    """The model of a document."""
    parameters = {**fields.object("parameters"), "estimator": None}
    model: SemiSupervisedSDGMClassifier = unfitted(SemiSupervisedSDGMClassifier, parameters, arrays)
    given = fields.optional("given", fields.object)
    if given is not None:
        own = Fields(given, "the estimator")
        kind = own.take("kind", "a classifier of sdgm", lambda value: value in [*CLASSIFIERS])
        model.estimator = unfitted(CLASSIFIERS[kind], own.object("parameters"), arrays)
        own.done()
    model.estimator_ = put_together(fields.object("fitted"), arrays)
    model.classes_ = model.estimator_.classes_
    model.n_features_in_ = model.estimator_.n_features_in_
    if hasattr(model.estimator_, "feature_names_in_"):
        model.feature_names_in_ = model.estimator_.feature_names_in_
    labels = decoded_labels(fields.object("labels"), "the labels")
    model.transduction_ = labels_at(labels, arrays[TRANSDUCTION])
    model.shares_ = shares(fields)
    model.unlabelled_share_ = fields.number("unlabelled_share")
    model.n_labelled_ = fields.whole("n_labelled")
    return model


def labels_at(labels: Array, codes: Array) -> Array:
    """Labels by their indices, as objects where the texts would fill the memory."""
    if codes.max(initial=0) >= len(labels):
        raise Unsound("is not sound: a label of its training rows is none of its labels")
    if labels.dtype.kind == "U" and labels.itemsize * len(codes) > MAX_TEXT_BYTES:
        labels = object_array(labels.tolist())
    return labels[codes]


def shares(fields: Fields) -> dict[str, float]:
    """A mapping from names to numbers."""
    values = decoded(fields.object("shares"))
    is_right = isinstance(values, dict) and all(
        isinstance(name, str) and type(share) is float for name, share in values.items()
    )
    if not is_right:
        raise Unsound("is not sound: its shares are no numbers with names")
    return values
