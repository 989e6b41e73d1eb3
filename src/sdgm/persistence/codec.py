"""Every kind of model as the bytes of a file, and back."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, TypeGuard

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

if TYPE_CHECKING:
    from sdgm.semi_supervised.estimator import SemiSupervisedSDGMClassifier


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
            f"{name} cannot be saved: it would take {len(content)} bytes, and model files have "
            f"{MAX_FILE} at most, {MAX_HEADER} of them for text; leave out what is large."
        )
    try:
        again = read(BytesIO(content), len(content))
    except InvalidModelFile as error:
        raise ValueError(f"{name} cannot be saved: its file {error}.") from error
    if document.classifier is not None and not np.array_equal(
        classifier_of(again).model_.weights, classifier_of(model).model_.weights
    ):
        raise ValueError(
            f"{name} cannot be saved: its coef_ is not what a fit leaves behind; fit it again."
        )
    return content


def to_document(model: Any) -> Document:
    """All of a model but the record of a table."""
    kind = type(model)
    is_around = kind in (TableModel, FamiliarityDetector) or is_semi_supervised(model)
    if not is_around and not isinstance(model, BaseSDGM):
        names = ", ".join(
            [*classifiers.CLASSIFIERS, "SemiSupervisedSDGMClassifier", "FamiliarityDetector"]
        )
        raise TypeError(
            f"{kind.__name__} is no model that a file holds; save a model of a table, or one of "
            f"{names}."
        )
    check_is_fitted(model.classifier if kind is TableModel else model)
    document = Document(format=FORMAT, versions=dict(sorted(versions().items())))
    if kind is FamiliarityDetector:
        document.novelty = novelty.to_document(model)
        return document
    if kind is TableModel:
        document.table = tables.to_document(model)
    elif is_semi_supervised(model):
        from sdgm.persistence import semi_supervised

        document.semi_supervised = semi_supervised.to_document(model)
    document.classifier = classifiers.to_document(classifier_of(model))
    return document


def classifier_of(model: Any) -> BaseSDGM:
    """The classifier inside of a model."""
    if isinstance(model, TableModel):
        return model.classifier
    return model.estimator_ if is_semi_supervised(model) else model


def is_semi_supervised(model: Any) -> TypeGuard[SemiSupervisedSDGMClassifier]:
    """Whether a model is the one whose module is imported for such models alone.

    It brings much of scikit-learn along, which no other model needs to be read.
    """
    home = sys.modules.get("sdgm.semi_supervised.estimator")
    return home is not None and type(model) is home.SemiSupervisedSDGMClassifier


def read(stream: BinaryIO, size: int) -> Any:
    """The model in a stream of so many bytes."""
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
    classifier = document.classifier
    check_arrays(document, 0 if classifier is None else len(classifier.model.classes.values))
    return from_document(document)


def check_kind(document: Document) -> None:
    """Refuse what is no detector, and no classifier with one thing around it at most."""
    table, classifier, novelty = document.table, document.classifier, document.novelty
    around = [part for part in (table, document.semi_supervised, novelty) if part is not None]
    is_of_one_kind = (classifier is None) == (novelty is not None) and len(around) < 2
    if not is_of_one_kind or (table is None) != (document.record is None):
        raise InvalidModelFile(
            "is invalid: it is of no kind or of two, or of a table without a record"
        )


def from_document(document: Document) -> Any:
    """The model of a document: a detector, or a classifier and what may be around it."""
    table, record, partly_labelled = document.table, document.record, document.semi_supervised
    if document.novelty is not None:
        return novelty.from_document(document.novelty)
    assert document.classifier is not None
    model = classifiers.from_document(document.classifier)
    if table is not None and record is not None:
        return tables.from_document(table, record, model)
    if partly_labelled is not None:
        from sdgm.persistence import semi_supervised

        return semi_supervised.from_document(partly_labelled, model)
    return model
