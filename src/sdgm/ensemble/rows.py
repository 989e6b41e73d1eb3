"""The distinct rows of a table with class frequencies, and the cases that are left out of them.

A sample weight is a number of copies of a row, and to leave a row out means to remove one copy.
Equal rows are merged into one row with a weight and class frequencies. Every class of such a row is
a case that is predicted from the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import distinct_rows


@dataclass(frozen=True, eq=False)
class Cases:
    """The cases that are left out one at a time: a row as a member of one of its classes.

    Attributes
    ----------
    row, label : (U,) integer arrays
        Which row of the table, which class.
    weight : (U,) array
        How much the case counts: the weight of the row times the frequency of the class.
    mass : (U,) array
        Weight that is removed to leave it out: that of one copy, or all if the case has less.
    """

    row: IntArray
    label: IntArray
    weight: FloatArray
    mass: FloatArray

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Distinct rows with frequencies of the classes.

    Attributes
    ----------
    X : (N, D) array
        Distinct, sorted.
    Y : (N, C) array
        Frequencies of the classes in each row, summing to one.
    s : (N,) array
        Weights, positive.
    cases : Cases
    """

    X: FloatArray
    Y: FloatArray
    s: FloatArray
    cases: Cases


def labelled_rows(
    X: FloatArray, weight: FloatArray, factors: FloatArray | float = 1.0
) -> tuple[LabelledRows, IntArray]:
    """Equal rows merged, and where each row went.

    Parameters
    ----------
    X : (n, D) array
    weight : (n, C) array
        Number of copies of each row with each class; positive for at least one class.
    factors : (C,) array or float
        Weight of one copy of each class, from ``class_weight``.
    """
    rows, _, inverse = distinct_rows(X, np.ones(len(X)))
    total = np.zeros((len(rows), weight.shape[1]))
    np.add.at(total, inverse, weight)
    total *= factors
    s = total.sum(axis=1)
    row, label = np.nonzero(total)
    of_case = total[row, label]
    copy = np.broadcast_to(factors, total.shape[1:])[label]
    cases = Cases(row, label, of_case, np.minimum(copy, of_case))
    return LabelledRows(rows, total / s[:, None], s, cases), inverse


def rows_at(rows: LabelledRows, index: IntArray) -> LabelledRows:
    """Some of the rows, with their cases."""
    position = np.full(len(rows.s), -1)
    position[index] = np.arange(len(index))
    cases = rows.cases
    kept = position[cases.row] >= 0
    some = Cases(position[cases.row[kept]], cases.label[kept], cases.weight[kept], cases.mass[kept])
    return LabelledRows(rows.X[index], rows.Y[index], rows.s[index], some)
