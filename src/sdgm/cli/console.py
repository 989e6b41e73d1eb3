"""What commands share: where they print, how they fail, the model files they load."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, ProgressColumn
from rich.text import Text

from sdgm.cli import bugs, interrupts
from sdgm.text import shown

console = Console(highlight=False)
error_console = Console(highlight=False, stderr=True)
remark_console = Console(highlight=False, stderr=True)  # silent with --quiet, as the first

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by sdgm fit.")]
DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="Table: .csv, .tsv, .parquet or .npz; - for CSV.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing output file.")]


def be_quiet(wanted: bool) -> bool:
    """Print nothing but errors, and data that is asked for."""
    console.quiet = remark_console.quiet = wanted
    return wanted


Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=be_quiet, help="Print errors only.")]


# what typer raises for itself
EXITS = typer.Exit, typer.Abort, typer.BadParameter


@contextmanager
def friendly_errors(writes: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Turn what is wrong with values, files and packages into one sentence and exit code 1.

    An interrupt is one line and exit code 130, an error of the library itself a request to report
    it and exit code 70. ``writes`` is the file that the command writes.
    """
    before = state_of(writes)
    try:
        yield
        interrupts.check()
        sys.stdout.flush()
    except BaseException as error:
        if interrupts.seen() or isinstance(error, KeyboardInterrupt):
            error_console.print(interrupted(writes, before), markup=False, soft_wrap=True)
            raise typer.Exit(interrupts.INTERRUPTED) from None
        if isinstance(error, BrokenPipeError):  # the reader of the output has stopped
            abandon_output()
            raise typer.Exit(1) from None
        if not isinstance(error, Exception) or isinstance(error, EXITS):
            raise
        if not bugs.is_users(error):
            bugs.report(error, error_console)
            raise typer.Exit(bugs.INTERNAL) from None
        bugs.print_traceback(error)
        message = sentence(error, writes)
        error_console.print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
        if isinstance(error, OSError) and str(writes) == "-":
            abandon_output()
        raise typer.Exit(1) from None


def valid(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A callback of an option that refuses, with the usage, what the library would refuse."""

    def callback(value: Any) -> Any:
        try:
            check(value)
        except ValueError as error:
            raise typer.BadParameter(getattr(error, "problem", str(error))) from error
        return value

    return callback


def say(line: str) -> None:
    """Print a line to standard error, unless it is to be quiet."""
    remark_console.print(line, markup=False, soft_wrap=True)


def note(message: str) -> None:
    """Print a remark to standard error, so that it does not get into a pipe."""
    remark_console.print(Text.assemble(("Note: ", "bold yellow"), message), soft_wrap=True)


def print_written(path: str | os.PathLike[str]) -> None:
    """Say which file was written."""
    n_bytes = size(os.stat(path).st_size)
    console.print(f"Wrote [bold]{escape(str(path))}[/bold], {n_bytes}.", soft_wrap=True)


def progress_bars(*columns: ProgressColumn) -> Progress:
    """Progress on standard error, if that is a terminal."""
    is_hidden = not error_console.is_terminal or remark_console.quiet
    return Progress(*columns, console=error_console, transient=True, disable=is_hidden)


def abandon_output() -> None:
    """Write no more to standard output, not even what is buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: BaseException, writes: str | os.PathLike[str] | None) -> str:
    """The message of an error, with the option instead of the argument."""
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
    """Inode, time and size of a file, which change when it is written."""
    try:
        found = os.stat(path or "-")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def interrupted(writes: str | os.PathLike[str] | None, before: tuple[int, ...] | None) -> str:
    """The line after an interrupt: what was written."""
    if writes is None:
        return "Interrupted."
    if str(writes) == "-":
        return "Interrupted; the output is incomplete."
    if state_of(writes) == before:
        return "Interrupted; nothing was written."
    return f"Interrupted; {shown(writes, 200)} was written."


def print_text(text: str) -> None:
    """The contents of a file on standard output, as UTF-8 and as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    """JSON for programs, never wrapped or coloured."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def arrow() -> str:
    """An arrow that the terminal can show."""
    return "->" if console.options.ascii_only else "→"


def size(n_bytes: int) -> str:
    """A number of bytes with a unit."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def load_model(path: Path) -> Any:
    """The model of a file."""
    from sdgm.persistence import load

    return load(path)


def load_table_model(path: Path) -> Any:
    """The model of a file, refused if it does not read tables."""
    model = load_model(path)
    from sdgm.tables.model import TableModel

    if not isinstance(model, TableModel):
        raise ValueError(
            f"{shown(path, 200)} holds a {type(model).__name__} that was not fitted to a table; "
            "use a model file written by sdgm fit."
        )
    return model
