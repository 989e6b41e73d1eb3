"""A fitted classifier as a document and arrays, and back.

Only what cannot be computed from the rest is kept: the state of learning, the columns it uses, the
scaling, the covariance and how learning went. Weights per component, names of terms and counts
follow from these, by the same functions that a fit uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from itertools import pairwise
from typing import Any

import numpy as np

from sdgm.core.model.state import Record, State, Stop
from sdgm.estimators.automatic import Candidate
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.corners import DiscriminativeGMMClassifier, RVMClassifier
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.parameters import components_per_class
from sdgm.estimators.primal import SDGMClassifier
from sdgm.persistence.columns import FORMS, add_columns, columns_document, read_columns
from sdgm.persistence.errors import Unsound
from sdgm.persistence.schema import ANY_NUMBER, INTEGER, Spec
from sdgm.persistence.values import (
    Array,
    Fields,
    decoded,
    decoded_labels,
    encoded,
    encoded_labels,
    object_array,
)

CLASSIFIERS: dict[str, type[BaseSDGM]] = {
    "SDGMClassifier": SDGMClassifier,
    "KernelSDGMClassifier": KernelSDGMClassifier,
    "RVMClassifier": RVMClassifier,
    "DiscriminativeGMMClassifier": DiscriminativeGMMClassifier,
}

# the smallest number above zero
SMALLEST = float(np.nextafter(0.0, 1.0))
# components times columns, in which weights are spread out for prediction, unless that many are
# not zero
MAX_SPREAD = 4_000_000
# D inputs, n columns, m weights, K components, T iterations, S starts, P points of the path
SPECS = {
    "center": Spec("D"),
    "inverse_scale": Spec("D", least=0.0),
    "weights/w": Spec("m"),
    "weights/alpha": Spec("m", least=0.0),
    "weights/component": Spec("m", INTEGER, least=0, below="K"),
    "weights/column": Spec("m", INTEGER, least=0),  # zero is the constant
    "mixture_weights": Spec("K", least=SMALLEST),
    "component_class": Spec("K", INTEGER, least=0, below="C"),
    "covariance": Spec("mm", optional=True),
    "start_log_evidences": Spec("S", finite=False),
    "weights_path/n_weights": Spec("P", INTEGER, optional=True, least=0),
    "weights_path/divergence": Spec("P", optional=True, finite=False),
}
HISTORY = {
    field.name: Spec("T", INTEGER, least=0) if field.type == "int" else Spec("T", finite=False)
    for field in fields_of(Record)
    if field.name != "state"
}


# --- to a document and arrays ---


def take_apart(model: BaseSDGM, arrays: dict[str, Array]) -> dict[str, Any]:
    """The document of a fitted classifier; its arrays are added to ``arrays``."""
    kind = next((kind for kind, known in CLASSIFIERS.items() if type(model) is known), None)
    if kind is None and hasattr(model, "to_local"):
        raise TypeError("A model that was fitted with Dask is saved by way of model.to_local().")
    if kind is None:
        raise TypeError(
            f"{type(model).__name__} is no classifier that a model file holds; use one of "
            f"{', '.join(CLASSIFIERS)}."
        )
    state: State = model._state
    arrays.update(
        {
            "center": model._center,
            "inverse_scale": model._inverse_scale,
            "weights/w": state.w,
            "weights/alpha": state.alpha,
            "weights/component": integers(state.component),
            "mixture_weights": state.pi,
            "component_class": integers(state.component_class),
            "start_log_evidences": model.start_log_evidences_,
        }
    )
    if model.covariance_ is not None:
        arrays["covariance"] = model.covariance_
    if hasattr(model, "weights_path_"):
        arrays["weights_path/n_weights"] = integers(model.weights_path_["n_weights"])
        arrays["weights_path/divergence"] = model.weights_path_["divergence"]
    for name, spec in HISTORY.items():
        dtype = spec.dtypes[0]
        arrays[f"history/{name}"] = np.array([getattr(r, name) for r in model.history_], dtype)
    add_columns(model, arrays)
    columns = columns_document(model)
    names = getattr(model, "feature_names_in_", None)
    at_fit = model._state_key[1]
    return {
        "kind": kind,
        "parameters": parameters_document(model, arrays),
        "classes": encoded_labels(model.classes_),
        "feature_names": None if names is None else [str(name) for name in names],
        "columns": columns,
        "reach": float(model._reach),
        "chosen": encoded(model.chosen_, "chosen_"),
        "candidates": [candidate_document(candidate) for candidate in model.candidates_],
        "log_evidence": encoded(float(model.log_evidence_), "log_evidence_"),
        "n_initial_weights": int(model.n_initial_weights_),
        "converged": bool(model.converged_),
        "stop_reason": str(model.stop_reason_),
        "learned_reference": bool(model._learned_reference),
        # words for the settings of the fit, when they were changed since
        "settings_at_fit": None if at_fit == model._model_key() else at_fit,
    }


def parameters_document(
    model: Any, arrays: dict[str, Array], prefix: str = "parameters/"
) -> dict[str, Any]:
    """Constructor parameters as JSON; those that are arrays become arrays."""
    document = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, np.ndarray) and value.dtype.name in ANY_NUMBER:
            arrays[prefix + name] = value
            document[name] = {"array": prefix + name}
        else:
            document[name] = encoded(value, name)
    return document


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """A model that was tried, as JSON."""
    return {
        "parameters": encoded(candidate.parameters, "candidates_"),
        "replicates": encoded(float(candidate.replicates), "replicates"),
        "n_weights": int(candidate.n_weights),
        "n_numbers": int(candidate.n_numbers),
        "divergence": encoded(float(candidate.divergence), "divergence"),
        "stop_reason": str(candidate.stop_reason),
    }


def integers(array: Array) -> Array:
    """Whole numbers in 64 bits, whatever the platform has."""
    return np.asarray(array, dtype=np.int64)


# --- and back ---


def specs_of(document: Any) -> tuple[dict[str, Spec], dict[str, int]]:
    """The arrays that a classifier's document asks for, and sizes that are known from it."""
    if not isinstance(document, dict) or not isinstance(document.get("columns"), dict):
        raise Unsound("is not sound: its classifier is not described")
    form = document["columns"].get("form")
    if not isinstance(form, str) or form not in FORMS:
        raise Unsound(f"is not sound: its columns are of no known form, {form!r:.60}")
    specs = {**SPECS, **{f"history/{name}": spec for name, spec in HISTORY.items()}}
    specs |= FORMS[form] | parameter_specs(document.get("parameters"), "parameters/")
    classes = document.get("classes")
    values = classes.get("values") if isinstance(classes, dict) else None
    return specs, {"C": len(values) if isinstance(values, list) else 0}


