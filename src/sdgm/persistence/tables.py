"""A model of a table as a record, and back."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sdgm.estimators.base import BaseSDGM
from sdgm.persistence.bases import MAX_NAMES
from sdgm.persistence.container import canonical
from sdgm.persistence.documents import CategoryColumn, NumberColumn, Table
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.provenance import check_record
from sdgm.persistence.values import is_numeric
from sdgm.tables.inputs import Category, Input, Number, feature_names
from sdgm.tables.model import TableModel

STORY_NAME = re.compile(r"[A-Za-z0-9_./-]{1,100}", re.ASCII)


def to_document(model: TableModel) -> Table:
    """What a model of a table adds to its classifier; its own record is kept as it is."""
    story = {name: np.asarray(array) for name, array in sorted(model.story.items())}
    for name, values in story.items():
        if not STORY_NAME.fullmatch(name) or not is_numeric(values):
            raise ValueError(
                f"story[{name!r:.60}] is of type {values.dtype}; name it with letters and digits, "
                "and let it be an array of numbers."
            )
    try:
        canonical(model.record)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"record holds something that JSON does not ({error}); use text, finite numbers, "
            "lists and dicts, and None for what is missing."
        ) from error
    return Table([*map(column_record, model.inputs)], model.target, model.id_column, story)


def column_record(column: Input) -> NumberColumn | CategoryColumn:
    """A column of the table."""
    if isinstance(column, Number):
        fill = None if column.fill is None else float(column.fill)
        return NumberColumn(column.name, fill, bool(column.indicator), bool(column.is_date))
    return CategoryColumn(column.name, list(column.levels), bool(column.missing))


def from_document(table: Table, record: dict[str, Any], classifier: BaseSDGM) -> TableModel:
    """The model of a table around a classifier."""
    settings = record.get("settings")
    if not isinstance(settings, dict):
        settings = {}
    known = TableModel().get_params()
    model = TableModel.of(
        inputs=tuple(map(column_of, table.inputs)),
        target=table.target,
        classifier=classifier,
        record=record,
        story=table.story,
        id_column=table.id_column,
        **{name: settings[name] for name in known if name in settings},
    )
    check_inputs(model)
    check_record(model)
    return model


def column_of(record: NumberColumn | CategoryColumn) -> Input:
    """A column of the table."""
    if isinstance(record, NumberColumn):
        if record.fill is None and record.indicator:
            raise InvalidModelFile(f"is invalid: column {record.name!r:.60} has nothing to fill in")
        return Number(record.name, record.fill, record.indicator, record.is_date)
    if len(set(record.levels)) < len(record.levels):
        raise InvalidModelFile(f"is invalid: column {record.name!r:.60} has a level twice")
    return Category(record.name, tuple(record.levels), record.missing)


def check_inputs(model: TableModel) -> None:
    """Whether the columns are different ones and become the features of the classifier."""
    inputs, classifier = model.inputs, model.classifier
    if len({column.name for column in inputs}) < len(inputs):
        raise InvalidModelFile("is invalid: two of its columns have the same name")
    # a long name with many levels would fill the memory
    n_characters = sum(
        len(column.name) * len(column.levels) for column in inputs if isinstance(column, Category)
    )
    names = feature_names(inputs) if n_characters <= MAX_NAMES else ()
    own = getattr(classifier, "feature_names_in_", names)
    if len(names) != classifier.n_features_in_ or tuple(own) != names:
        raise InvalidModelFile("is invalid: its columns are not what its classifier takes")
