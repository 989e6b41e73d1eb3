"""Where commands print, and how they fail."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from sdgm.cli import interrupts
from sdgm.text import shown

console = Console(highlight=False)
error_console = Console(highlight=False, stderr=True)


@contextmanager
def friendly_errors(writes: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Turn what a user can do something about into one sentence and exit code 1.

    The library's errors about values, files and missing packages are sentences already; those of
    the operating system become one. An interrupt is one line and exit code 130.

    Parameters
    ----------
    writes : path, optional
        The one file that the command writes, "-" for standard output.
    """
    before = state_of(writes)
    try:
        yield
        interrupts.check()
        sys.stdout.flush()
    except BaseException as error:
        if interrupts.seen() or isinstance(error, KeyboardInterrupt):
            say(interrupted(writes, before))
            raise typer.Exit(interrupts.INTERRUPTED) from None
        if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
            abandon_output()
            raise typer.Exit(1) from None
        if not isinstance(error, OSError | ValueError | ImportError | MemoryError):
            raise
        message = sentence(error, writes)
        error_console.print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
        if isinstance(error, OSError) and str(writes) == "-":
            abandon_output()
        raise typer.Exit(1) from None


def say(line: str) -> None:
    """A line beside the output."""
    error_console.print(line, markup=False, soft_wrap=True)


def abandon_output() -> None:
    """Write no more to standard output, not even what is still held back."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: BaseException, writes: str | os.PathLike[str] | None) -> str:
    """What went wrong, in the words of the command line."""
    setting, problem = getattr(error, "setting", None), getattr(error, "problem", None)
    if setting is not None:
        return f"--{setting.replace('_', '-')} {problem}"
    text = str(error)
    if not isinstance(error, OSError) or not (error.strerror or "(os error" in text):
        return text
    problem = error.strerror or text.split(" (os error")[0]  # of Rust
    name = error.filename
    if writes is not None and (name is None or Path(str(name)).name.startswith(".sdgm-")):
        name = "standard output" if str(writes) == "-" else writes
    return f"{problem}." if name is None else f"{shown(name, 200)}: {problem}."


def state_of(path: str | os.PathLike[str] | None) -> tuple[int, ...] | None:
    """What changes when a file is written."""
    try:
        found = os.stat(path or "-")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def interrupted(writes: str | os.PathLike[str] | None, before: tuple[int, ...] | None) -> str:
    """What there is to know after an interrupt."""
    if writes is None:
        return "Interrupted."
    if str(writes) == "-":
        return "Interrupted; the output is not complete."
    if state_of(writes) == before:
        return "Interrupted; nothing was written."
    return f"Interrupted; {shown(writes, 200)} was written."


def note(message: str) -> None:
    """A remark beside the output, so that it does not get into a pipe."""
    error_console.print(Text.assemble(("Note: ", "bold yellow"), message), soft_wrap=True)


def print_json(value: Any) -> None:
    """JSON for programs, never wrapped or coloured."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def arrow() -> str:
    """An arrow that the terminal can show."""
    return "->" if console.options.ascii_only else "→"


def size(n_bytes: int) -> str:
    """Bytes as people say them."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"
