"""The target column: its classes, the rows without a label, and the split of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgm._typing import IntArray
from sdgm.tables.errors import TableError, did_you_mean, listed, polars, quoted
from sdgm.tables.inputs import UNKNOWN
from sdgm.tables.settings import check_test_size
from sdgm.tables.values import are_booleans, as_numbers, as_texts, kind_of, nameless
from sdgm.text import counted

# more classes than this, with fewer rows each than that, are a quantity or a row ID
MANY_LABELS, ROWS_PER_LABEL = 20, 5
MISSING = -2  # code of a row without a label


def check_named(columns: Sequence[str], name: str, purpose: str) -> None:
    """Refuse a name that no column has, with the most similar one."""
    if name not in columns:
        hint = did_you_mean(name, columns)
        raise TableError(f"There is no column {quoted(name)} {purpose}: {hint}")


def named_column(frame: Any, name: str, what: str) -> Any:
    """A column of a polars frame by name."""
    check_named(frame.columns, name, f"for the {what}")
    return frame.get_column(name)


def labels_and_rows(series: Any) -> tuple[np.ndarray[Any, Any], IntArray]:
    """Labels as integers, booleans or texts, and the rows that have one.

    Texts that are whole numbers become integers.
    """
    pl = polars()
    kind = kind_of(series)
    if kind not in ("numbers", "texts"):
        raise TableError(f"Column {quoted(series.name)} holds {kind}, which are not classes.")
    if series.dtype == pl.Boolean or series.dtype.is_integer():
        values = nameless(series)
    elif kind == "numbers":
        values = as_numbers(series)[0]
        if not values.drop_nulls().is_infinite().any() and (values.drop_nulls() % 1 == 0).all():
            values = values.cast(pl.Int64)
    else:
        values = as_texts(series)
        present = values.drop_nulls()
        if len(present) and present.str.contains(r"^(0|-?[1-9]\d{0,17})$").all():
            values = values.cast(pl.Int64)
        elif are_booleans(present) and present.n_unique() > 2:  # True beside true
            values = values.str.to_lowercase() == "true"
    rows = values.is_not_null().arg_true().to_numpy().astype(np.intp)
    labels = values.drop_nulls().to_numpy()
    if values.dtype == pl.String:
        labels = labels.astype(str)
    check_classes(series.name, labels)
    return labels, rows


def check_classes(name: str, labels: np.ndarray[Any, Any]) -> None:
    """Refuse labels that are not classes."""
    classes = np.unique(labels)
    if not len(classes):
        raise TableError(f"Column {quoted(name)} has no labels; choose another target.")
    if len(classes) == 1:
        raise TableError(
            f"Column {quoted(name)} has only one class, {quoted(classes[0])}; a classifier needs "
            "at least two."
        )
    few = len(labels) < ROWS_PER_LABEL * len(classes)
    if (len(classes) > MANY_LABELS and few) or classes.dtype.kind == "f":
        raise TableError(
            f"Column {quoted(name)} has {counted(len(classes), 'distinct value')} in "
            f"{counted(len(labels), 'row')}, such as {listed(classes[:3])}: a quantity or a name, "
            "not a class; put it into a few ranges, or choose another target."
        )


def check_training(labels: np.ndarray[Any, Any]) -> None:
    """Refuse training rows with fewer than two classes of at least two rows."""
    _, counts = np.unique(labels, return_counts=True)
    if (counts >= 2).sum() < 2:
        raise TableError(
            f"Too little training data: {counted(len(labels), 'row')} apart from held-out ones; "
            "at least two classes need two rows each; add rows, or hold out fewer."
        )


def label_codes(series: Any, classes: np.ndarray[Any, Any]) -> IntArray:
    """Class index of every label, `MISSING` where there is none, `UNKNOWN` for others: (N,)."""
    if classes.dtype.kind in "iuf" and kind_of(series) in ("numbers", "texts"):
        numbers, odd = as_numbers(series)
        values = numbers.to_numpy()
        codes = codes_among(values, classes.astype(np.float64))
        codes[np.isnan(values)] = MISSING
        codes[odd.to_numpy()] = UNKNOWN
        return codes
    texts = as_texts(series)
    index: dict[str | None, int] = {str(label): i for i, label in enumerate(classes)}
    if classes.dtype.kind == "b":
        texts, index = texts.str.to_lowercase(), {"false": 0, "true": 1}
    index[None] = MISSING
    return np.array([index.get(text, UNKNOWN) for text in texts.to_list()], dtype=np.intp)


def codes_among(values: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]) -> IntArray:
    """Position of each value in the sorted classes, or `UNKNOWN`."""
    position = np.minimum(np.searchsorted(classes, values), len(classes) - 1)
    return np.where(classes[position] == values, position, UNKNOWN)


def class_counts(labels: np.ndarray[Any, Any]) -> list[list[Any]]:
    """Number of rows of each class, as JSON values."""
    classes, counts = np.unique(labels, return_counts=True)
    return [list(pair) for pair in zip(classes.tolist(), counts.tolist(), strict=True)]


def split_rows(
    labels: np.ndarray[Any, Any], test_size: float, random_state: int
) -> tuple[IntArray, IntArray]:
    """Training and test rows, in order, stratified by class.

    A class of one row is trained on.
    """
    check_test_size(test_size)
    rng = np.random.default_rng(random_state)
    held_out = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        n_test = min(int(test_size * len(rows) + 0.5), len(rows) - 1)
        held_out[rows[:n_test]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
