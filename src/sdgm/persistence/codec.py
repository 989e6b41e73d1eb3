"""Every kind of model as the bytes of a file, and back."""

from __future__ import annotations

from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sdgm.environment import versions
from sdgm.estimators.base import BaseSDGM
from sdgm.novelty.detector import FamiliarityDetector
from sdgm.persistence import classifiers, novelty, tables
from sdgm.persistence.arrays import check_arrays
from sdgm.persistence.container import FORMAT, MAX_FILE, MAX_HEADER, PREFIX, packed, unpacked
from sdgm.persistence.documents import Document, checked
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.values import decoded, encoded
from sdgm.persistence.versions import explained
from sdgm.tables.model import TableModel

# estimators whose modules bring much of scikit-learn along: imported for such models only
SEMI_SUPERVISED = "sdgm.semi_supervised.estimator", "SemiSupervisedSDGMClassifier"
ENSEMBLE = "sdgm.ensemble.estimator", "KernelEnsembleClassifier"


def to_bytes(model: Any) -> bytes:
    """The file of a model, once it was read back and found to be the same."""
    name = type(model).__name__
    document = to_document(model)
    arrays: dict[str, Any] = {}
    contents = encoded(document, "", arrays)
    if isinstance(model, TableModel):
        contents["record"] = model.record  # JSON already
    content = packed(contents, arrays)
    if int.from_bytes(content[:PREFIX], "little") > MAX_HEADER or len(content) > MAX_FILE:
        raise ValueError(
            f"{name} cannot be saved: it needs {len(content)} bytes, but model files have at most "
            f"{MAX_FILE}, of which {MAX_HEADER} for text; use a smaller model."
        )
    try:
        again = read(BytesIO(content), len(content))
    except InvalidModelFile as error:
        raise ValueError(f"{name} cannot be saved: its file {error}.") from error
    if document.classifier is not None and not np.array_equal(
        classifier_of(again).model_.weights, classifier_of(model).model_.weights
    ):
        raise ValueError(
            f"{name} cannot be saved: its coef_ was changed after the fit; fit it again."
        )
    return content


def to_document(model: Any) -> Document:
    """All of a model but the record of a table."""
    kind, home = type(model), home_of(model)
    is_known = kind in (TableModel, FamiliarityDetector) or home in (SEMI_SUPERVISED, ENSEMBLE)
    if not is_known and not isinstance(model, BaseSDGM):
        if hasattr(model, "to_local"):
            raise TypeError(classifiers.FROM_DASK)
        others = SEMI_SUPERVISED[1], FamiliarityDetector.__name__, ENSEMBLE[1]
        names = ", ".join([*classifiers.CLASSIFIERS, *others])
        raise TypeError(f"{kind.__name__} cannot be saved; save a TableModel or one of {names}.")
    check_is_fitted(model.classifier if kind is TableModel else model)
    document = Document(format=FORMAT, versions=dict(sorted(versions().items())))
    if kind is FamiliarityDetector:
        document.novelty = novelty.to_document(model)
        return document
    if home == ENSEMBLE:
        from sdgm.persistence import ensemble

        document.ensemble = ensemble.to_document(model)
        return document
    if kind is TableModel:
        document.table = tables.to_document(model)
    elif home == SEMI_SUPERVISED:
        from sdgm.persistence import semi_supervised

        document.semi_supervised = semi_supervised.to_document(model)
    document.classifier = classifiers.to_document(classifier_of(model))
    return document


def classifier_of(model: Any) -> BaseSDGM:
    """The classifier inside of a model."""
    if isinstance(model, TableModel):
        return model.classifier
    return model.estimator_ if home_of(model) == SEMI_SUPERVISED else model


def home_of(model: Any) -> tuple[str, str]:
    """Module and name of a model's class."""
    return type(model).__module__, type(model).__name__


def read(stream: BinaryIO, size: int) -> Any:
    """The model in a stream of this size in bytes."""
    try:
        contents, arrays = unpacked(stream, size)
    except RecursionError:
        raise InvalidModelFile("is invalid: its header is nested too deeply") from None
    try:
        return from_contents(contents, arrays)
    except InvalidModelFile as problem:
        raise explained(problem, contents) from problem


def from_contents(contents: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """The model of a file's contents; the record of a table is JSON, and stays as it is."""
    record = {"record": contents["record"]} if "record" in contents else {}
    rest = {name: value for name, value in contents.items() if name != "record"}
    try:
        document = checked(decoded(rest, arrays) | record, Document, "file")
    except RecursionError:
        raise InvalidModelFile("is invalid: its header is nested too deeply") from None
    for name in arrays:
        raise InvalidModelFile(f"is invalid: it has an array {name!r:.60} that no such model has")
    check_kind(document)
    check_arrays(document, n_classes(document))
    return from_document(document)


def n_classes(document: Document) -> int:
    """Classes of the model, of which a detector has none."""
    if document.ensemble is not None:
        return len(document.ensemble.classes.values)
    return 0 if document.classifier is None else len(document.classifier.model.classes.values)


def check_kind(document: Document) -> None:
    """Refuse what is neither detector nor ensemble nor classifier with one thing around it."""
    table, alone = document.table, (document.novelty, document.ensemble)
    n_alone = sum(part is not None for part in alone)
    n_around = sum(part is not None for part in (table, document.semi_supervised))
    is_of_one_kind = n_alone + (document.classifier is not None) == 1 and n_alone + n_around < 2
    if not is_of_one_kind or (table is None) != (document.record is None):
        raise InvalidModelFile(
            "is invalid: it has no model, several models, or a table without a record"
        )


def from_document(document: Document) -> Any:
    """The model of a document: a detector, an ensemble, or a classifier and what is around it."""
    table, record, partly_labelled = document.table, document.record, document.semi_supervised
    if document.novelty is not None:
        return novelty.from_document(document.novelty)
    if document.ensemble is not None:
        from sdgm.persistence import ensemble

        return ensemble.from_document(document.ensemble)
    assert document.classifier is not None
    model = classifiers.from_document(document.classifier)
    if table is not None and record is not None:
        return tables.from_document(table, record, model)
    if partly_labelled is not None:
        from sdgm.persistence import semi_supervised

        return semi_supervised.from_document(partly_labelled, model)
    return model
