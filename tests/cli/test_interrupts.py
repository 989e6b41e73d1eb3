"""Claims about interrupts of the commands."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("polars")
pytest.importorskip("safetensors")


from sdgm.cli import interrupts
from sdgm.tables.delimited import START, row_end
from tests.cli.commands import run, words


def test_an_interrupt_is_one_line_and_leaves_no_file(
    here: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sdgm.tables.learning.fitted_classifier", interrupted)
    monkeypatch.setattr("sdgm.tables.prediction.prediction_frame", interrupted)
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


def test_what_an_interrupt_says_was_written_is_true(
    here: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sdgm.cli.fit.show", interrupted)
    path = tmp_path / "m.sdgm"
    result = run("fit", "ugly.csv", "-t", "kind", "--form", "primal", "-o", path)
    assert result.exit_code == 130 and path.exists()
    assert words(result.stderr) == f"Interrupted; {path} was written. "
    monkeypatch.setattr("sdgm.tables.prediction.prediction_frame", interrupted)
    result = run("predict", model, "new.csv")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted; the output is incomplete.\n"


def test_an_interrupt_that_was_swallowed_is_not_forgotten(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swallowed(*_: object, **__: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            interrupts._remember(signal.SIGINT, None)

    monkeypatch.setattr(interrupts, "_seen", False)
    monkeypatch.setattr("sdgm.tables.fitting.advice", lambda *_: swallowed() or [])
    result = run("fit", "ugly.csv", "-t", "kind", "--form", "primal", "-o", tmp_path / "m.sdgm")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_interrupt_while_starting_up_ends_the_command(here: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.sdgm"
    command = [sys.executable, "-m", "sdgm", "fit", "ugly.csv", "-t", "kind", "-o", path]
    for tenths in range(2, 24):
        child = subprocess.Popen(
            command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(tenths / 10)
        is_done = child.poll() is not None
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=60)
        if is_done:  # a quick machine
            break
        assert child.returncode == 130, (tenths, child.returncode, out, said)
        assert out == "" and said in ("", "Interrupted; nothing was written.\n")
        assert list(tmp_path.iterdir()) == []
