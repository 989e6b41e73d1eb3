"""Claims about models of tables as estimators of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

import sdgm
from sdgm.tables import TableError, TableModel, evaluate_table, fit_table
from tests.tables.test_frames import FRAME, LIBRARIES, N, frame_of

X = FRAME.drop("kind")
Y = FRAME["kind"].to_numpy()
MODEL = TableModel(form="primal", components=1, random_state=0)


def features(library: str) -> Any:
    frame = frame_of(library)
    if library == "pyarrow":
        return frame.drop_columns(["kind"])
    return frame.drop(columns=["kind"]) if library.startswith("pandas") else frame.drop("kind")


def test_parameters_are_those_of_the_constructor_and_clones_have_them() -> None:
    model = TableModel(form="dual", max_weights=7, exclude=["id"], class_weight={"a": 2.0})
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(components=3).components == 3
    assert is_classifier(model) and "max_weights=7" in repr(model)
    fitted = clone(MODEL).fit(X, Y)
    assert not hasattr(clone(fitted), "classifier")
    with pytest.raises(NotFittedError):
        MODEL.predict(X)
    with pytest.raises(NotFittedError):
        MODEL.classes_  # noqa: B018
    check_is_fitted(fitted)


@pytest.mark.parametrize("library", [each for each in LIBRARIES if "lazy" not in each])
def test_frames_of_any_library_can_be_cross_validated(library: str) -> None:
    frame = features(library)
    try:
        _safe_indexing(frame, np.arange(3))
    except TypeError:  # 1.6 has no rows of pyarrow tables
        pytest.skip(f"scikit-learn {sklearn.__version__} cannot take rows of {library} frames")
    expected = cross_val_predict(MODEL, X, Y, cv=3, method="predict_proba")
    found = cross_val_predict(MODEL, frame, Y, cv=3, method="predict_proba")
    assert np.array_equal(found, expected)
    assert cross_val_score(MODEL, frame, Y, cv=3).mean() > 0.7


def test_arrays_and_dicts_are_tables_too() -> None:
    array = np.column_stack([np.where(np.arange(N) % 9 == 0, np.nan, X["whole"]), Y == "b"])
    model = clone(MODEL).fit(array, Y)
    assert model.feature_names_in_.tolist() == ["x1", "x2"] and model.n_features_in_ == 2
    assert model.score(array, Y) == 1.0
    objects = np.array([["red", 1.0], ["blue", np.nan]] * 30, dtype=object)
    assert clone(MODEL).fit(objects, ["a", "b"] * 30).inputs[0].levels == ("blue", "red")
    columns = {"whole": X["whole"].to_list(), "colour": X["colour"], "x": X["x"].to_numpy()}
    assert clone(MODEL).fit(columns, Y).predict(columns).shape == (N,)
    records = np.array([(1.0, "u"), (2.0, "v")] * 30, dtype=[("size", float), ("name", "U1")])
    assert clone(MODEL).fit(records, ["a", "b"] * 30).feature_names_in_.tolist() == ["size", "name"]


def test_labels_may_be_handed_over_beside_the_table() -> None:
    named = fit_table(FRAME, "kind", form="primal", components=1)
    model = fit_table(X, FRAME["kind"], form="primal", components=1)
    assert model.target == "kind" and model.inputs == named.inputs
    assert model.record["held_out"] == named.record["held_out"]
    array = X.select("x", "whole").to_numpy()
    assert fit_table(array, Y, form="primal", components=1).target == "class"
    with pytest.raises(TableError, match="59 labels for 60 rows"):
        fit_table(X, Y[1:])
    with pytest.raises(TableError, match="has a column 'kind' beside the labels of that name"):
        fit_table(FRAME, FRAME["kind"])
    with pytest.raises(TableError, match="59 labels for 60 rows"):
        clone(MODEL).fit(X, Y[1:])


def test_it_works_within_the_tools_of_scikit_learn() -> None:
    search = GridSearchCV(MODEL, {"components": [1, 2]}, cv=2).fit(X, Y)
    assert search.best_estimator_.classes_.tolist() == ["a", "b"]
    pipeline = make_pipeline(FunctionTransformer(lambda frame: frame.select("x", "name")), MODEL)
    assert pipeline.fit(X, Y).predict(X).shape == (N,)


def test_a_weight_of_two_is_the_row_twice() -> None:
    s = 1 + np.arange(N) % 3
    weighted = clone(MODEL).fit(X.drop("id"), Y, sample_weight=s)
    rows = np.repeat(np.arange(N), s)
    repeated = clone(MODEL).fit(X.drop("id")[rows], Y[rows])
    assert weighted.inputs == repeated.inputs
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    halves = clone(MODEL).fit(X, Y, sample_weight=s / 2)
    assert halves.record["source"]["rows_used"] == N
    without = clone(MODEL).fit(X, Y, sample_weight=s % 2)
    assert without.record["source"]["rows_used"] == (s % 2).sum()


def test_labels_keep_their_type_and_wrong_ones_are_refused() -> None:
    assert clone(MODEL).fit(X, np.where(Y == "a", "1", "2")).classes_.tolist() == ["1", "2"]
    assert clone(MODEL).fit(X, Y == "a").classes_.dtype == bool
    with pytest.raises(ValueError, match="Unknown label type"):
        clone(MODEL).fit(X, np.linspace(0.0, 1.0, N))
    with pytest.raises(TableError, match="Too little training data"):
        clone(MODEL).fit(X, ["a"] * N)
    with pytest.raises(TableError, match="form must be one of"):
        TableModel(form="round").fit(X, Y)
    with pytest.raises(TableError, match="no column 'y' to exclude"):
        TableModel(exclude=["y"]).fit(X, Y)


def test_a_fitted_model_is_saved_with_its_parameters(tmp_path: Path) -> None:
    model = fit_table(FRAME, "kind", form="primal", components=1, exclude=["id"], max_weights=9)
    sdgm.save(model, tmp_path / "m.sdgm")
    again = sdgm.load(tmp_path / "m.sdgm")
    assert again.get_params() == model.get_params()
    assert np.array_equal(clone(again).fit(X, Y).predict(X), clone(model).fit(X, Y).predict(X))
    fitted = clone(MODEL).fit(X, Y)
    sdgm.save(fitted, tmp_path / "n.sdgm")
    assert np.array_equal(sdgm.load(tmp_path / "n.sdgm").predict_proba(X), fitted.predict_proba(X))
    assert evaluate_table(fitted, X.with_columns(pl.Series("class", Y))).rows == N


def test_categories_of_numbers_are_categories() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"code": pd.Categorical([3, 7, 9] * 20), "n": np.arange(N) % 5})
    model = clone(MODEL).fit(frame, ["a", "b", "b"] * 20)
    assert model.inputs[0].features == ("code=3", "code=7", "code=9")
    assert np.array_equal(model.predict(frame), ["a", "b", "b"] * 20)
