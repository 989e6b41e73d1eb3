"""Claims about the command and its demo."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

import sdgm
from sdgm.cli import main
from sdgm.cli.app import app
from sdgm.datasets import data_folder
from sdgm.datasets.ripley import PACKED

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed"
)


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, which is the working directory as well."""
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


def words(text: str) -> str:
    """The text without line breaks, which depend on the width of the terminal."""
    return re.sub(r"\s+", " ", text)


def one_sentence_in(result: Any) -> str:
    """What a failed command says, checked to be no traceback."""
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@needs_matplotlib
def test_demo_needs_no_data_file(no_data: Path) -> None:
    result = run("demo")
    assert result.exit_code == 0, result.output
    text = words(result.stdout)
    assert "generated from Ripley's four Gaussians" in text
    assert str(no_data.name) in result.stdout.replace("\n", "")
    assert "The paper's numbers refer to the published rows, not to these." in text
    assert re.search(r"paper, Table 1 9\.1 - 1250 → 6 3\+3 → 2\+2 - -", text)
    row = r" \d+\.\d \d\.\d{3} %d → \d+ 3\+3 → \d\+\d \d+ \d+\.\d\d"
    assert re.search("sdgm, preset paper" + row % 1255, text)
    assert re.search("sdgm, preset fast" + row % 1506, text)
    assert re.search(r"Bayes rule \d\.\d 0\.\d{3} - - - -", text)
    assert "sdgm-demo.png" in text
    assert (no_data / "sdgm-demo.png").read_bytes().startswith(b"\x89PNG")
    assert result.stderr == ""


@pytest.mark.skipif(
    not (data_folder() / PACKED).is_file(), reason="the published rows are not in SDGM_DATA"
)
@needs_matplotlib
def test_demo_uses_the_published_rows_where_found(tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    result = run("demo", "--output", str(picture), "--preset", "fast", "--seed", "1")
    assert result.exit_code == 0, result.output
    text = words(result.stdout)
    assert "as published, from" in text and "seed 1" in text
    assert "not to these" not in text
    assert "Plot of the model with preset fast" in text
    assert picture.exists()


def test_without_matplotlib_there_is_a_table_and_a_sentence_but_no_picture(
    no_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert "sdgm, preset fast" in result.stdout
    assert 'No plot: matplotlib is not installed (pip install "sdgm[plot]").' in words(
        result.stdout
    )
    assert list(no_data.iterdir()) == []


@needs_matplotlib
def test_a_picture_that_cannot_be_written_gives_one_sentence(no_data: Path) -> None:
    assert "there is no folder" in one_sentence_in(run("demo", "-o", "no/such/folder/a.png"))
    assert "must end in .png" in one_sentence_in(run("demo", "-o", "picture.xyz"))


@needs_matplotlib
def test_trouble_while_writing_gives_one_sentence(
    no_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def savefig(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "sdgm-demo.png")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)
    sentence = one_sentence_in(run("demo"))
    assert sentence == f"Error: sdgm-demo.png: {os.strerror(errno.ENOSPC)}.\n"


def test_a_damaged_data_file_gives_one_sentence(no_data: Path) -> None:
    (no_data / "ripley").mkdir()
    (no_data / PACKED).write_bytes(b"something else")
    assert "damaged" in one_sentence_in(run("demo"))


@pytest.mark.parametrize("wrong", [("--preset", "slow"), ("--seed", "-1"), ("--seed", "x")])
def test_wrong_options_are_refused_with_the_usage(wrong: tuple[str, str]) -> None:
    result = run("demo", *wrong)
    assert result.exit_code == 2
    assert "Usage" in result.stderr and wrong[0] in result.stderr


def test_interruption_is_no_traceback(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sdgm.demo.run_demo", interrupted)
    result = run("demo")
    assert result.exit_code in (1, 130)
    assert "Traceback" not in result.output


def test_version_and_help() -> None:
    assert run("--version").stdout == f"sdgm {sdgm.__version__}\n"
    assert "demo" in run("--help").stdout
    assert "sdgm-demo.png" in run("demo", "-h").stdout
    assert "Usage" in run().output


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "sdgm", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"sdgm {sdgm.__version__}\n"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_extra_the_command_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("sdgm.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # pytest's own stays
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1 and 'pip install "sdgm[cli]"' in said.err
