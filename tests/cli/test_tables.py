"""Claims about the commands that go from a table to a model and on: fit, predict, evaluate, ..."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("polars")
pytest.importorskip("safetensors")

import polars as pl
from typer.testing import CliRunner

import sdgm
from sdgm.cli.app import app
from sdgm.tables import fit_table
from sdgm.tables.delimited import START, row_end
from sdgm.tables.reading import read_table
from tests.tables.ugly import CLASSES, write_ugly

NEW_ROWS = 40


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table nobody prepared, new rows, and a model of it."""
    folder = tmp_path_factory.mktemp("cli")
    write_ugly(folder / "ugly.csv")
    write_ugly(folder / "new.csv", NEW_ROWS, seed=3)
    return folder


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def model(here: Path) -> str:
    """The model's file, made once."""
    if not (here / "model.sdgm").exists():
        sdgm.save(fit_table("ugly.csv", "kind", id_column="id", form="primal"), "model.sdgm")
    return "model.sdgm"


def run(*arguments: object, **options: Any) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments], **options)


def done(*arguments: object, **options: Any) -> Any:
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def sentence(result: Any) -> str:
    """What a failed command says, checked to be one line and no traceback."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    return str(result.stderr)


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "sdgm", *(str(each) for each in arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, **options)


# --- the way from a file to C ---


def test_from_file_to_model_to_predictions_to_report_to_c_in_five_commands(
    here: Path, tmp_path: Path
) -> None:
    made = tmp_path / "model.sdgm"
    said = done("fit", "ugly.csv", "--target", "kind", "--id", "id", "-o", made)
    text = words(said.stdout)
    assert "120 rows, 9 columns; target kind with 3 classes" in text
    assert "Farbe\\nder Blüte category, 3 levels" in text  # the line break is shown, not made
    assert "<b>x</b>" in text and "held out" in text and "logistic regression" in text
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
    assert "the model learned from all rows" in text and "held out" not in text
    assert sdgm.load(path).record["components"]["initial"] == [2, 2, 2]
    refused = run("fit", "ugly.csv", "-t", "kind", "--missing", "error", "-o", path)
    assert "Values are missing in 'Größe (cm)'" in sentence(refused)


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


@pytest.mark.parametrize("to", ["c", "onnx", "json"])
def test_models_are_exported_beside_their_file_by_default(
    here: Path, model: str, tmp_path: Path, to: str
) -> None:
    if to == "onnx":
        pytest.importorskip("onnx")
    copy = tmp_path / "copy.sdgm"
    copy.write_bytes((here / model).read_bytes())
    done("export", copy, "--to", to, *(() if to == "json" else ("--precision", "float")))
    assert (tmp_path / f"copy.{'h' if to == 'c' else to}").stat().st_size > 500


def test_a_classifier_without_columns_can_be_told_but_not_applied(tmp_path: Path) -> None:
    bare = sdgm.SDGMClassifier(1).fit([[0.0], [1.0], [0.2], [1.2]], [0, 1, 0, 1])
    path = tmp_path / "bare.sdgm"
    sdgm.save(bare, path)
    done("inspect", path)
    (tmp_path / "t.csv").write_text("x\n1\n")
    assert "use a model of sdgm fit" in sentence(run("predict", path, tmp_path / "t.csv"))


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
    assert "[/bold]" in sentence(run("fit", path, "-t", "[/bold", "-o", made))


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
    assert "ignored columns that were not there in training: more." in text
    assert "has no column id" in text and f"{NEW_ROWS} rows in" in text
    assert result.stdout == ""


def test_a_reader_that_stops_early_is_no_trouble(here: Path, model: str) -> None:
    command = f"{sys.executable} -m sdgm predict {model} new.csv | head -c 3"
    result = subprocess.run(command, shell=True, capture_output=True, cwd=here, timeout=120)
    assert result.stdout == b"id," and b"Traceback" not in result.stderr


# --- mistakes ---


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("a,kind\n1,x\n2,y\n", ("-t", "Kind"), "did you mean 'kind'?"),
        ("a,kind\n1,x\n2,x\n", ("-t", "kind"), "one class only, 'x'"),
        ("", ("-t", "kind"), "is empty"),
        ("a,kind\n", ("-t", "kind"), "has a header but no rows"),
        ("a,a,kind\n1,2,x\n", ("-t", "kind"), "several columns called 'a'"),
        ("a,kind\n1,x\n1,y\n", ("-t", "kind"), "no column to learn from: 'a' (is always 1)"),
        ("a,kind\n1,x,3\n", ("-t", "kind"), "Row 1 of t.csv has 3 fields"),
        (
            "a,y\n" + "".join(f"{i % 7},{i % 500 / 8}\n" for i in range(600)),
            ("-t", "y"),
            "500 distinct values in 600 rows",
        ),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "--components", "x"), "components must be 'auto'"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "--test-size", "1"), "test_size must be"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "--missing", "x"), "missing must be"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "--id", "name"), "no column 'name' for the id"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "-o", "no/m.sdgm"), "there is no folder 'no'"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "-o", "."), "is a folder"),
    ],
)
def test_mistakes_of_fit_are_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(content)
    assert said in sentence(run("fit", "t.csv", *options))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


def test_files_that_are_no_tables_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,kind\n1,ä\n".encode("latin-1"))
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    for name, said in [
        ("t.csv", "is not UTF-8 text"),
        ("t.xlsx", "ends in none of .csv"),
        ("none.csv", "No such file"),
    ]:
        assert said in sentence(run("fit", tmp_path / name, "-t", "kind", "-o", tmp_path / "m"))


def test_read_only_outputs_are_refused_before_any_work(
    here: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("m.sdgm", "out.csv", "r.html", "m.h"):
        (tmp_path / name).write_text("old")
        (tmp_path / name).chmod(0o444)
    monkeypatch.setattr("sdgm.tables.fitting.fit_table", None)
    for arguments in (
        ("fit", "ugly.csv", "-t", "kind", "-o", tmp_path / "m.sdgm"),
        ("predict", model, "new.csv", "-o", tmp_path / "out.csv"),
        ("report", model, "-o", tmp_path / "r.html"),
        ("export", model, "--to", "c", "-o", tmp_path / "m.h"),
    ):
        assert "read-only" in sentence(run(*arguments))
        assert "there is no folder" in sentence(run(*arguments[:-1], tmp_path / "no" / "x.csv"))
    assert {path.read_text() for path in tmp_path.iterdir()} == {"old"}


def test_tables_that_do_not_fit_the_model_are_one_sentence(
    here: Path, model: str, tmp_path: Path
) -> None:
    frame, _ = read_table("new.csv")
    warm = pl.Series("темп", ["1", "warm", *["2"] * (NEW_ROWS - 2)])
    for name, table, said in [
        ("text", frame.with_columns(warm), "Column 'темп' has the text 'warm' in row 2"),
        ("lacks", frame.drop("темп"), "lacks the column 'темп'"),
        ("renamed", frame.rename({"темп": "темп."}), "did you mean 'темп.'?"),
        ("many", frame.select("id"), "lacks 4 columns"),
    ]:
        table.write_csv(tmp_path / f"{name}.csv")
        result = run("predict", model, tmp_path / f"{name}.csv", "-o", tmp_path / "out.csv")
        assert said in sentence(result)
    assert not (tmp_path / "out.csv").exists()
    assert "ends in none" in sentence(run("predict", model, "new.csv", "-o", tmp_path / "o.xls"))


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect", "report", "export"])
def test_what_is_no_model_is_one_sentence(here: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "m.sdgm").write_text("no model")
    more = {"predict": ("new.csv",), "evaluate": ("new.csv",), "export": ("--to", "json")}
    for name in ("m.sdgm", "absent.sdgm"):
        said = sentence(run(command, tmp_path / name, *more.get(command, ())))
        assert name in said


def test_a_missing_package_is_one_sentence(
    here: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    said = sentence(run("predict", model, "new.csv"))
    assert 'pip install "sdgm[io]"' in said


# --- interrupts ---


def test_an_interrupt_is_one_line_and_leaves_no_file(
    here: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sdgm.tables.fitting.learned", interrupted)
    monkeypatch.setattr("sdgm.tables.prediction.predicted", interrupted)
    for arguments in (
        ("fit", "ugly.csv", "-t", "kind", "-o", tmp_path / "m.sdgm"),
        ("predict", model, "new.csv", "-o", tmp_path / "out.csv"),
    ):
        result = run(*arguments)
        assert result.exit_code == 130
        assert result.stderr == "Interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


def test_control_c_ends_a_long_prediction_with_one_line(
    here: Path, model: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "sdgm", "predict", model, "-", "-o", tmp_path / "out.csv"]
    child = subprocess.Popen(
        command, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdin is not None
    table = (here / "new.csv").read_bytes()
    rows = table[row_end(table) :]
    child.stdin.write(table + rows * (START // len(rows) + 1))  # and it waits for more
    child.stdin.flush()
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)  # until it writes to a file of another name
    child.send_signal(signal.SIGINT)
    out, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert out == b"" and said == b"Interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


# --- help ---


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "inspect", "report", "export"])
def test_every_command_has_help_with_examples(command: str) -> None:
    text = done(command, "--help").stdout
    assert "Examples:" in text and f"sdgm {command}" in text
    assert command in done("--help").stdout
