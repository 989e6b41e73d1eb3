"""Where commands print, and how they fail."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from sdgm.cli import INTERRUPTED

console = Console(highlight=False)
error_console = Console(highlight=False, stderr=True)


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Turn what a user can do something about into one sentence and exit code 1.

    The library's errors about values, files and missing packages are sentences already; those of
    the operating system become one. An interrupt is one line and exit code 130.
    """
    try:
        yield
    except KeyboardInterrupt:
        error_console.print("Interrupted; nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (OSError, ValueError, ImportError, MemoryError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.strerror:
            message = f"{error.filename}: {error.strerror}."
        error_console.print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
        raise typer.Exit(1) from None


def note(message: str) -> None:
    """A remark beside the output, so that it does not get into a pipe."""
    error_console.print(Text.assemble(("Note: ", "bold yellow"), message), soft_wrap=True)


def print_json(value: Any) -> None:
    """JSON for programs, never wrapped or coloured."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def arrow() -> str:
    """An arrow that the terminal can show."""
    return "->" if console.options.ascii_only else "→"


def shown(value: object, width: int = 40) -> str:
    """A name of the user's on one line, not too long, with control characters escaped."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
    return text if len(text) <= width else f"{text[: width - 3]}..."


def size(n_bytes: int) -> str:
    """Bytes as people say them."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"
