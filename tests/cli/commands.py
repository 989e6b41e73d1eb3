"""Commands run as a user runs them."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from sdgm.cli.app import app


def run(*arguments: object, **options: Any) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments], **options)


def done(*arguments: object, **options: Any) -> Any:
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def unboxed(text: str) -> str:
    """What is said in a box, without its lines."""
    return words(re.sub("[│╭╮╰╯─|+]", " ", text))


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
