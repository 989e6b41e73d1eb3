"""Every kind of model as the bytes of a file, and back."""

from __future__ import annotations

from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sdgm.environment import versions
from sdgm.estimators.base import BaseSDGM
from sdgm.persistence import classifiers, semi_supervised, tables
from sdgm.persistence.arrays import check_arrays
from sdgm.persistence.container import FORMAT, MAX_FILE, MAX_HEADER, PREFIX, packed, unpacked
from sdgm.persistence.documents import Document, checked
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.values import decoded, encoded
from sdgm.semi_supervised.estimator import SemiSupervisedSDGMClassifier
from sdgm.tables.model import TableModel


def to_bytes(model: Any) -> bytes:
    """The file of a model, once it was read back and found to be the same."""
    name = type(model).__name__
    document, record = to_document(model), getattr(model, "record", None)
    arrays: dict[str, Any] = {}
    content = packed({**encoded(document, "", arrays), "record": record}, arrays)
    if int.from_bytes(content[:PREFIX], "little") > MAX_HEADER or len(content) > MAX_FILE:
        raise ValueError(
            f"{name} cannot be saved: it would take {len(content)} bytes, and model files have "
            f"{MAX_FILE} at most, {MAX_HEADER} of them for text; leave out what is large."
        )
    try:
        again = read(BytesIO(content), len(content))
    except InvalidModelFile as error:
        raise ValueError(f"{name} cannot be saved: its file {error}.") from error
    if not np.array_equal(classifier_of(again).model_.weights, classifier_of(model).model_.weights):
        raise ValueError(
            f"{name} cannot be saved: its coef_ is not what a fit leaves behind; fit it again."
        )
    return content


def to_document(model: Any) -> Document:
    """All of a model but the record of a table, which is JSON already."""
    is_table = type(model) is TableModel
    is_semi_supervised = type(model) is SemiSupervisedSDGMClassifier
    if not (is_table or is_semi_supervised or isinstance(model, BaseSDGM)):
        raise TypeError(
            f"{type(model).__name__} is no model that a file holds; save a model of a table, or "
            f"one of {', '.join(classifiers.CLASSIFIERS)} and SemiSupervisedSDGMClassifier."
        )
    check_is_fitted(model.classifier if is_table else model)
    return Document(
        format=FORMAT,
        versions=versions(),
        classifier=classifiers.to_document(classifier_of(model)),
        semi_supervised=semi_supervised.to_document(model) if is_semi_supervised else None,
        table=tables.to_document(model) if is_table else None,
        record=None,
    )


def classifier_of(model: Any) -> BaseSDGM:
    """The classifier inside of a model."""
    if isinstance(model, TableModel):
        return model.classifier
    return model.estimator_ if isinstance(model, SemiSupervisedSDGMClassifier) else model


def read(stream: BinaryIO, size: int) -> Any:
    """The model in a stream of so many bytes."""
    try:
        contents, arrays = unpacked(stream, size)
        record = {"record": contents.pop("record")} if "record" in contents else {}
        document = checked(decoded(contents, arrays) | record, Document, "file")
    except RecursionError:
        raise InvalidModelFile("is invalid: its header is nested too deeply") from None
    for name in arrays:
        raise InvalidModelFile(f"is invalid: it has an array {name!r:.60} that no such model has")
    check_arrays(document, n_classes=len(document.classifier.model.classes.values))
    return from_document(document)


def from_document(document: Document) -> Any:
    """The model of a document."""
    model = classifiers.from_document(document.classifier)
    table, record, partly_labelled = document.table, document.record, document.semi_supervised
    if table is not None and record is not None and partly_labelled is None:
        return tables.from_document(table, record, model)
    if table is not None or record is not None:
        raise InvalidModelFile("is invalid: it is of two kinds, or a table without a record")
    if partly_labelled is None:
        return model
    return semi_supervised.from_document(partly_labelled, model)
