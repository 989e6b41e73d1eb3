"""Claims about sentences on tables and labels that no estimator takes."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from sdgm import KernelEnsembleClassifier, KernelSDGMClassifier, SDGMClassifier

DAYS = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i) for i in range(8)]
COLUMNS = {
    "text": list("abcdabcd"),
    "dates": DAYS,
    "spans": [day - DAYS[0] for day in DAYS],
    "missing text": [None, *"abcdabc"],
}
Y = np.array(["no", "yes"] * 4)
ESTIMATORS = [SDGMClassifier(1, teacher=None), KernelSDGMClassifier(1), KernelEnsembleClassifier()]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)


def table(library: str, **columns: Any) -> Any:
    frames = pytest.importorskip(library)
    columns = {"size": np.arange(8.0), **columns}
    return frames.table(columns) if library == "pyarrow" else frames.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_that_is_not_numeric_is_named(library: str, kind: str) -> None:
    X = table(library, **{kind: COLUMNS[kind]})
    with pytest.raises(ValueError, match=f"Column '{kind}' of X has the type .*TableModel"):
        SDGMClassifier(1, teacher=None).fit(X, Y)


@each
def test_a_column_that_is_not_numeric_is_named_in_prediction(estimator: Any) -> None:
    estimator.fit(table("pandas", other=Y == "no"), Y)
    with pytest.raises(ValueError, match="Column 'other' of X has the type"):
        estimator.predict(table("pandas", other=COLUMNS["text"]))


@each
@pytest.mark.parametrize("form", ["dict", "generator"])
def test_what_is_no_table_is_named(estimator: Any, form: str) -> None:
    X = {"size": np.arange(8.0)}
    with pytest.raises(ValueError, match=f"X is a {form}; pass an array or a data frame"):
        estimator.fit(X if form == "dict" else (row for row in np.eye(8)), Y)


@each
def test_a_lazy_frame_is_to_be_collected(estimator: Any) -> None:
    with pytest.raises(ValueError, match=r"X is a LazyFrame; .* the result of collect\(\)"):
        estimator.fit(table("polars").lazy(), Y)


def test_labels_with_pandas_NA_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(Y, dtype="string").mask(np.arange(8) == 3)
    with pytest.raises(ValueError, match="y has a missing label in row 3"):
        SDGMClassifier(1, teacher=None).fit(np.eye(8), y)


def test_errors_of_scikit_learn_stay() -> None:
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SDGMClassifier(1).fit(table("pandas", size=[np.nan] * 8), Y)
    with pytest.raises(ValueError, match="continuous"):
        SDGMClassifier(1).fit(table("pandas"), np.linspace(0.0, 1.0, 8))
