"""A fitted classifier as a record, and back: its parameters, model and training."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec.structs import asdict

from sdgm.core.model.fitted_model import FittedModel, Scaler
from sdgm.core.model.state import Record, State
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.parameters import is_given
from sdgm.estimators.primal import SDGMClassifier
from sdgm.estimators.special_cases import DiscriminativeGMMClassifier, RVMClassifier
from sdgm.estimators.training import Candidate, Training
from sdgm.persistence import bases, documents
from sdgm.persistence.arrays import Array
from sdgm.persistence.documents import Classifier, Kind
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.labels import decoded_labels, encoded_labels, object_array

KINDS = SDGMClassifier, KernelSDGMClassifier, RVMClassifier, DiscriminativeGMMClassifier
CLASSIFIERS: dict[Any, type[BaseSDGM]] = {kind.__name__: kind for kind in KINDS}
FROM_DASK = "A model fitted with Dask cannot be saved directly; save model.to_local()."
# the numbers of a record of learning, which are one array each, and what they are in a file that
# has them not
HISTORY = {
    field.name: ("int64", 0) if field.type == "int" else ("float64", np.nan)
    for field in fields(Record)
    if field.name != "state"
}
# components times columns, in which weights are spread out for prediction, unless that many are
# not zero: 32 MB, so that a small file cannot ask for much memory
MAX_TABLE = 4_000_000


def kind_of(model: Any) -> Kind:
    """Which of the classifiers a model is."""
    kind: Any = type(model).__name__
    if CLASSIFIERS.get(kind) is type(model):
        return kind
    if hasattr(model, "to_local"):
        raise TypeError(FROM_DASK)
    raise TypeError(f"{type(model).__name__} cannot be saved; use one of {', '.join(CLASSIFIERS)}.")


def to_document(classifier: BaseSDGM) -> Classifier:
    """The record of a fitted classifier."""
    model, training = classifier.model_, classifier.training_
    names = getattr(classifier, "feature_names_in_", None)
    history = {
        name: np.array([getattr(record, name) for record in training.history], dtype)
        for name, (dtype, _) in HISTORY.items()
    }
    path = training.weights_path
    return Classifier(
        kind=kind_of(classifier),
        parameters=stored_parameters(classifier),
        feature_names=None if names is None else list(names),
        model=documents.FittedModel(
            classes=encoded_labels(model.classes),
            scaler=documents.Scaler(**vars(model.scaler)),
            basis=bases.to_document(model),
            state=documents.State(**vars(model.state)),
            covariance=model.covariance,
        ),
        training=documents.Training(
            **vars(training)
            | {
                "history": documents.History(**history),
                "candidates": [documents.Candidate(**vars(each)) for each in training.candidates],
                "weights_path": None if path is None else documents.WeightsPath(**path),
            }
        ),
    )


def stored_parameters(classifier: BaseSDGM) -> dict[str, Any]:
    """Parameters as a file has them: a teacher of the user's is not kept, only what it taught."""
    parameters = classifier.get_params(deep=False)
    return parameters | {"teacher": None} if is_given(parameters.get("teacher")) else parameters


def unfitted(kind: type[Any], parameters: dict[str, Any]) -> Any:
    """An estimator with these parameters; those that an older version did not have are as usual."""
    for name in sorted(parameters.keys() - kind().get_params(deep=False).keys()):
        raise InvalidModelFile(f"is invalid: {kind.__name__} has no parameter {name!a:.60}")
    return kind(**parameters)


def from_document(record: Classifier) -> BaseSDGM:
    """The classifier of a record whose arrays agree with their specifications."""
    classifier: BaseSDGM = unfitted(CLASSIFIERS[record.kind], record.parameters)
    model, names = read_model(record.model), record.feature_names
    D = len(model.scaler.center)
    if not D:
        raise InvalidModelFile("is invalid: it has no inputs")
    name_features(classifier, names, D)
    bases.check_form(classifier, model.basis, names)
    try:
        classifier.publish(model, read_training(record.training))
    except (ValueError, TypeError) as error:
        raise InvalidModelFile(f"is invalid: {str(error).rstrip('.'):.200}") from error
    return classifier


def name_features(estimator: Any, names: list[str] | None, D: int) -> None:
    """Give an estimator the names of its D inputs, if there are any."""
    if names is None:
        return
    if len(names) != D:
        raise InvalidModelFile(f"is invalid: it has {len(names)} names of features")
    estimator.feature_names_in_ = object_array(names)


def read_model(record: documents.FittedModel) -> FittedModel:
    """All that prediction needs."""
    scaler, classes = Scaler(**asdict(record.scaler)), classes_of(record.classes)
    basis = bases.from_document(record.basis, scaler)
    state = checked_state(State(**asdict(record.state)), len(basis), len(classes))
    if record.covariance is not None and (np.diagonal(record.covariance) < 0.0).any():
        raise InvalidModelFile("is invalid: a variance in it is negative")
    return FittedModel(classes, scaler, basis, state, record.covariance)


def classes_of(labels: documents.Labels) -> Array:
    """Labels, at least two and in order."""
    classes = decoded_labels(labels, "the classes")
    values = classes.tolist()
    try:
        in_order = all(a < b for a, b in pairwise(values))
    except TypeError:
        in_order = False
    if len(values) < 2 or not in_order:
        raise InvalidModelFile(
            "is invalid: its classes are not two or more different labels in order"
        )
    return classes


def checked_state(state: State, n_columns: int, n_classes: int) -> State:
    """A state whose weights are in order and which uses every column and class."""
    component_class = state.component_class
    used = np.unique(state.column[state.column > 0])
    if not np.array_equal(used, np.arange(1, n_columns + 1)):
        raise InvalidModelFile("is invalid: its weights do not use its columns")
    # by component, then by column, no pair twice
    if (np.diff(state.component * (n_columns + 1) + state.column) <= 0).any():
        raise InvalidModelFile("is invalid: its weights are not in order")
    in_order = (np.diff(component_class) >= 0).all()
    if not in_order or len(np.unique(component_class)) != n_classes:
        raise InvalidModelFile("is invalid: its components are not in the order of its classes")
    spread = state.n_components * (n_columns + 1)
    if spread > max(MAX_TABLE, 8 * state.n_weights):
        raise InvalidModelFile(
            f"has {state.n_weights} weights in a table of {spread}, which is too many"
        )
    return state


def read_training(record: documents.Training) -> Training:
    """How the model was learned."""
    known = {name: array for name, array in asdict(record.history).items() if array is not None}
    n_rows = max(map(len, known.values()), default=0)
    history = [
        known[name].tolist() if name in known else [absent] * n_rows
        for name, (_, absent) in HISTORY.items()
    ]
    path = record.weights_path
    return Training(
        **asdict(record)
        | {
            "history": [
                Record(**dict(zip(HISTORY, row, strict=True))) for row in zip(*history, strict=True)
            ],
            "candidates": [Candidate(**asdict(each)) for each in record.candidates],
            "weights_path": None if path is None else asdict(path),
        }
    )
