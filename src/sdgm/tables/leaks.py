"""Columns that alone determine the class of every row: perhaps derived from the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lgamma, log
from typing import Any

import numpy as np

from sdgm._typing import IntArray
from sdgm.tables.columns import ColumnNote
from sdgm.tables.values import nameless

TELLS_ALL = "alone determines the class of every row"
# probability that a column of random values does so, up to which it is pointed out
CHANCE = 0.001


def pointed_out(
    notes: Sequence[ColumnNote], frame: Any, labels: np.ndarray[Any, Any]
) -> list[ColumnNote]:
    """Notes with a remark at the columns of a typed frame that give the labels away."""
    codes = np.unique(labels, return_inverse=True)[1]
    found = {name for name in frame.columns if tells_all(frame.get_column(name), codes)}
    return [
        replace(note, reason="; ".join(filter(None, [TELLS_ALL, note.reason])))
        if note.name in found
        else note
        for note in notes
    ]


def leak_remarks(notes: Sequence[ColumnNote]) -> list[str]:
    """One sentence for each column that gives the labels away."""
    return [
        f"Column {note.name!r} {TELLS_ALL}: if it is derived from the label, or known only "
        "afterwards, exclude it."
        for note in notes
        if note.reason.startswith(TELLS_ALL)
    ]


def tells_all(series: Any, codes: IntArray) -> bool:
    """Whether one interval of values, or some names, belong to each class and to no other.

    Where so few rows share a value, or are there at all, that a random column would do as well, it
    tells nothing.

    Examples
    --------
    >>> import polars as pl
    >>> codes = np.repeat([0, 1], 10)
    >>> tells_all(pl.Series(np.arange(20.0)), codes), tells_all(pl.Series([0.0, 1.0] * 10), codes)
    (True, False)
    """
    counts = np.bincount(codes)
    is_number = series.dtype.is_numeric()
    series = nameless(series).fill_null(np.inf if is_number else "")  # missing is a value too
    levels, index = np.unique(series.to_numpy(), return_inverse=True)
    table = np.zeros((len(levels), len(counts)), dtype=np.intp)
    np.add.at(table, (index, codes), 1)
    if ((table > 0).sum(axis=1) > 1).any():
        return False
    chances = [log_chance_of_values(table.sum(axis=1), counts)]
    owner = table.argmax(axis=1)
    if is_number and (np.diff(owner) != 0).sum() < len(counts):
        chances.append(log_chance_of_intervals(counts))
    return min(chances) <= log(CHANCE)


def log_chance_of_values(sizes: IntArray, counts: IntArray) -> float:
    """Log probability that random labels are the same in every group of rows of one value."""
    shares = counts / counts.sum()
    return float(np.log((shares ** sizes[:, None]).sum(axis=1)).sum())


def log_chance_of_intervals(counts: IntArray) -> float:
    """Log probability that a random order has all rows of each class beside each other."""
    several = sum(lgamma(n + 1) for n in counts.tolist()) + lgamma(len(counts) + 1)
    return several - lgamma(int(counts.sum()) + 1)
