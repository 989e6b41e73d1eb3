"""Which columns of a table become inputs, of which type, and why others are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sdgm._typing import IntArray
from sdgm.tables.errors import TableError, listed, quoted
from sdgm.tables.inputs import Category, Input, Number, feature_names
from sdgm.tables.matching import check_finite, check_no_zone
from sdgm.tables.values import (
    DATE,
    OTHER_DATE,
    are_booleans,
    as_days,
    as_numbers,
    as_texts,
    is_categorical,
    kind_of,
    number_format,
)
from sdgm.text import counted

# levels of a category that get a feature; rarer ones have none
MAX_LEVELS = 20
# a larger share of distinct texts is a row ID, not a category
DISTINCT_SHARE = 0.5
# share of the values that decides the type of a column of texts
MOST = 0.9
# names of columns that name rows; those without a name are R's and pandas' names of rows
ID_NAME = re.compile(
    r"(?i:(.*[ _.-])?(id|uuid|guid)|id[ _.-].*)|.*[a-z]I[dD]|(column|Unnamed:) \d+"
)


@dataclass(frozen=True)
class ColumnNote:
    """What became of a column."""

    name: str
    kind: str  # "number", "date", "category" or "left out"
    reason: str = ""  # why it was left out, or what else there is to say
    missing: int = 0  # rows without a value
    levels: int | None = None  # distinct values of a category


def chosen_columns(
    frame: Any,
    train: IntArray,
    others: Sequence[str | None],
    *,
    allow_missing: bool = True,
) -> tuple[tuple[Input, ...], list[ColumnNote]]:
    """The inputs of a table, and what became of each of its columns but target and id.

    Types, and whether values are missing, are decided from all rows of a polars frame; medians and
    levels come from the training rows.
    """
    inputs: list[Input] = []
    notes: list[ColumnNote] = []
    for name in frame.columns:
        if name not in others:
            column, note = as_input(frame.get_column(name), train)
            notes.append(note)
            if column is not None:
                inputs.append(column)
    if not inputs:
        reasons = ", ".join(f"{quoted(note.name)} ({note.reason})" for note in notes[:3])
        raise TableError(
            "The table has no usable column"
            + (f": {reasons}; add numbers or categories." if notes else " besides the target.")
        )
    gaps = [note for note in notes if note.missing and note.kind != "left out"]
    if gaps and not allow_missing:
        raise TableError(
            f"Values are missing in {listed(note.name for note in gaps)} "
            f"({counted(gaps[0].missing, 'row')} in the first); fill them in, leave these columns "
            "out, or have them imputed."
        )
    check_features(inputs)
    return tuple(inputs), notes


def as_input(series: Any, train: IntArray) -> tuple[Input | None, ColumnNote]:
    """A column as an input, if it can be one."""
    kind = kind_of(series)
    if kind == "numbers":
        return as_number(series, train)
    if kind == "dates":
        return as_date(series, train)
    if kind != "texts":
        return left_out(series, f"holds {kind}; convert them to numbers first")
    numbers, odd = as_numbers(series)
    if not is_categorical(series) and not odd.any() and numbers.null_count() < len(numbers):
        return as_number(series, train)
    present = as_texts(series).drop_nulls()
    if len(present) and present.str.contains(DATE).all():
        return as_date(series, train)
    check_no_zone(series)
    return as_category(series, train, n_odd=int(odd.sum()))


def left_out(series: Any, reason: str, missing: int = 0) -> tuple[None, ColumnNote]:
    """A column that is not an input, with the reason."""
    return None, ColumnNote(series.name, "left out", reason, missing)


def as_number(series: Any, train: IntArray) -> tuple[Input | None, ColumnNote]:
    """A numeric column, unless it is constant, empty or counts the rows."""
    values, _ = as_numbers(series)
    check_finite(series.name, values)
    missing = values.null_count()
    if missing == len(values):
        return left_out(series, "has no values", missing)
    if values.n_unique() == 1:
        return left_out(series, f"is always {values[0]:g}", missing)
    if not missing and len(values) > 2 and (values.diff().drop_nulls() == 1.0).all():
        return left_out(series, "row numbers")
    n_distinct = values.drop_nulls().n_unique()
    if ID_NAME.fullmatch(series.name) and n_distinct > DISTINCT_SHARE * len(values):
        many = f"{n_distinct:,} distinct values in {counted(len(values), 'row')}"
        reason = f"a row ID by its name, {many}"
        return left_out(series, reason, missing)
    is_boolean = kind_of(series) == "texts" and are_booleans(as_texts(series).drop_nulls())
    return number(series.name, values, train, "1 for true, 0 for false" if is_boolean else "")


def number(name: str, values: Any, train: IntArray, remark: str) -> tuple[Number, ColumnNote]:
    """A column of numbers, null where missing, that is an input."""
    missing, fill = values.null_count(), None
    if missing:
        median = values[train].median()
        fill = float(values.median() if median is None else median)
        remark = "; ".join(filter(None, [remark, f"{fill:.4g} where missing; indicator"]))
    note = ColumnNote(name, "number", remark, missing)
    return Number(name, fill, indicator=bool(missing)), note


def as_date(series: Any, train: IntArray) -> tuple[Input | None, ColumnNote]:
    """A column of dates as days, unless it is constant or empty."""
    check_no_zone(series)
    days, odd = as_days(series)
    if odd.any():
        example = quoted(series.filter(odd)[0])
        reason = (
            f"dates except for {counted(int(odd.sum()), 'value')} such as {example}; correct these"
        )
        return left_out(series, reason)
    if days.null_count() == len(days):
        return left_out(series, "has no values", len(days))
    if days.n_unique() == 1:
        return left_out(series, f"is always {quoted(series[0])}")
    column, note = number(series.name, days, train, "dates, as days since 1970-01-01")
    column = Number(column.name, column.fill, column.indicator, is_date=True)
    return column, replace(note, kind="date")


def as_category(series: Any, train: IntArray, n_odd: int) -> tuple[Input | None, ColumnNote]:
    """A column of texts, unless it is constant, empty, dates, numbers or a row ID."""
    texts = as_texts(series)
    present = texts.drop_nulls()
    missing, n_distinct = texts.null_count(), present.n_unique()
    if not len(present):
        return left_out(series, "has no values", missing)
    if n_distinct == 1 and not missing:
        return left_out(series, f"is always {quoted(present[0])}")
    if present.str.contains(OTHER_DATE).mean() > MOST:
        reason = f"dates with ambiguous day and month, such as {quoted(present[0])}"
        return left_out(series, f"{reason}; write them as 2007-11-30", missing)
    if present.str.contains(DATE).mean() > MOST:
        example = quoted(present.filter(~present.str.contains(DATE))[0])
        return left_out(
            series, f"dates except for values such as {example}; correct these", missing
        )
    if not is_categorical(series) and n_distinct > max(2, DISTINCT_SHARE * len(present)):
        if n_odd < (1.0 - MOST) * len(present):
            _, odd = as_numbers(series)
            example = quoted(series.filter(odd)[0])
            reason = (
                f"numbers except for {counted(n_odd, 'value')} such as {example}; correct these"
            )
            return left_out(series, reason, missing)
        if what := number_format(present, MOST):
            reason = f"looks like numbers with {what}, such as {quoted(present[0])}"
            return left_out(series, f"{reason}; write them as 1234.5", missing)
        reason = f"{n_distinct:,} distinct values in {counted(len(present), 'row')}"
        return left_out(series, reason, missing)
    levels = frequent_levels(texts[train])
    reason = ""
    if n_distinct > len(levels):
        rare = counted(n_distinct - len(levels), "rarer level")
        reason = f"{rare} without a feature"
    note = ColumnNote(series.name, "category", reason, missing, n_distinct)
    return Category(series.name, levels, missing=bool(missing)), note


def frequent_levels(texts: Any) -> tuple[str, ...]:
    """The most frequent values, ties in alphabetical order."""
    counts = texts.drop_nulls().alias("level").value_counts(name="n")
    ordered = counts.sort(["n", "level"], descending=[True, False])
    return tuple(ordered["level"].head(MAX_LEVELS).to_list())


def check_features(inputs: Sequence[Input]) -> None:
    """Refuse features of the same name, such as of a column 'a=x' beside a level x of a."""
    names = feature_names(inputs)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableError(
            f"Two features would be called {listed(repeated)}; rename one of the columns."
        )
