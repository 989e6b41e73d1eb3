"""The columns of a table that a model reads: found by name, checked by type, encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.tables.errors import TableError, did_you_mean, listed, polars, quoted
from sdgm.tables.inputs import Category, Input, Number, feature_names
from sdgm.tables.values import as_days, as_numbers, as_texts, kind_of, nameless, time_zone
from sdgm.text import counted

KINDS = ("numbers", "texts")  # of which numbers and names can be made


def check_columns(inputs: Sequence[Input], columns: Sequence[str]) -> None:
    """Refuse a table that lacks a column."""
    missing = [column.name for column in inputs if column.name not in columns]
    if not missing:
        return
    if len(missing) == 1:
        others = [name for name in columns if name not in {each.name for each in inputs}]
        hint = f": {did_you_mean(missing[0], others)}" if others else ", which the model needs."
        raise TableError(f"The table has no column {quoted(missing[0])}{hint}")
    raise TableError(
        f"The table lacks {counted(len(missing), 'column')} of the model: {listed(missing)}"
        f"; it has {listed(columns)}."
    )


def typed(inputs: Sequence[Input], frame: Any, first_row: int = 0) -> Any:
    """The columns of the inputs as numbers and names: a polars frame in their order.

    ``first_row`` is the number of rows before these, for error messages.
    """
    check_columns(inputs, frame.columns)
    columns = []
    for column in inputs:
        series = frame.get_column(column.name)
        if isinstance(column, Number):
            read = numbers(column, series, first_row)
        else:
            read = names(column, series)
        columns.append(read.alias(column.name))
    return polars().DataFrame(columns)


def numbers(column: Number, series: Any, first_row: int) -> Any:
    """Values of a numeric column, null where missing."""
    was, kinds = ("dates", ("dates", "texts")) if column.is_date else ("numbers", KINDS)
    if kind_of(series) not in kinds:
        raise TableError(
            f"Column {quoted(column.name)} holds {kind_of(series)}, but had {was} in training."
        )
    if column.is_date:
        check_no_zone(series)
    values, odd = as_days(series) if column.is_date else as_numbers(series)
    if odd.any():
        row = int(odd.arg_true()[0])
        raise TableError(
            f"Column {quoted(column.name)} has the text {quoted(series[row])} in row "
            f"{first_row + row + 1:,}, but had {was} in training; write "
            f"{'a date such as 2007-11-30' if column.is_date else 'a number'}, or nothing where it "
            "is missing."
        )
    check_finite(column.name, values, first_row)
    if column.fill is None and values.null_count():
        row = int(values.is_null().arg_true()[0])
        raise TableError(
            f"Column {quoted(column.name)} has no value in row {first_row + row + 1:,}, but had "
            "none missing in training; fill it in, or leave the row out."
        )
    return values


def names(column: Category, series: Any) -> Any:
    """Values of a column of names, null where missing."""
    is_fraction = series.dtype.is_float() or series.dtype.is_decimal()
    kind = "fractions" if is_fraction else kind_of(series)
    if kind not in KINDS:
        raise TableError(
            f"Column {quoted(column.name)} holds {kind}, but had text in training, such as "
            f"{listed(column.levels[:3])}."
        )
    return as_texts(series)


def check_no_zone(series: Any) -> None:
    """Refuse times of a time zone: what a day is would depend on it."""
    zone = time_zone(series)
    if zone is not None:
        raise TableError(
            f"Column {quoted(series.name)} has times with a time zone, {quoted(zone)}; convert "
            "them to times without one, or exclude the column."
        )


def check_finite(name: str, values: Any, first_row: int = 0) -> None:
    """Refuse infinite values."""
    infinite = values.is_infinite()
    if infinite.any():
        row = int(infinite.arg_true()[0])
        raise TableError(
            f"Column {quoted(name)} has an infinite value in row {first_row + row + 1:,}; write a "
            "number, or nothing where it is missing."
        )


def encoded(inputs: Sequence[Input], frame: Any) -> FloatArray:
    """Features of the rows of a typed frame: (N, D)."""
    X = np.zeros((len(frame), len(feature_names(inputs))), order="F")
    first = 0
    for column in inputs:
        series, last = frame.get_column(column.name), first + len(column.features)
        if isinstance(column, Number):
            X[:, first:last] = column.encoded(series.to_numpy())
        else:
            X[:, first:last] = one_hot(column, series)
        first = last
    return X


def one_hot(column: Category, series: Any) -> FloatArray:
    """`Category.encoded` for a polars column: (N, n_features)."""
    series = nameless(series)
    features = [series == level for level in column.levels]
    if column.missing:
        features.append(series.is_null())
    if not features:
        return np.zeros((len(series), 0))
    return np.stack([each.fill_null(False).to_numpy() for each in features], axis=1)
