"""Progress bars of the experiments on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress
from rich.markup import escape

from reproduction.cells import Key, Progress
from sdgm.cli.console import error_console


@contextmanager
def progress_bars() -> Iterator[Callable[[str], Progress]]:
    """Bars on the terminal, one per part, for as long as the block runs."""
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("[dim]{task.fields[last]}[/dim]"),
    )
    with progress.Progress(*columns, console=error_console) as bars:

        def bar(part: str) -> Progress:
            task = bars.add_task(part, total=None, last="")

            def tell(done: int, total: int, key: Key | None) -> None:
                last = "" if key is None else " ".join(str(value) for value in key.values())
                bars.update(task, completed=done, total=total, last=escape(last))

            return tell

        yield bar
