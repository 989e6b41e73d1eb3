"""Claims about the commands that go from a table to a model and on: fit, predict, evaluate, ..."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("polars")
pytest.importorskip("safetensors")

import polars as pl
from typer.testing import CliRunner

import sdgm
from sdgm.cli.fit import verdict
from tests.cli.commands import done, process, run, sentence, words
from tests.cli.conftest import NEW_ROWS
from tests.tables.ugly import CLASSES, read_table

# --- the way from a file to C ---


def test_from_file_to_model_to_predictions_to_report_to_c_in_five_commands(
    here: Path, tmp_path: Path
) -> None:
    made = tmp_path / "model.sdgm"
    said = done("fit", "ugly.csv", "--target", "kind", "--id", "id", "-o", made)
    text = words(said.stdout)
    assert "120 rows, 9 columns; target kind with 3 classes" in text
    assert "Farbe\\nder Blüte category, 3 levels" in text  # the line break is shown, not made
    assert "<b>x</b>" in text and "held-out" in text and "logistic regression" in text
    assert re.search(r"Weights \d+ (→|->) \d+", text)
    assert "Note: " in said.stderr

    done("predict", made, "new.csv", "-o", tmp_path / "out.csv", "--proba")
    out = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert out.columns == ["id", "predicted_kind", *(f"P({c})" for c in sorted(CLASSES))]
    assert out["id"].to_list() == [f"00{i}" for i in range(NEW_ROWS)]

    done("inspect", made)
    done("report", made, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<b>x</b>" not in page and "&lt;b&gt;x&lt;/b&gt;" in page
    assert "bytes of flash" in done("export", made, "--to", "c", "-o", tmp_path / "m.h").stdout
    assert "sdgm_predict" in (tmp_path / "m.h").read_text()


def test_fit_says_in_json_what_it_says_in_words(here: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.sdgm"
    arguments = ("fit", "ugly.csv", "-t", "kind", "--form", "primal", "--test-size", "0.5")
    result = json.loads(done(*arguments, "-o", path, "--json", "--seed", "2").stdout)
    loaded = sdgm.load(path)
    assert result["bytes"] == path.stat().st_size
    assert result["held_out"] == loaded.record["held_out"]
    assert result["held_out"]["rows"] > 50 and result["form"] == "primal"


def test_options_of_fit_reach_the_model(here: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.sdgm"
    options = ("--form", "primal", "--components", "2", "--test-size", "0", "--refit")
    text = words(done("fit", "ugly.csv", "-t", "kind", *options, "-o", path).stdout)
    assert "fitted to all rows" in text and "held-out" not in text
    assert sdgm.load(path).record["components"]["initial"] == [2, 2, 2]
    refused = run("fit", "ugly.csv", "-t", "kind", "--missing", "error", "-o", path, "--force")
    said = sentence(refused)
    assert "Values are missing in 'Größe (cm)'" in said and "missing=" not in said


def test_evaluate_measures_and_shows_the_worst_rows(here: Path, model: str) -> None:
    text = words(done("evaluate", model, "new.csv").stdout)
    assert "rows of new.csv" in text and "true \\ predicted" in text and "surprising" in text
    result = json.loads(done("evaluate", model, "new.csv", "--json").stdout)
    assert result["classes"] == sorted(CLASSES) and 0.0 <= result["error"] < 0.5


def test_inspect_tells_the_model_in_words_and_in_json(here: Path, model: str) -> None:
    text = done("inspect", model).stdout
    assert "<b>x</b>" in text and "mode 1" in text
    assert isinstance(json.loads(done("inspect", model, "--json").stdout), dict)


def test_reports_can_have_other_rows_and_a_title(here: Path, model: str, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    done("report", model, "--data", "new.csv", "--title", "All <i>mine</i>", "-o", path)
    assert "All &lt;i&gt;mine&lt;/i&gt;" in path.read_text()


@pytest.mark.parametrize("to", ["c", "js", "py", "onnx", "json"])
def test_models_are_exported_beside_their_file_by_default(
    here: Path, model: str, tmp_path: Path, to: str
) -> None:
    if to == "onnx":
        pytest.importorskip("onnx")
    copy = tmp_path / "copy.sdgm"
    copy.write_bytes((here / model).read_bytes())
    done("export", copy, "--to", to, *(() if to in ("json", "js") else ("--precision", "float")))
    assert (tmp_path / f"copy.{'h' if to == 'c' else to}").stat().st_size > 500


def test_a_classifier_without_columns_can_be_told_but_not_applied(tmp_path: Path) -> None:
    bare = sdgm.SDGMClassifier(1, teacher=None).fit([[0.0], [1.0], [0.2], [1.2]], [0, 1, 0, 1])
    path = tmp_path / "bare.sdgm"
    sdgm.save(bare, path)
    done("inspect", path)
    (tmp_path / "t.csv").write_text("x\n1\n")
    assert "use a model file written by sdgm fit" in sentence(
        run("predict", path, tmp_path / "t.csv")
    )


def test_names_with_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "[red]t.csv"
    rows = "".join(
        f"{i % 2 + i / 40},{'[/bold]' if i % 2 else '[link=x]y'},[b]{i % 3}\n" for i in range(40)
    )
    path.write_text("[bold]x,[/bold],z\n" + rows)
    made = tmp_path / "[i]m.sdgm"
    text = done("fit", path, "-t", "[/bold]", "--form", "primal", "-o", made).stdout
    assert all(name in text for name in ("[bold]x", "[/bold]", "[link=x]y", "[red]t.csv", "[i]m"))
    assert "[link=x]y" in done("evaluate", made, path).stdout
    assert "[link=x]y" in done("inspect", made).stdout
    done("report", made, "-o", tmp_path / "[i]r.html")
    done("predict", made, path, "-o", tmp_path / "[i]out.csv")
    assert "[/bold]" in sentence(run("fit", path, "-t", "[/bold", "-o", tmp_path / "[i].sdgm"))


def test_long_tables_of_a_model_are_told_whole_when_asked_for(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 15))
    names = [f"x{i}" for i in range(15)]
    rows = pl.DataFrame(X, schema=names)
    bare = sdgm.SDGMClassifier(1, covariance_type="tied", max_iter=1, teacher=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sdgm.save(bare.fit(rows, X.sum(axis=1) > 0.0), tmp_path / "m.sdgm")
    assert "and 3 rows more" in done("inspect", tmp_path / "m.sdgm").stdout
    text = done("inspect", tmp_path / "m.sdgm", "--all").stdout
    assert " more" not in text
    assert re.search(r"^ +x14 +-?[\d.]+ +[\d.]+$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("lead", "error", "said"),
    [
        (0.10, 0.02, "Log loss 20% below logistic regression."),
        (0.10, 0.06, "within the noise of 20 rows (0.1 ± 0.06)"),
        (0.10, None, "within the noise of 20 rows."),
        (-0.1, 0.02, "Not better than logistic regression by log loss"),
    ],
)
def test_a_lead_within_the_noise_is_no_success(lead: float, error: float | None, said: str) -> None:
    held_out = {"log_loss": 0.4, "rows": 20}
    logistic = {"log_loss": 0.4 + lead, "lead": lead, "lead_error": error}
    majority = {"log_loss": 0.9, "lead": 0.5, "lead_error": 0.01, "name": "majority class"}
    assert said in verdict(held_out, [{**logistic, "name": "logistic regression"}, majority])


# --- predictions in pipes ---


def test_predictions_go_through_pipes_and_remarks_beside_them(here: Path, model: str) -> None:
    table = (here / "new.csv").read_bytes()
    result = process("predict", model, "-", input=table, cwd=here)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(b"id,predicted_kind\n000,")
    assert result.stdout.count(b"\n") == NEW_ROWS + 1
    assert result.stderr == b""
    assert done("predict", model, "-", input=table).stdout.encode() == result.stdout


def test_columns_the_model_does_not_know_are_noted(here: Path, model: str, tmp_path: Path) -> None:
    frame = read_table("new.csv")[0].drop("id").with_columns(more=pl.lit("1"))
    frame.write_csv(tmp_path / "t.csv")
    result = done("predict", model, tmp_path / "t.csv", "-o", tmp_path / "out.csv")
    text = words(result.stderr)
    assert "ignored columns that were not in the training table: more." in text
    assert "has no column id" in text and f"{NEW_ROWS} rows in" in text
    assert result.stdout == ""


def test_a_reader_that_stops_early_is_no_trouble(here: Path, model: str) -> None:
    command = f"{sys.executable} -m sdgm predict {model} new.csv | head -c 3"
    result = subprocess.run(command, shell=True, capture_output=True, cwd=here, timeout=120)
    assert result.stdout == b"id," and b"Traceback" not in result.stderr


# --- help ---


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "inspect", "report", "export"])
def test_every_command_has_help_with_examples(command: str) -> None:
    text = done(command, "--help").stdout
    assert "Examples:" in text and f"sdgm {command}" in text
    assert command in done("--help").stdout
    assert "bool" not in text.lower()


def test_help_of_groups_shows_no_types_of_flags() -> None:
    from reproduction.app import app as paper
    from sdgm.cli.app import app

    papers = ((), ("data",), ("data", "list"), ("table1",))
    for each, groups in ((app, ((), ("demo",))), (paper, papers)):
        for group in groups:
            result = CliRunner().invoke(each, [*group, "--help"])
            assert result.exit_code == 0 and "<bool>" not in result.stdout


def test_help_imports_neither_scikit_learn_nor_scipy() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from sdgm.cli.app import app\n"
        "assert 'demo' in CliRunner().invoke(app, ['--help']).stdout\n"
        "assert not {'sklearn', 'scipy', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
