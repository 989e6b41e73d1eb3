"""Claims about learning from tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.tables import (
    Category,
    Number,
    TableError,
    TableModel,
    evaluate_table,
    evaluation,
    fit_table,
    forms,
    predict_table,
)
from sdgm.tables.forms import Form, better
from sdgm.tables.inputs import feature_names
from sdgm.tables.labels import split_rows
from tests.tables.ugly import CLASSES, HEADER


def two_kinds(n_rows: int = 60, seed: int = 0, **more: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    columns = {"x": rng.normal(size=n_rows) + 2 * y, "z": rng.normal(size=n_rows)}
    return pl.DataFrame(columns | more | {"y": np.where(y, "b", "a")})


def test_a_table_nobody_prepared_becomes_a_model(ugly: Path, ugly_model: TableModel) -> None:
    model = ugly_model
    assert [type(column) for column in model.inputs] == [Number, Category, Number, Number, Number]
    assert [column.name for column in model.inputs] == [HEADER[i] for i in (0, 1, 2, 6, 8)]
    assert sorted(model.classes_) == sorted(CLASSES)
    assert tuple(model.classifier.feature_names_in_) == feature_names(model.inputs)
    kinds = {column["name"]: column["kind"] for column in model.record["source"]["columns"]}
    assert [kinds[name] for name in ("notes", "constant", "when")] == ["left out"] * 2 + ["date"]
    assert "id" not in kinds and "kind" not in kinds
    assert model.record["held_out"]["error"] < 0.25


def test_the_record_is_json_and_has_what_a_report_needs(ugly_model: TableModel) -> None:
    record = json.loads(json.dumps(ugly_model.record, allow_nan=False))
    assert record == ugly_model.record
    source, held_out = record["source"], record["held_out"]
    assert source["name"] == "ugly.csv" and source["rows"] == 120
    assert source["rows_used"] == sum(count for _, count in source["class_counts"]) < 120
    assert source["train_rows"] + held_out["rows"] == source["rows_used"]
    assert sum(map(sum, held_out["confusion"])) == held_out["rows"]
    assert sum(bin["count"] for bin in held_out["reliability"]) == held_out["rows"]
    assert [each["name"] for each in record["baselines"]] == [
        "logistic regression",
        "majority class",
    ]
    assert record["weights"]["final"] == ugly_model.classifier.n_active_weights_
    assert len(record["history"]["iteration"]) == ugly_model.classifier.n_iter_
    assert record["form"] == "primal" and not record["refit"]
    assert set(held_out["uncertain"][0]["values"]) == {HEADER[i] for i in (0, 1, 2, 6, 8)}
    assert all(row["label"] != row["predicted"] for row in held_out["surprising"])


def test_states_are_kept_for_the_story_alone(ugly_model: TableModel) -> None:
    assert ugly_model.story
    assert sum(array.nbytes for array in ugly_model.story.values()) < 1e6
    assert all(record.state is None for record in ugly_model.classifier.history_)
    assert not ugly_model.classifier.record_states
    assert not hasattr(ugly_model.classifier, "_skl_callbacks")


def test_values_of_rows_held_out_do_not_change_the_model() -> None:
    frame = two_kinds()
    model = fit_table(frame, "y", form="primal", components=1)
    _, test = split_rows(frame["y"].to_numpy(), 0.25, 0)
    moved = frame["x"].to_numpy().copy()
    moved[test] += 100.0
    other = fit_table(frame.with_columns(x=moved), "y", form="primal", components=1)
    assert np.array_equal(other.predict_proba(frame), model.predict_proba(frame))
    assert other.record["held_out"]["error"] > model.record["held_out"]["error"]


def test_the_model_is_the_tested_one_unless_it_is_to_learn_again() -> None:
    frame = two_kinds()
    kept = fit_table(frame, "y", form="primal", components=1)
    again = fit_table(frame, "y", form="primal", components=1, refit=True)
    whole = fit_table(frame, "y", form="primal", components=1, test_size=0)
    assert again.record["held_out"] == kept.record["held_out"]
    assert again.record["refit"] and not kept.record["refit"]
    assert np.array_equal(again.predict_proba(frame), whole.predict_proba(frame))
    assert not np.array_equal(again.predict_proba(frame), kept.predict_proba(frame))
    assert "held_out" not in whole.record and "baselines" not in whole.record
    assert any("no test scores" in sentence for sentence in whole.record["warnings"])


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_forms_and_components_can_be_given(form: str) -> None:
    model = fit_table(two_kinds(), "y", form=form, components=2)
    assert isinstance(
        model.classifier, SDGMClassifier if form == "primal" else KernelSDGMClassifier
    )
    assert model.record["form"] == form
    assert model.record["components"]["initial"] == [2, 2]


def test_the_dual_form_is_taken_where_the_primal_one_is_too_far_from_the_dense_model() -> None:
    def tried(*pairs: tuple[float, int]) -> list[dict[str, Any]]:
        return [{"divergence": divergence, "numbers": numbers} for divergence, numbers in pairs]

    assert better(tried((0.030, 10), (0.001, 50))) == 1
    assert better(tried((0.018, 10), (0.012, 50))) == 0
    assert better(tried((0.018, 60), (0.012, 50))) == 1
    from_labels = [{"divergence": None, "log_evidence": e} for e in (-5.0, -4.0)]
    assert better(from_labels) == 1
    with pytest.raises(TableError, match="form must be one of auto, primal, dual"):
        Form("quadratic")


def test_progress_tells_the_form_and_its_iterations() -> None:
    told: list[tuple[str, int]] = []
    fit_table(two_kinds(), "y", progress=lambda form, n: told.append((form, n)))
    assert told[0] == ("primal", 0)
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    assert told[-1][1] > 1


def test_labels_keep_their_type(tmp_path: Path) -> None:
    frame = two_kinds().with_columns(y=(pl.col("y") == "b"))
    model = fit_table(frame, "y", form="primal", components=1, test_size=0)
    assert model.classes_.dtype == bool
    frame.with_columns(pl.col("y").cast(pl.Int64) * 7).write_csv(tmp_path / "t.csv")
    model = fit_table(tmp_path / "t.csv", "y", form="primal", components=1)
    assert model.classes_.tolist() == [0, 7] and model.classes_.dtype == np.int64
    assert model.record["source"]["class_counts"] == [[0, 30], [7, 30]]


def test_a_class_of_one_row_is_learned_from_with_a_warning() -> None:
    frame = two_kinds(40)
    frame = pl.concat([frame, pl.DataFrame({"x": [9.0], "z": [0.0], "y": ["rare"]})])
    model = fit_table(frame, "y", form="primal", components=1)
    assert model.classes_.tolist() == ["a", "b", "rare"]
    assert "Class 'rare' has only 1 training row." in model.record["warnings"]
    assert any("Only 10 rows held out" in each for each in model.record["warnings"])


def test_rows_without_a_label_are_left_out_and_counted() -> None:
    frame = two_kinds(40)
    labels = [None, "", *frame["y"][2:]]
    model = fit_table(frame.with_columns(y=pl.Series(labels)), "y", form="primal", components=1)
    assert model.record["source"]["rows"] == 40 and model.record["source"]["rows_used"] == 38
    assert "2 rows without a label left out." in model.record["warnings"]


def test_values_missing_from_rows_without_a_label_are_allowed_for(tmp_path: Path) -> None:
    frame = two_kinds(40)
    values = [None, *frame["x"][1:]]
    frame = frame.with_columns(x=pl.Series(values), y=pl.Series([None, *frame["y"][1:]]))
    model = fit_table(frame, "y", form="primal", components=1)
    assert predict_table(model, frame, tmp_path / "out.csv").rows == 40


def test_a_bad_value_is_named_by_its_row_in_the_file() -> None:
    frame = two_kinds(40).with_columns(pl.Series("x", [1.0] * 30 + [float("inf")] + [2.0] * 9))
    labels = [None, "", *frame["y"][2:]]
    with pytest.raises(TableError, match="Column 'x' has an infinite value in row 31;"):
        fit_table(frame.with_columns(y=pl.Series(labels)), "y")


def test_rows_that_end_early_are_counted(tmp_path: Path) -> None:
    rows = two_kinds(40).select("y", "x", "z").write_csv()
    (tmp_path / "t.csv").write_text(rows + "a,1.5\nb\n")
    model = fit_table(tmp_path / "t.csv", "y", form="primal", components=1)
    said = "2 rows end before the last column; the other fields are missing."
    assert said in model.record["warnings"]
    assert model.inputs[1].features == ("z", "z missing")
    assert evaluate_table(model, tmp_path / "t.csv").short_rows == 2
    done = predict_table(model, tmp_path / "t.csv", tmp_path / "out.csv")
    assert done.rows == 42 and done.short_rows == 2


def test_a_form_without_any_divergence_is_good_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    made = forms.summary
    monkeypatch.setattr(forms, "summary", lambda *given: {**made(*given), "divergence": 0.0})
    model = fit_table(two_kinds(), "y", test_size=0)
    assert [each["form"] for each in model.record["forms"]] == ["primal"]


def test_leads_over_simple_models_have_the_standard_error_of_pairs() -> None:
    model = fit_table(two_kinds(), "y", form="primal", components=1)
    for baseline in model.record["baselines"]:
        lead = baseline["log_loss"] - model.record["held_out"]["log_loss"]
        assert baseline["lead"] == pytest.approx(lead)
        assert baseline["lead_error"] > 0.0
    found = evaluation.lead(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.5, 3.5]))
    assert found == {"lead": 0.5, "lead_error": 0.0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "Y "}, r"no column 'Y ' for the target: did you mean 'y'\?"),
        ({"target": 2}, "target must be the name of a column or one label per row, got 2"),
        ({"target": None}, "target must be the name of a column .* got None"),
        ({"target": "label"}, "no column 'label' for the target: there are 'x', 'z' and 'y'"),
        ({"id_column": "name"}, "no column 'name' for the id"),
        ({"id_column": "y"}, "both target and id"),
        ({"components": "many"}, "components must be auto or a positive integer, got 'many'"),
        (
            {"components": 31},
            "components must be at most 22, the number of training rows .* got 31",
        ),
        ({"test_size": 0.999}, "Too little training data: 2 rows"),
        ({"components": 0}, "components must be"),
        ({"missing": "ignore"}, "missing must be"),
        ({"form": "linear"}, "form must be one of"),
        ({"test_size": 2.0}, "test_size must be"),
    ],
)
def test_wrong_arguments_give_one_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TableError, match=said):
        fit_table(two_kinds(), **({"target": "y"} | options))


def test_a_table_without_rows_gives_one_sentence() -> None:
    with pytest.raises(TableError, match="a header but no rows"):
        fit_table(two_kinds().clear(), "y")


@pytest.mark.parametrize("refit", [False, True])
def test_relevance_vectors_have_the_rows_of_the_file(refit: bool) -> None:
    frame = two_kinds(80)
    unlabelled = [0, 1, 2, 30, 31]
    labels = [None if i in unlabelled else label for i, label in enumerate(frame["y"])]
    frame = frame.with_columns(pl.Series("y", labels))
    model = fit_table(frame, "y", form="dual", components=1, refit=refit)
    rows = model.record["relevance_rows"]
    assert rows and not {row - 1 for row in rows} & set(unlabelled)
    vectors = frame.select("x", "z").to_numpy()[np.array(rows) - 1]
    np.testing.assert_array_equal(vectors, model.classifier.relevance_vectors_)
    assert "relevance_rows" not in fit_table(frame, "y", form="primal", components=1).record


def test_names_of_any_kind_are_only_names(tmp_path: Path) -> None:
    names = ["^x.*$", "*", "a" * 10_000, "</script>", "[bold]", "^*/ ??/\n$", "^.*$"]
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    columns: dict[str, Any] = {name: rng.normal(size=60) + y for name in names[:-2]}
    columns[names[-2]] = rng.choice(["^.*$", "*", "$1", "[/bold]"], size=60)
    columns[names[-1]] = np.where(y, "*", "[red]")
    frame = pl.DataFrame(columns)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([frame.columns, *frame.rows()])
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        model = fit_table(source, names[-1], form="primal", components=1)
        assert [column.name.strip() for column in model.inputs] == [n.strip() for n in names[:-1]]
        done = predict_table(model, source, tmp_path / "out.csv", id_column="*", proba=True)
        assert done.rows == 60 and done.ignored == ()
        assert evaluate_table(model, source).rows == 60
