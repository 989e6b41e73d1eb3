"""Claims about records in model files: what is read can be reported, and the rest is refused."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("msgspec")
pytest.importorskip("safetensors")

import polars as pl

from sdgm.description import describe
from sdgm.export import to_json
from sdgm.persistence import save
from sdgm.persistence.codec import to_bytes
from sdgm.persistence.container import packed
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.provenance import check_record
from sdgm.report import report_html
from sdgm.tables import fit_table, predict_table
from sdgm.tables.model import TableModel
from tests.persistence.mutations import VALUES, places, taken_apart
from tests.tables.other_parts import with_parts

Change = Callable[[dict[str, Any]], None]


@cache
def learned(form: str) -> TableModel:
    """A model of a table with all that a record has."""
    rng = np.random.default_rng(0)
    n = 160
    y = np.arange(n) % 2
    kind = np.array(["red", "blue", None], dtype=object)[rng.integers(3, size=n)]
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=n) + y,
            "z": rng.normal(size=n),
            "same": ["one"] * n,
            "kind": kind.tolist(),
            "y": np.where(y, "b", "a"),
        }
    )
    model = fit_table(frame, "y", form=form, components=2)
    assert model.record["held_out"]["surprising"] and model.record["held_out"]["reliability"]
    return model


def told(model: TableModel, folder: Path) -> None:
    """All that is made of a record."""
    pytest.importorskip("jinja2")
    report_html(model)
    describe(model).text()
    json.loads(to_json(model))
    model._repr_html_()
    rows = pl.DataFrame({"x": [0.5], "z": [0.0], "kind": ["red"], "other": [1]})
    predict_table(model, rows, folder / "out.csv")


def changed(form: str, change: Change) -> TableModel:
    record = copy.deepcopy(learned(form).record)
    change(record)
    return with_parts(learned(form), record=record)


def problem_with(model: TableModel) -> str:
    with pytest.raises(InvalidModelFile) as raised:
        check_record(model)
    return str(raised.value)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_records_of_fitted_models_are_valid(form: str, tmp_path: Path) -> None:
    check_record(learned(form))
    told(learned(form), tmp_path)


def test_an_empty_record_and_unknown_entries_are_valid(tmp_path: Path) -> None:
    for record in ({}, {"mine": [{"any": None}]}, {"source": {"mine": 1}, "held_out": {}}):
        model = with_parts(learned("dual"), record=record)
        check_record(model)
        told(model, tmp_path)


def test_null_is_what_is_not_known(tmp_path: Path) -> None:
    model = with_parts(learned("dual"), record=dict.fromkeys(learned("dual").record))
    model.record["form"] = "dual"
    check_record(model)
    told(model, tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("held_out/confusion/0/0", "x", "expected int, got str at record.held_out.confusion[0][0]"),
        ("held_out/confusion", [[1]], "record.held_out.confusion is not a table of 2 classes"),
        ("source/weights", ["n"], "expected str | null, got array at record.source.weights"),
        ("source/columns", 5, "expected array | null, got int at record.source.columns"),
        ("source/columns/0", {}, "missing required field name at record.source.columns[0]"),
        ("form", ["<b>"], "expected str, got array at record.form"),
        ("held_out/reliability/0/count", None, "expected int, got null at record.held_out.reliab"),
        ("held_out/reliability/0/count", 0, "expected int >= 1 at record.held_out.reliability[0]"),
        ("baselines", 7, "expected array | null, got int at record.baselines"),
        ("versions", 3, "expected object | null, got int at record.versions"),
        ("held_out/rows", "many", "expected int, got str at record.held_out.rows"),
        ("held_out/error", None, "expected float, got null at record.held_out.error"),
        ("held_out/surprising/0/values", None, "at record.held_out.surprising[0].values"),
        ("held_out/surprising/0/values/x", [1], "at record.held_out.surprising[0].values[...]"),
        ("chosen", "x", "expected object | null, got str at record.chosen"),
        ("history/n_weights/0", None, "expected int, got null at record.history.n_weights[0]"),
        ("relevance_rows", [1], "record.relevance_rows is not a list of"),
        ("relevance_rows/0", 0, "expected int >= 1 at record.relevance_rows[0]"),
        ("source/class_counts/0", ["a"], "at record.source.class_counts[0]"),
    ],
)
def test_odd_records_are_refused_in_one_sentence(path: str, value: Any, said: str) -> None:
    def change(record: dict[str, Any]) -> None:
        *way, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        node: Any = record
        for step in way:
            node = node[step]
        node[last] = value

    assert said in problem_with(changed("dual", change))


@pytest.mark.parametrize("n_records", [60, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_whatever_a_valid_record_says_can_be_shown(
    form: str, n_records: int, tmp_path: Path
) -> None:
    chance = random.Random(n_records)
    # the classifier knows its history as well; without it, the record's is told
    classifier = copy.copy(learned(form).classifier)
    classifier.training_ = replace(classifier.training_, history=[])
    n_told = 0
    for _ in range(n_records):
        record = copy.deepcopy(learned(form).record)
        node, key = chance.choice(list(places(record)))
        node[key] = copy.deepcopy(chance.choice(VALUES))
        model = with_parts(learned(form), record=record, classifier=classifier)
        problem = ""
        try:
            check_record(model)
        except InvalidModelFile as error:
            problem = str(error)
        assert not problem or (problem.isprintable() and len(problem) < 300)
        if not problem:
            told(model, tmp_path)
            n_told += 1
    assert 0.1 < n_told / n_records < 0.9


def test_a_model_with_an_odd_record_is_not_saved(tmp_path: Path) -> None:
    model = changed("dual", lambda record: record.update(baselines=7))
    with pytest.raises(ValueError, match=r"cannot be saved: its file .* at record.baselines"):
        save(model, tmp_path / "odd.sdgm")


@pytest.mark.parametrize("command", ["report", "inspect", "export", "predict", "evaluate"])
def test_every_command_refuses_a_file_with_an_odd_record(command: str, tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    from sdgm.cli.app import app

    document, arrays = taken_apart(to_bytes(learned("dual")))
    document["record"]["source"]["columns"][0] = {}
    path = tmp_path / "odd.sdgm"
    path.write_bytes(packed(document, arrays))
    (tmp_path / "rows.csv").write_text("x,z,kind,y\n1,0,red,a\n")
    more = {"export": ["--to", "json"], "report": [], "inspect": []}
    rows = [str(tmp_path / "rows.csv")]
    output = {"predict": ["-o", str(tmp_path / "out.csv")], "evaluate": []}.get(command, [])
    done = testing.CliRunner().invoke(app, [command, str(path), *more.get(command, rows), *output])
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert said.endswith(
        "odd.sdgm is invalid: object missing required field name at record.source.columns[0]."
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["odd.sdgm", "rows.csv"]
