"""Where commands print, and how they fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.text import Text

console = Console(highlight=False)
error_console = Console(highlight=False, stderr=True)


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Turn what a user can do something about into one sentence and exit code 1.

    The library's errors about values and files are sentences already; those of the operating
    system become one.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.strerror:
            message = f"{error.filename}: {error.strerror}."
        error_console.print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
        raise typer.Exit(1) from None


def arrow() -> str:
    """An arrow that the terminal can show."""
    return "->" if console.options.ascii_only else "→"
