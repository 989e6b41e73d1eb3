"""Claims about ``python -m reproduction data``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from reproduction.app import app
from reproduction.datasets import catalog
from reproduction.datasets.ida import IDA_SETS
from sdgm.cli.console import console
from sdgm.datasets import data_folder

HEART = "ida/heart.npz"


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["data", *arguments])


def words(text: str) -> str:
    """The text without line breaks, which depend on the width of the terminal."""
    return re.sub(r"\s+", " ", text)


def statuses(result: Any) -> dict[str, str]:
    return {entry["name"]: entry["status"] for entry in json.loads(result.stdout)["sets"]}


def test_an_empty_folder_is_no_error_and_every_remedy_is_told(no_data: Path) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert str(no_data) in result.stdout
    text = words(result.stdout)
    for entry in catalog():
        assert re.search(rf"{entry.name} .*{'missing' if entry.files else 'none needed'}", text)
        if entry.files:
            assert words(entry.where_to_get.rstrip(",")) in text
            assert f"{entry.put_in}/" in text
    assert "make_titanic" in text and "SDGM_DATA" in text
    assert "found" not in text


def test_sets_with_the_same_source_share_a_remedy(no_data: Path) -> None:
    text = words(run().stdout)
    assert "heart, ringnorm Get " in text
    assert text.count("povelfk/AdvML19-Project-RVM") == 1


def test_what_is_found_is_said_and_not_opened(no_data: Path) -> None:
    (no_data / "ida").mkdir()
    (no_data / HEART).write_bytes(b"something else")
    result = run("--json")
    assert result.exit_code == 0
    assert statuses(result)["heart"] == "found"
    assert statuses(result)["banana"] == "missing"
    assert statuses(result)["checkerboard"] == "none needed"


def test_damage_is_found_with_verify_and_gives_exit_code_1(no_data: Path) -> None:
    (no_data / "ida").mkdir()
    (no_data / HEART).write_bytes(b"something else")
    result = run("--verify")
    assert result.exit_code == 1
    text = words(result.stdout)
    assert re.search(r"heart 270 13 2 10 damaged", text)
    assert re.search(r"delete and download again heart Get .* ida/heart/", text)
    assert "Traceback" not in result.output
    result = run("--verify", "--json")
    assert result.exit_code == 1 and statuses(result)["heart"] == "damaged"


@pytest.mark.skipif(
    not (data_folder() / HEART).is_file(), reason="the IDA heart set is not in SDGM_DATA"
)
def test_right_files_are_verified(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    content = (data_folder() / HEART).read_bytes()
    monkeypatch.setenv("SDGM_DATA", str(no_data))
    (no_data / "ida").mkdir()
    (no_data / HEART).write_bytes(content)
    result = run("--verify", "--json")
    assert result.exit_code == 0 and statuses(result)["heart"] == "verified"


def test_json_has_the_whole_catalogue(no_data: Path) -> None:
    told = json.loads(run("--json").stdout)
    assert told["folder"] == str(no_data)
    assert [entry["name"] for entry in told["sets"]] == [entry.name for entry in catalog()]
    heart = next(entry for entry in told["sets"] if entry["name"] == "heart")
    assert heart["files"] == [HEART] and heart["sha256"] == [IDA_SETS["heart"].sha256]
    assert heart["rows"] == 270 and heart["found"] is False


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_cut_off(width: int, no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_width", width)
    text = run().stdout
    assert "…" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()[1:]) <= width
    assert ("German credit" in text) == (width == 120)


def test_the_help_names_its_options() -> None:
    assert "--verify" in run("--help").stdout
