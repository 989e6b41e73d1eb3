"""Claims about ``python -m reproduction``."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from reproduction import table1
from reproduction.app import app
from reproduction.datasets.ida import IDA_SETS
from reproduction.methods import METHODS
from reproduction.table1_page import TITLES
from sdgm.datasets import data_folder
from sdgm.datasets.ripley import PACKED

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed"
)
FILES = [PACKED, *(IDA_SETS[name].packed for name in TITLES if name != "ripley")]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


def words(text: str) -> str:
    """The text without line breaks and frames, which depend on the width of the terminal."""
    return re.sub(r"[\s│]+", " ", text)


def one_sentence_in(result: Any) -> str:
    """What a failed command says below its bar, checked to be no traceback."""
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (sentence,) = re.findall(r"^Error: .*\.$", result.stderr, flags=re.MULTILINE)
    assert result.stderr.endswith(f"{sentence}\n")
    return sentence


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, and nothing remembered of another one."""
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    monkeypatch.setattr(table1, "dataset", table1.dataset.__wrapped__)
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the experiments, which are not run, are asked for."""
    asked: dict[str, Any] = {}

    def stand_in(folder: Path, *, progress: Any = None, **options: Any) -> list[Path]:
        asked.update(folder=folder, **options)
        if progress is not None:
            progress(0, 2, None)
            progress(2, 2, {"data": "[bold]banana", "split": 1})  # no markup
        return [folder / "page.md", folder / "table.csv"]

    monkeypatch.setattr("reproduction.app.run_table1", stand_in)
    monkeypatch.setattr("reproduction.app.run_appendix_b", stand_in)
    return asked


def test_help_names_every_part_and_what_it_takes() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for name in ("table1", "appendix-b", "figure", "all"):
        assert name in result.stdout
    assert "Usage" in run().output
    for name in ("table1", "appendix-b", "figure", "all"):
        text = run(name, "--help").stdout
        assert "--output" in text and "--seed" in text and "--quick" in text
    assert "boundaries, training, position, prior or features" in words(run("figure", "-h").stdout)


def test_options_reach_table_1(asked: dict[str, Any]) -> None:
    options = ["-p", "distinct", "-p", "own", "-o", "there", "--seed", "4", "--jobs", "3"]
    result = run("table1", *options, "--quick", "--own-splits", "20")
    assert result.exit_code == 0, result.output
    assert asked == {
        "folder": Path("there"),
        "protocols": ["distinct", "own"],
        "own_splits": 20,
        "seed": 4,
        "quick": True,
        "jobs": 3,
    }
    there = Path("there")
    assert result.stdout == f"wrote {there / 'page.md'}\nwrote {there / 'table.csv'}\n"
    assert "Table 1" in result.stderr and "2/2" in result.stderr
    assert "[bold]banana 1" in words(result.stderr)


def test_without_options_it_is_the_ten_splits_in_full(asked: dict[str, Any]) -> None:
    assert run("table1").exit_code == 0
    jobs = asked.pop("jobs")
    assert asked == {
        "folder": Path("sdgm-results"),
        "protocols": ["ten"],
        "own_splits": 100,
        "seed": 0,
        "quick": False,
    }
    assert jobs == os.cpu_count()


def test_a_quick_run_does_not_write_where_results_are(asked: dict[str, Any]) -> None:
    assert run("table1", "--quick").exit_code == 0
    assert asked["folder"] == Path("sdgm-results-quick")


@needs_matplotlib
def test_options_reach_appendix_b(asked: dict[str, Any]) -> None:
    result = run("appendix-b", "--seed", "2", "--jobs", "1", "-o", "there")
    assert result.exit_code == 0, result.output
    assert asked == {"folder": Path("there"), "seed": 2, "quick": False, "jobs": 1}


@needs_matplotlib
def test_options_reach_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def run_all(folder: Path, *, progress: Any, **options: Any) -> Path:
        asked.update(folder=folder, **options)
        progress("Table 1")(1, 1, None)
        return folder / "REPORT.md"

    monkeypatch.setattr("reproduction.report.run_all", run_all)
    result = run("all", "--quick", "--jobs", "2", "-o", "there")
    assert result.exit_code == 0, result.output
    assert asked == {
        "folder": Path("there"),
        "protocols": ["ten"],
        "own_splits": 100,
        "seed": 0,
        "quick": True,
        "jobs": 2,
    }
    assert result.stdout == f"wrote {Path('there') / 'REPORT.md'}\n"


@needs_matplotlib
def test_a_figure_is_written_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    result = run("figure", "prior", "--quick", "-o", str(folder))
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in folder.iterdir()) == ["prior.png", "prior.svg"]
    assert result.stdout == f"wrote {folder / 'prior.png'}\nwrote {folder / 'prior.svg'}\n"


@needs_matplotlib
def test_an_unknown_figure_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    result = run("figure", "nonsense", "-o", str(folder))
    assert result.exit_code == 2 and result.stdout == ""
    said = words(result.stderr)
    assert "there is no figure 'nonsense'; choose from boundaries, training, position" in said
    assert "prior, features." in said
    assert not folder.exists()


@pytest.mark.parametrize(
    "wrong", [("--protocol", "eleven"), ("--seed", "-1"), ("--jobs", "0"), ("--jobs", "x")]
)
def test_wrong_options_are_refused_with_the_usage(wrong: tuple[str, str]) -> None:
    result = run("table1", *wrong)
    assert result.exit_code == 2
    assert "Usage" in result.stderr and wrong[0] in result.stderr


def test_a_missing_data_file_gives_one_sentence(no_data: Path) -> None:
    sentence = one_sentence_in(run("table1", "--quick", "-o", str(no_data / "new")))
    assert f"{PACKED} is not in the data folder" in sentence and "SDGM_DATA" in sentence
    assert not (no_data / "new").exists()


@needs_matplotlib
def test_an_output_folder_that_is_a_file_gives_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert str(file) in one_sentence_in(run("figure", "prior", "--quick", "-o", str(file)))
    assert str(file) in one_sentence_in(
        run("appendix-b", "--quick", "--jobs", "1", "-o", str(file))
    )
    assert file.read_text() == "mine"


def test_a_spoilt_file_of_cells_gives_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table1, "dataset", lambda *_: None)
    (tmp_path / "table1.jsonl").write_text("spoilt\n{}\n")
    sentence = one_sentence_in(run("table1", "--quick", "--jobs", "1", "-o", str(tmp_path)))
    assert "line 1 of" in sentence and "remove that line" in sentence


@pytest.mark.parametrize("command", [("figure", "prior"), ("appendix-b",), ("all",)])
def test_without_matplotlib_pictures_are_refused_in_one_sentence(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "sdgm[plot]"' in one_sentence_in(run(*command))


@pytest.mark.skipif(
    not all((data_folder() / file).is_file() for file in FILES),
    reason="the published rows are not in SDGM_DATA",
)
def test_a_quick_table_1_has_all_sets_and_all_methods(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "reproduction", "table1", "--quick"]
    result = subprocess.run(
        [*command, "--jobs", "2", "-o", str(tmp_path)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {
        "table1.jsonl",
        "table1.md",
        "table1.csv",
    }
    records = [json.loads(line) for line in (tmp_path / "table1.jsonl").read_text().splitlines()]
    cells = Counter((record["data"], record["method"]) for record in records)
    assert cells == {(data, method): 2 for data in TITLES for method in METHODS}
    assert all(record["error"] < 0.5 for record in records)

    page = (tmp_path / "table1.md").read_text(encoding="utf-8")
    assert "Not a result" in page
    sections = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    assert [section.partition("\n")[0] for section in sections] == list(TITLES.values())
    for section in sections:
        for method in METHODS.values():
            assert len(re.findall(rf"^\| {re.escape(method.title)} \|", section, re.M)) == 1
        assert not re.search(r"\bnan\b", section)
    with (tmp_path / "table1.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(TITLES) * len(METHODS)