def parameter_specs(parameters: Any, prefix: str) -> dict[str, Spec]:
    """Arrays among the parameters."""
    items = parameters.items() if isinstance(parameters, dict) else ()
    return {
        prefix + name: Spec(None, ANY_NUMBER, finite=False)
        for name, value in items
        if isinstance(value, dict) and "array" in value
    }


def put_together(document: Any, arrays: Mapping[str, Array]) -> BaseSDGM:
    """The classifier of a document and of arrays that agree with `specs_of` it."""
    fields = Fields(document, "the classifier")
    kind = fields.text("kind")
    if kind not in CLASSIFIERS:
        raise Unsound(f"is not sound: {kind!r:.60} is no classifier of sdgm")
    model = unfitted(CLASSIFIERS[kind], fields.object("parameters"), arrays)
    model.n_features_in_ = len(arrays["center"])
    if not model.n_features_in_:
        raise Unsound("is not sound: it has no inputs")
    model.classes_ = classes_of(fields.object("classes"))
    names = fields.optional("feature_names", fields.texts)
    if names is not None:
        if len(names) != model.n_features_in_:
            raise Unsound(f"is not sound: it has {len(names)} names of features")
        model.feature_names_in_ = object_array(names)
    state = read_state(arrays, len(model.classes_))
    model._center, model._inverse_scale = arrays["center"], arrays["inverse_scale"]
    model._reach = positive(fields, "reach")
    vars(model).update(model._weight_attributes(state), _state=state)
    model.covariance_ = arrays.get("covariance")
    read_learning(model, fields, arrays)
    read_columns(model, fields.object("columns"), arrays)
    at_fit = fields.optional("settings_at_fit", fields.text)
    fields.done()
    check_settings(model)
    model._state_key = (model.classes_, model._model_key() if at_fit is None else at_fit)
    return model


def unfitted(kind: type[Any], parameters: dict[str, Any], arrays: Mapping[str, Array]) -> Any:
    """An estimator with the parameters of a document."""
    if parameters.keys() != set(kind._get_param_names()):
        raise Unsound(f"is not sound: it has not the parameters of {kind.__name__}")
    values = {}
    for name, value in parameters.items():
        if isinstance(value, dict) and "array" in value:
            where = value["array"]
            if not isinstance(where, str) or where not in arrays or len(value) > 1:
                raise Unsound(f"is not sound: parameter {name!r} is no array of it")
            values[name] = arrays[where]
        else:
            values[name] = decoded(value)
    return kind(**values)


