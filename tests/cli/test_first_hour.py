"""Claims about what users try in their first hour with the command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("polars")
pytest.importorskip("safetensors")

import sdgm
from tests.cli.commands import done, run, sentence, unboxed, words

FAST = ("--form", "primal", "--components", "1")
TITANIC = "Class,Sex,Survived,Freq\n" + "\n".join(
    f"{c},{s},{v},{n}"
    for (c, s, v), n in zip(
        [(c, s, v) for c in ("1st", "3rd") for s in ("m", "f") for v in ("No", "Yes")],
        (118, 62, 4, 141, 422, 88, 106, 90),
        strict=True,
    )
)


@pytest.fixture
def titanic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "titanic.csv").write_text(TITANIC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_column_of_frequencies_counts_the_rows(titanic: Path) -> None:
    said = done("fit", "titanic.csv", "-t", "Survived", "--weights", "Freq", *FAST)
    text = words(said.stdout)
    assert "8 rows, 4 columns" in text and "Freq sample weight" in text
    assert "No 650" in text and "On 258 held-out rows" in text
    result = json.loads(done("evaluate", "model.sdgm", "titanic.csv", "--json").stdout)
    assert result["rows"] == 1031 and result["error"] == pytest.approx(0.22, abs=0.05)
    done("predict", "model.sdgm", "titanic.csv", "-o", "out.csv")
    assert (titanic / "out.csv").read_text().count("\n") == 9


def test_options_of_fit_say_in_one_sentence_what_they_cannot_be(titanic: Path) -> None:
    fit = ("fit", "titanic.csv", "-t", "Survived")
    assert "--weights must name a column of numbers; 'Sex' has 'm'." in sentence(
        run(*fit, "--weights", "Sex")
    )
    assert "no column 'frec' for the weights: did you mean 'Freq'?" in sentence(
        run(*fit, "--weights", "frec")
    )
    assert "no column 'Age' to exclude: there are" in sentence(run(*fit, "--exclude", "Age"))
    assert "--class-weight names 'yes', which is not a class; the classes are" in sentence(
        run(*fit, "--weights", "Freq", "--class-weight", "yes=2")
    )
    for option, value, said in [
        (
            "--class-weight",
            "often",
            "must be balanced or a list such as ill=5,well=1; 'often' is neither",
        ),
        ("--class-weight", "Yes=0", "must have a positive number for each label, got 0.0"),
        ("--max-weights", "0", "must be a positive integer, got 0"),
    ]:
        refused = run(*fit, option, value)
        assert refused.exit_code == 2 and said in unboxed(refused.stderr)


def test_options_of_fit_reach_the_model(titanic: Path) -> None:
    options = ("--weights", "Freq", "--class-weight", "Yes=2,No=1", "--max-weights", "2")
    done("fit", "titanic.csv", "-t", "Survived", *options, "--exclude", "Class", *FAST)
    model = sdgm.load("model.sdgm")
    assert model.classifier.class_weight == {"Yes": 2.0, "No": 1.0}
    assert model.class_weight == {"Yes": 2.0, "No": 1.0} and model.exclude == ["Class"]
    assert model.record["weights"]["final"] <= 2
    assert [column.name for column in model.inputs] == ["Sex"]


def test_quiet_commands_print_errors_only(here: Path, model: str, tmp_path: Path) -> None:
    fit = ("fit", "ugly.csv", "-t", "kind", *FAST, "-o", tmp_path / "m.sdgm")
    commands = [
        (*fit, "--quiet"),
        ("predict", model, "new.csv", "-o", tmp_path / "out.csv", "-q"),
        ("report", model, "-o", tmp_path / "r.html", "-q"),
        ("export", model, "--to", "c", "-o", tmp_path / "m.h", "-q"),
    ]
    for command in commands:
        result = done(*command)
        assert result.output == "", command
    assert "exists" in sentence(run(*fit, "--quiet"))
    assert json.loads(done(*fit, "--quiet", "--json", "--force").stdout)["form"] == "primal"
    assert done("predict", model, "new.csv", "-q").stdout.startswith("id,predicted_kind")
    assert done(*fit, "--force").stdout  # and it is forgotten again


def test_text_goes_to_standard_output_as_it_is(here: Path, model: str, tmp_path: Path) -> None:
    for to, file in [("c", "m.h"), ("py", "m.py"), ("js", "m.js"), ("json", "m.json")]:
        done("export", model, "--to", to, "-o", tmp_path / file)
        piped = done("export", model, "--to", to, "-o", "-")
        assert piped.stdout_bytes == (tmp_path / file).read_bytes() and piped.stderr == ""
    done("report", model, "-o", tmp_path / "r.html", "--title", "T")
    assert (
        done("report", model, "-o", "-", "--title", "T").stdout_bytes
        == (tmp_path / "r.html").read_bytes()
    )
    assert "--to onnx cannot write to stdout" in sentence(
        run("export", model, "--to", "onnx", "-o", "-")
    )
    assert not list(here.glob("-*"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_are_completed(shell: str) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "sdgm", "--show-completion", shell]
    script = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "complete_" + shell in script.stdout or "_COMPLETE" in script.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["inspect", "absent.sdgm"]])
def test_colours_are_left_out_where_the_user_wants_none(
    arguments: list[str], tmp_path: Path
) -> None:
    def has_colour(**settings: str) -> bool:
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        command = [sys.executable, "-m", "sdgm", *arguments]
        environment |= {"TERM": "xterm-256color", **settings}
        said = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path)
        return bool(re.search(rb"\x1b\[[0-9;]*3[0-7]m", said.stdout + said.stderr))

    assert has_colour(FORCE_COLOR="1")
    assert not has_colour(FORCE_COLOR="1", NO_COLOR="1")
    assert not has_colour()  # not a terminal


def test_of_many_classes_the_first_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    rows = [f"{c + 0.1 * i},{c % 4 - 0.1 * i},class {c:02}" for c in range(14) for i in range(6)]
    (tmp_path / "many.csv").write_text("\n".join(["a,b,kind", *rows]))
    arguments = ("--target", "kind", "-o", tmp_path / "many.sdgm", "--test-size", 0)
    text = words(done("fit", tmp_path / "many.csv", *arguments).output)
    assert re.search(r"Components .*class 11: \d, 2 more\)", text), text
