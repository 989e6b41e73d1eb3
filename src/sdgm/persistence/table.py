"""A model of a table as a document and arrays, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sdgm.persistence.classifiers import put_together, specs_of, take_apart
from sdgm.persistence.errors import Unsound
from sdgm.persistence.record import check_record
from sdgm.persistence.schema import ANY_NUMBER, Spec
from sdgm.persistence.strict_json import canonical
from sdgm.persistence.values import Array, Fields
from sdgm.tables.inputs import Category, Input, Number, feature_names
from sdgm.tables.model import TableModel

STORY = "story/"
STORY_NAME = re.compile(r"[A-Za-z0-9_./-]{1,100}", re.ASCII)


# --- to a document and arrays ---


def table_document(model: TableModel, arrays: dict[str, Array]) -> dict[str, Any]:
    """The document of a model of a table; its arrays are added to ``arrays``."""
    for name, array in model.story.items():
        values = np.asarray(array)
        if not STORY_NAME.fullmatch(name) or values.dtype.name not in ANY_NUMBER:
            raise ValueError(
                f"story[{name!r:.60}] is of type {values.dtype}; name it with letters and digits, "
                "and let it be an array of numbers."
            )
        arrays[STORY + name] = values
    try:
        canonical(model.record)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"record holds something that JSON does not ({error}); use text, finite numbers, "
            "lists and dicts, and None for what is missing."
        ) from error
    return {
        "inputs": [input_document(column) for column in model.inputs],
        "target": model.target,
        "id_column": model.id_column,
        "record": model.record,
        "classifier": take_apart(model.classifier, arrays),
    }


def input_document(column: Input) -> dict[str, Any]:
    """A column of the table, as JSON."""
    if isinstance(column, Number):
        fill = None if column.fill is None else float(column.fill)
        return {"number": column.name, "fill": fill, "indicator": bool(column.indicator)}
    return {
        "category": column.name,
        "levels": list(column.levels),
        "missing": bool(column.missing),
    }


# --- and back ---


def table_specs(
    document: dict[str, Any], names: Iterable[str]
) -> tuple[dict[str, Spec], dict[str, int]]:
    """The arrays that a document asks for, of all names of arrays, and sizes known from it."""
    specs, sizes = specs_of(document.get("classifier"))
    story = {name for name in names if name.startswith(STORY)}
    return specs | dict.fromkeys(story, Spec(None, ANY_NUMBER, finite=False)), sizes


def read_table(fields: Fields, arrays: Mapping[str, Array]) -> TableModel:
    """The model of a document."""
    model = TableModel(
        inputs=tuple(read_input(value) for value in fields.items("inputs")),
        target=fields.text("target"),
        classifier=put_together(fields.object("classifier"), arrays),
        record=fields.object("record"),
        story={
            name.removeprefix(STORY): array
            for name, array in arrays.items()
            if name.startswith(STORY)
        },
        id_column=fields.optional("id_column", fields.text),
    )
    check_inputs(model)
    check_record(model)
    return model


def read_input(value: Any) -> Input:
    """A column of the table."""
    fields = Fields(value, "a column")
    column: Input
    if "number" in fields.left:
        name, fill = fields.text("number"), fields.optional("fill", fields.number)
        column = Number(name, fill, fields.boolean("indicator"))
        if (fill is None and column.indicator) or (fill is not None and not math.isfinite(fill)):
            raise Unsound(f"is not sound: column {name!r:.60} has nothing to fill in")
    else:
        column = Category(
            fields.text("category"), tuple(fields.texts("levels")), fields.boolean("missing")
        )
        if len(set(column.levels)) < len(column.levels):
            raise Unsound(f"is not sound: column {column.name!r:.60} has a level twice")
    fields.done()
    return column


def check_inputs(model: TableModel) -> None:
    """Whether the columns are different ones and become the features of the classifier."""
    inputs, classifier = model.inputs, model.classifier
    if len({column.name for column in inputs}) < len(inputs):
        raise Unsound("is not sound: it has two columns of one name")
    n_features = sum(map(n_features_of, inputs))
    names = getattr(classifier, "feature_names_in_", None)
    agree = n_features == classifier.n_features_in_
    if agree and names is not None:
        # a long name with many levels would fill the memory, were it not in the other names too
        agree = sum(map(least_characters, inputs)) <= sum(map(len, names))
        agree = agree and feature_names(inputs) == tuple(names)
    if not agree:
        raise Unsound("is not sound: its columns are not what its classifier takes")


def n_features_of(column: Input) -> int:
    """How many features a column becomes."""
    if isinstance(column, Number):
        return 1 + column.indicator
    return len(column.levels) + column.missing


def least_characters(column: Input) -> int:
    """No more than the names of a column's features have."""
    if isinstance(column, Number):
        return len(column.name)
    return len(column.name) * len(column.levels) + sum(map(len, column.levels))
