"""Claims about measuring a model on a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, log_loss

pytest.importorskip("polars")

import polars as pl

from sdgm.metrics import brier_score, expected_calibration_error
from sdgm.tables import TableError, TableModel, evaluate_classifier, evaluate_table
from sdgm.tables.evaluation import KEPT_ROWS, cell, scores
from tests.tables.ugly import read_table, write_ugly


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ugly(tmp_path_factory.mktemp("evaluation") / "more.csv", 90, seed=5)


def test_measures_are_those_of_scikit_learn(ugly_model: TableModel, labelled: Path) -> None:
    result = evaluate_table(ugly_model, labelled)
    frame = read_table(labelled)[0].drop_nulls("kind")
    y, P = frame["kind"].to_numpy(), ugly_model.predict_proba(frame)
    classes = ugly_model.classes_
    assert result.rows == len(y) and result.unlabelled == 90 - len(y)
    assert result.error == pytest.approx(np.mean(ugly_model.predict(frame) != y))
    assert result.log_loss == pytest.approx(log_loss(y, P, labels=classes))
    assert result.brier == pytest.approx(brier_score(y, P, labels=classes))
    assert result.calibration_error == pytest.approx(
        expected_calibration_error(y, P, labels=classes)
    )
    predicted = ugly_model.predict(frame)
    assert result.confusion == confusion_matrix(y, predicted, labels=classes).tolist()


def test_shown_rows_are_the_least_sure_and_the_most_wrong(
    ugly_model: TableModel, labelled: Path
) -> None:
    result = evaluate_table(ugly_model, labelled)
    sure = [row["probability"] for row in result.uncertain]
    assert len(sure) == KEPT_ROWS and sure == sorted(sure)
    own = [row["own_probability"] for row in result.surprising]
    assert own == sorted(own) and own
    frame, _ = read_table(labelled)
    for row in result.uncertain + result.surprising:
        there = frame.row(row["row"] - 1, named=True)  # counted in the file, from one
        assert row["label"] == there["kind"]
        assert float(row["values"]["темп"]) == float(there["темп"])
    json.dumps(result.as_dict(), allow_nan=False)


def test_one_certain_mistake_is_not_an_infinite_loss() -> None:
    found = scores(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
    assert found["error"] == 0.5 and 10.0 < found["log_loss"] < 40.0


class Certain:
    """A classifier that is certain of class 0, and wrong in the second of three rows."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.tile([1.0, 0.0], (len(X), 1))


def test_arrays_are_measured_like_tables() -> None:
    X, y = np.array([[0.25], [1e-9], [3.0]]), np.array([0, 1, 0])
    result = evaluate_classifier(Certain(), X, y)
    P = Certain().predict_proba(X)
    assert result.log_loss == pytest.approx(log_loss(y, P))
    assert result.log_loss == scores(P, y)["log_loss"]
    assert [row["row"] for row in result.surprising] == [2]  # counted from one
    assert result.surprising[0]["values"] == {"x1": "1e-09"}


def test_values_are_shown_as_one_would_write_them() -> None:
    assert [cell(value) for value in (3.0, 0.1, 1e-9, "text", True)] == [
        "3",
        "0.1",
        "1e-09",
        "text",
        "True",
    ]


def test_labels_the_model_does_not_know_give_one_sentence(
    ugly_model: TableModel, labelled: Path
) -> None:
    frame, _ = read_table(labelled)
    other = frame.with_columns(kind=pl.Series(["ja"] * 3 + ["vielleicht"] + ["ja"] * 86))
    with pytest.raises(
        TableError, match="label 'vielleicht' in row 4, which is none of the classes"
    ):
        evaluate_table(ugly_model, other)
    with pytest.raises(TableError, match="no row with a label"):
        evaluate_table(ugly_model, frame.with_columns(kind=pl.lit(None, dtype=pl.String)))
    with pytest.raises(TableError, match="no column 'kind' for the target"):
        evaluate_table(ugly_model, frame.drop("kind"))
