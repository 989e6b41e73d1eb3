"""scikit-learn's validation of tables and labels, with sentences about data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def validated(estimator: Any, X: Any, *y: Any, reset: bool = True) -> Any:
    """`validate_data`, or one sentence that names the column or label that is wrong."""
    # polars and pyarrow would make numbers of dates, in units of their own
    problem = problem_of_columns(X, is_date)
    try:
        if problem is None:
            return validate_data(estimator, X, *y, dtype=np.float64, reset=reset)
    except (TypeError, ValueError) as error:
        problem = problem_of_table(X) or problem_of_columns(X, is_text) or problem_of_labels(*y)
        if problem is None:
            raise
        raise ValueError(problem) from error
    raise ValueError(problem)


def problem_of_table(X: Any) -> str | None:
    """A sentence on what is no table."""
    if hasattr(X, "shape"):  # sparse matrices too, some of which are dictionaries
        return None
    if isinstance(X, dict | Iterator) or hasattr(X, "collect"):
        collect = ", such as the result of collect()" if hasattr(X, "collect") else ""
        return f"X is a {type(X).__name__}; pass an array or a data frame{collect}."
    return None


def problem_of_columns(X: Any, is_wrong: Callable[[Any], bool]) -> str | None:
    """A sentence on the first column of a data frame that is not numeric."""
    if not hasattr(X, "__getitem__") or hasattr(X, "collect"):
        return None
    for name in getattr(X, "column_names", getattr(X, "columns", ())):
        column = X[name]
        if is_wrong(column):
            kind = getattr(column, "dtype", getattr(column, "type", "object"))
            return (
                f"Column {name!r} of X has the type {kind}, not numbers; encode it or leave it "
                "out, or use sdgm.tables.TableModel, which takes text, dates and missing values."
            )
    return None


def is_date(column: Any) -> bool:
    """Whether a column holds dates or spans of time."""
    return np.asarray(column[:1]).dtype.kind in "mM"


def is_text(column: Any) -> bool:
    """Whether a column cannot be made into numbers."""
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False


def problem_of_labels(y: Any = None) -> str | None:
    """A sentence on the first label that is pandas' NA; None if there is none."""
    for row, label in enumerate(np.asarray(y, dtype=object).ravel()):
        if type(label).__name__ == "NAType":
            return f"y has a missing label in row {row}; leave out rows without labels."
    return None
