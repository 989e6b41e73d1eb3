"""Every kind of model as a document and arrays, and back."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.semi_supervised import SemiSupervisedSDGMClassifier
from sdgm.persistence.classifiers import CLASSIFIERS, put_together, specs_of, take_apart
from sdgm.persistence.container import FORMAT
from sdgm.persistence.errors import Unsound
from sdgm.persistence.partly_labelled import (
    partly_labelled_document,
    partly_labelled_specs,
    read_partly_labelled,
)
from sdgm.persistence.schema import Described, Spec, check_layout, check_values
from sdgm.persistence.table import read_table, table_document, table_specs
from sdgm.persistence.values import Array, Fields
from sdgm.tables.model import TableModel

TABLE = "TableModel"
PARTLY_LABELLED = "SemiSupervisedSDGMClassifier"


def document_of(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """All of a model, as JSON values and arrays."""
    arrays: dict[str, Array] = {}
    if type(model) is TableModel:
        check_is_fitted(model.classifier)
        contents = {"kind": TABLE, **table_document(model, arrays)}
    elif type(model) is SemiSupervisedSDGMClassifier:
        check_is_fitted(model)
        contents = {"kind": PARTLY_LABELLED, **partly_labelled_document(model, arrays)}
    elif isinstance(model, BaseSDGM):
        check_is_fitted(model)
        contents = take_apart(model, arrays)
    else:
        raise TypeError(
            f"{type(model).__name__} is no model that a file holds; save a model of a table, or "
            f"one of {', '.join(CLASSIFIERS)} and {PARTLY_LABELLED}."
        )
    return {"format": FORMAT, "model": contents, "versions": versions()}, arrays


def versions() -> dict[str, str]:
    """The libraries that a file is written with."""
    from sdgm import __version__

    return {
        "sdgm": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


class Blueprint:
    """The arrays that a document asks for, and the model that they make.

    Parameters
    ----------
    document : dict
    layout : mapping from name to anything with dtype and shape
        The arrays that are there, which are checked.
    """

    def __init__(self, document: dict[str, Any], layout: Mapping[str, Described]) -> None:
        contents = document.get("model")
        self.kind = contents.get("kind") if isinstance(contents, dict) else None
        specs: dict[str, Spec]
        if isinstance(contents, dict) and self.kind == TABLE:
            specs, sizes = table_specs(contents, layout)
        elif isinstance(contents, dict) and self.kind == PARTLY_LABELLED:
            specs, sizes = partly_labelled_specs(contents)
        else:
            specs, sizes = specs_of(contents)
        self.document, self.specs = document, specs
        self.sizes = check_layout(specs, layout, sizes)

    def model(self, arrays: Mapping[str, Array]) -> Any:
        """The model of these arrays."""
        check_values(self.specs, arrays, self.sizes)
        file = Fields(self.document, "the file")
        for name, version in file.object("versions").items():
            if not isinstance(version, str):
                raise Unsound(f"is not sound: the version of {name!r:.60} is not text")
        file.whole("format"), file.text("checksum")
        contents = file.object("model")
        file.done()
        if self.kind not in (TABLE, PARTLY_LABELLED):
            return put_together(contents, arrays)
        fields = Fields(contents, "the model")
        fields.text("kind")
        read: Any = read_table if self.kind == TABLE else read_partly_labelled
        model = read(fields, arrays)
        fields.done()
        return model