def classes_of(document: dict[str, Any]) -> Array:
    """Labels, at least two and in order."""
    classes = decoded_labels(document, "the classes")
    values = classes.tolist()
    try:
        in_order = all(a < b for a, b in pairwise(values))
    except TypeError:
        in_order = False
    if len(values) < 2 or not in_order:
        raise Unsound("is not sound: its classes are not two or more different labels in order")
    return classes


def positive(fields: Fields, name: str) -> float:
    """A finite number above zero."""
    value = fields.number(name)
    if not 0.0 < value < np.inf:
        raise Unsound(f"is not sound: {name!r} of {fields.what} is {value}")
    return value


def read_state(arrays: Mapping[str, Array], n_classes: int) -> State:
    """What was learned, with the weights in order and every column and class in use."""
    columns, component_class = arrays["columns/candidate"], arrays["component_class"]
    component, position = arrays["weights/component"], arrays["weights/column"]
    if (np.diff(columns) <= 0).any():
        raise Unsound("is not sound: its columns are not in order")
    if not np.array_equal(np.unique(position[position > 0]), np.arange(1, len(columns) + 1)):
        raise Unsound("is not sound: its weights do not use its columns")
    # by component, then by column, no pair twice
    if (np.diff(component * (len(columns) + 1) + position) <= 0).any():
        raise Unsound("is not sound: its weights are not in order")
    in_order = (np.diff(component_class) >= 0).all()
    if not in_order or len(np.unique(component_class)) != n_classes:
        raise Unsound("is not sound: its components are not in the order of its classes")
    spread = len(component_class) * (len(columns) + 1)
    if spread > max(MAX_SPREAD, 8 * len(position)):
        raise Unsound(f"has {len(position)} weights in a table of {spread}, which is too many")
    return State(
        w=arrays["weights/w"],
        alpha=arrays["weights/alpha"],
        component=component.astype(np.intp),
        column=np.concatenate([[0], columns])[position].astype(np.intp),
        pi=arrays["mixture_weights"],
        component_class=component_class.astype(np.intp),
    )


def read_learning(model: BaseSDGM, fields: Fields, arrays: Mapping[str, Array]) -> None:
    """How learning went."""
    if model.covariance_ is not None and (np.diagonal(model.covariance_) < 0.0).any():
        raise Unsound("is not sound: a variance in it is negative")
    columns = [arrays[f"history/{name}"].tolist() for name in HISTORY]
    model.history_ = [
        Record(**dict(zip(HISTORY, values, strict=True))) for values in zip(*columns, strict=True)
    ]
    path = [name in arrays for name in ("weights_path/n_weights", "weights_path/divergence")]
    if any(path) != all(path):
        raise Unsound("is not sound: half of its path of weights is missing")
    if all(path):
        model.weights_path_ = {
            "n_weights": arrays["weights_path/n_weights"],
            "divergence": arrays["weights_path/divergence"],
        }
    model.n_iter_ = len(model.history_)
    model.start_log_evidences_ = arrays["start_log_evidences"]
    model.log_evidence_ = fields.number("log_evidence")
    model.n_initial_weights_ = fields.whole("n_initial_weights")
    model.converged_ = fields.boolean("converged")
    model.stop_reason_ = stop_reason(fields)
    model._learned_reference = fields.boolean("learned_reference")
    model.chosen_ = settings(fields, "chosen")
    model.candidates_ = [read_candidate(value) for value in fields.items("candidates")]


def settings(fields: Fields, name: str) -> dict[str, Any]:
    """A mapping from names of parameters."""
    values = decoded(fields.object(name))
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise Unsound(f"is not sound: {name!r} of {fields.what} names no settings")
    return values


def stop_reason(fields: Fields) -> str:
    """Why learning ended."""
    reasons = [reason.value for reason in Stop]
    return fields.take("stop_reason", "a reason to stop", lambda value: value in reasons)


def read_candidate(value: Any) -> Candidate:
    """A model that was tried."""
    fields = Fields(value, "a candidate")
    candidate = Candidate(
        parameters=settings(fields, "parameters"),
        replicates=fields.number("replicates"),
        n_weights=fields.whole("n_weights"),
        n_numbers=fields.whole("n_numbers"),
        divergence=fields.number("divergence"),
        stop_reason=stop_reason(fields),
    )
    fields.done()
    return candidate


def check_settings(model: BaseSDGM) -> None:
    """Whether the parameters are some that the estimator takes, and prediction can go by them."""
    try:
        model._options()
        components_per_class(model._setting("n_components"), model.classes_)
    except (ValueError, TypeError) as error:
        raise Unsound(f"is not sound: {str(error).rstrip('.'):.200}") from error
    if model.predictive == "averaged" and model.covariance_ is None:
        raise Unsound(
            "has predictive='averaged' and no covariance to average over; use predictive='map'"
        )
