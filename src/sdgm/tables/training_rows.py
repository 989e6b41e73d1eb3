"""The rows of a table to learn from: labels, weights, the columns that are not inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.tables.columns import ColumnNote, chosen_columns
from sdgm.tables.errors import SettingError, TableError, quoted
from sdgm.tables.inputs import Input
from sdgm.tables.labels import check_named, labels_and_rows, named_column
from sdgm.tables.leaks import pointed_out
from sdgm.tables.matching import KINDS, encoded, typed
from sdgm.tables.reading import polars_frame, whole_table
from sdgm.tables.values import as_numbers, kind_of
from sdgm.text import counted

TARGET = "class"  # name of labels that have none
TO_EXCLUDE = "to exclude"
# rows that frequencies are repeated to: an index of each is held, and larger ones are weights
MAX_ROWS = 1 << 26


@dataclass(frozen=True)
class TrainingRows:
    """Labelled rows, a row of the table as often as it counts."""

    name: str
    frame: Any  # the table, in polars
    labels: np.ndarray[Any, Any]  # (N,)
    rows: IntArray  # which row of the table each is: (N,)
    target: str
    id_column: str | None = None
    weights_column: str | None = None
    excluded: tuple[str, ...] = ()
    sample_weight: FloatArray | None = None  # (N,), where weights are not frequencies
    remarks: list[str] = field(default_factory=list)  # of the reader

    @property
    def not_inputs(self) -> tuple[str | None, ...]:
        """Columns that nothing is learned from."""
        return self.target, self.id_column, self.weights_column, *self.excluded

    def weight_of(self, rows: IntArray) -> FloatArray | None:
        """Sample weights of some of the rows."""
        return None if self.sample_weight is None else self.sample_weight[rows]


@dataclass(frozen=True)
class Encoded:
    """Training rows as features."""

    inputs: tuple[Input, ...]
    notes: list[ColumnNote]
    X: FloatArray
    labels: np.ndarray[Any, Any]
    sample_weight: FloatArray | None


def encoded_rows(data: TrainingRows, train: IntArray, *, allow_missing: bool) -> Encoded:
    """The features of the training rows, with columns that give the target away marked."""
    rows = data.rows[train]
    inputs, notes = chosen_columns(data.frame, rows, data.not_inputs, allow_missing=allow_missing)
    notes += [
        ColumnNote(name, "left out", "excluded")
        for name in data.frame.columns
        if name in data.excluded
    ]
    frame, labels = typed(inputs, data.frame), data.labels[train]
    notes = pointed_out(notes, frame[rows], labels)
    return Encoded(inputs, notes, encoded(inputs, frame)[rows], labels, data.weight_of(train))


def rows_of_table(
    source: Any,
    target: Any,
    id_column: str | None = None,
    weights: str | None = None,
    exclude: Sequence[str] = (),
) -> TrainingRows:
    """The rows of a table that have a label and a weight."""
    if isinstance(exclude, str):
        raise SettingError(
            "exclude", f"must be a list of names, got {exclude!r}; put it in a list."
        )
    keep = [name for name in (target, id_column) if isinstance(name, str)]
    table = whole_table(source, keep)
    frame = table.frame
    if not isinstance(target, str):
        frame, target = with_labels(frame, target)
    series = named_column(frame, target, "target")
    roles = {"target": target, "id": id_column, "weights": weights}
    used: dict[str, str] = {}
    for role, name in [*roles.items(), *(("excluded", name) for name in exclude)]:
        if name is None:
            continue
        check_named(frame.columns, name, TO_EXCLUDE if role == "excluded" else f"for the {role}")
        if name in used and role != used[name]:
            raise TableError(f"Column {quoted(name)} cannot be both {used[name]} and {role}.")
        used[name] = role
    if not len(frame):
        raise TableError(f"{table.name} has a header but no rows.")
    labels, rows = labels_and_rows(series)
    given = None if weights is None else weights_of(frame, weights, rows)
    taken, sample_weight = taken_rows(given, len(rows))
    return TrainingRows(
        name=table.name,
        frame=frame,
        labels=labels[taken],
        rows=rows[taken],
        target=target,
        id_column=id_column,
        weights_column=weights,
        excluded=tuple(exclude),
        sample_weight=sample_weight,
        remarks=[*table.remarks, *left_out_remarks(len(frame) - len(rows))],
    )


def left_out_remarks(n: int) -> list[str]:
    """The remark about rows without a label."""
    return [f"{counted(n, 'row')} without a label left out."] if n else []


def with_labels(frame: Any, labels: Any) -> tuple[Any, str]:
    """A frame with labels as a further column, and its name."""
    if np.ndim(labels) == 0:
        raise SettingError(
            "target", f"must be the name of a column or one label per row, got {labels!r}."
        )
    name = str(getattr(labels, "name", None) or TARGET)
    if name in frame.columns:
        raise TableError(
            f"The table has a column {quoted(name)} beside the labels of that name; pass the name "
            "as the target, or leave the column out."
        )
    column = polars_frame({name: labels}).get_column(name)
    check_as_many(len(column), len(frame))
    return frame.with_columns(column), name


def check_as_many(n_labels: int, n_rows: int) -> None:
    """Refuse labels that are not those of the rows."""
    if n_labels != n_rows:
        raise TableError(
            f"{counted(n_labels, 'label')} for {counted(n_rows, 'row')}; pass one label per row."
        )


def taken_rows(weights: FloatArray | None, n_rows: int) -> tuple[IntArray, FloatArray | None]:
    """Rows as often as they count, if all weights are whole, or those of weight and the weights."""
    if weights is None:
        return np.arange(n_rows), None
    if (weights % 1.0 == 0.0).all() and weights.sum() <= MAX_ROWS:
        return np.repeat(np.arange(n_rows), weights.astype(np.intp)), None
    taken = np.flatnonzero(weights)
    return taken, weights[taken]


def weights_of(frame: Any, name: str, rows: IntArray) -> FloatArray:
    """The weights of some rows of a table: (n_rows,)."""
    series = frame.get_column(name)
    example = kind_of(series)
    if example in KINDS:
        values, odd = as_numbers(series)
        example = quoted(series.filter(odd)[0]) if odd.any() else ""
    if example:
        raise SettingError(
            "weights", f"must name a column of numbers; {quoted(name)} has {example}."
        )
    weights = values.to_numpy()[rows]
    bad = ~(np.isfinite(weights) & (weights >= 0.0))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        value = "no value" if np.isnan(weights[i]) else f"{weights[i]:g}"
        raise SettingError(
            "weights",
            f"must be numbers that are not negative; column {quoted(name)} has {value} in row "
            f"{rows[i] + 1:,}.",
        )
    if not weights.any():
        raise SettingError("weights", f"must not all be zero, as in column {quoted(name)}.")
    return weights


def rows_of_arrays(
    X: Any,
    y: np.ndarray[Any, Any],
    sample_weight: FloatArray | None,
    target: str,
    excluded: tuple[str, ...],
) -> TrainingRows:
    """Rows of a frame with labels beside it."""
    frame = polars_frame(X)
    check_as_many(len(y), len(frame))
    for name in excluded:
        check_named(frame.columns, name, TO_EXCLUDE)
    taken, sample_weight = taken_rows(sample_weight, len(y))
    return TrainingRows(
        name="the frame",
        frame=frame,
        labels=y[taken],
        rows=taken,
        target=target,
        excluded=excluded,
        sample_weight=sample_weight,
    )
