"""Claims about errors: whose mistake it is, what it says, and the exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("polars")
pytest.importorskip("safetensors")

import sdgm
from tests.cli.commands import done, process, run, sentence, words


def broken(*_: object, **__: object) -> Any:
    """A mistake in the library that numpy tells as a ValueError."""
    return np.zeros(2) + np.zeros(3)


@pytest.fixture
def with_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdgm.tables.fitting.fit_table", broken)


FIT = ("fit", "ugly.csv", "-t", "kind", "-o", "never written.sdgm")


def test_a_mistake_in_the_library_is_not_told_as_the_users(
    here: Path, with_a_mistake: None
) -> None:
    result = run(*FIT)
    assert result.exit_code == 70
    said = words(result.stderr)
    assert said.startswith("Internal error: ValueError: operands could not be broadcast")
    assert "report" in said and f"sdgm {sdgm.__version__}" in said
    assert "sdgm fit ugly.csv -t kind -o 'never written.sdgm'" in said
    assert "Traceback" not in said and "--debug" in said


def test_with_debug_there_is_a_traceback(here: Path, with_a_mistake: None) -> None:
    result = run("--debug", *FIT)
    assert result.exit_code == 70
    assert "Traceback" in result.stderr and "np.zeros(2) + np.zeros(3)" in result.stderr
    missing = run("--debug", "inspect", "absent.sdgm")
    assert missing.exit_code == 1
    assert "Traceback" in missing.stderr and "Error: absent.sdgm" in missing.stderr
    assert "Traceback" not in run("inspect", "absent.sdgm").stderr  # and it is forgotten again


@pytest.mark.parametrize("error", [TypeError("no"), KeyError("x"), IndexError(), RuntimeError("r")])
def test_so_are_errors_of_every_other_kind(
    here: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("sdgm.tables.fitting.fit_table", fail)
    result = run(*FIT)
    assert result.exit_code == 70
    assert words(result.stderr).startswith(f"Internal error: {type(error).__name__}")


def test_the_command_of_the_shell_says_the_same() -> None:
    # a mistake outside of what a command guards
    code = "import sdgm.cli, sdgm.cli.app as module; module.app = lambda: [][0]; sdgm.cli.main()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 70, result.stderr
    assert words(result.stderr).startswith("Internal error: IndexError")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ("fit", "ugly.csv", "-t", "kind", "--form", "foo"),
        ("fit", "ugly.csv", "-t", "kind", "--missing", "foo"),
        ("fit", "ugly.csv", "-t", "kind", "--components", "foo"),
        ("fit", "ugly.csv", "-t", "kind", "--components", "0"),
        ("fit", "ugly.csv", "-t", "kind", "--test-size", "2"),
        ("fit", "ugly.csv", "-t", "kind", "--test-size", "nan"),
        ("fit", "ugly.csv", "-t", "kind", "--seed", "-1"),
        ("fit", "ugly.csv", "-t", "kind", "--unknown"),
        ("fit", "ugly.csv"),
        ("export", "model.sdgm", "--to", "json", "--precision", "float"),
        ("export", "model.sdgm", "--to", "onnx", "--name", "x"),
        ("export", "model.sdgm", "--to", "c", "--name", "no name"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_means_nothing_has_exit_code_2(
    here: Path, model: str, wrong: tuple[str, ...]
) -> None:
    result = run(*wrong)
    assert result.exit_code == 2, result.output
    assert "Usage" in result.stderr and "Error" in result.stderr


def test_nothing_is_overwritten_without_force(here: Path, model: str, tmp_path: Path) -> None:
    commands = {
        "m.sdgm": ("fit", "ugly.csv", "-t", "kind", "--form", "primal", "--components", "1"),
        "out.csv": ("predict", model, "new.csv"),
        "r.html": ("report", model),
        "m.h": ("export", model, "--to", "c"),
        "demo.svg": ("demo", "--preset", "fast"),
    }
    for name, command in commands.items():
        if name == "demo.svg":
            pytest.importorskip("matplotlib")
        path = tmp_path / name
        path.write_text("old")
        said = sentence(run(*command, "-o", path))
        assert f"{name}' exists; add --force to overwrite it, or give another file name" in said
        assert path.read_text() == "old"
        done(*command, "-o", path, "--force")
        assert not path.read_bytes().startswith(b"old")


def test_devices_are_written_to_all_the_same(here: Path, model: str) -> None:
    result = process("predict", model, "new.csv", "-o", "/dev/null", cwd=here)
    assert result.returncode == 0, result.stderr
