"""``sdgm predict``: labels for the rows of a table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sdgm.cli import interrupts
from sdgm.cli.console import (
    DataFile,
    Force,
    ModelFile,
    Quiet,
    friendly_errors,
    load_table_model,
    note,
    progress_bars,
    say,
)
from sdgm.tables.errors import reading_remarks
from sdgm.tables.paths import check_exists, check_writable, refuse_existing, refuse_input
from sdgm.text import listed, shown


def predict(
    model: ModelFile,
    data: DataFile,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .csv, .tsv or .parquet; - for CSV.",
        ),
    ] = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
    std: Annotated[
        bool, typer.Option("--std", help="Add standard deviations of the probabilities.")
    ] = False,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Row ID to copy, if not the model's."),
    ] = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Predict the label of every row, in order and in constant memory.

    Columns are matched by name. The output has the ID column, predicted_TARGET,
    with --proba a column P(CLASS) for each class, and with --std a column std(CLASS).
    """
    with friendly_errors(writes=output):
        check_exists(data)
        refuse_input(output, model, data)
        if output != "-":
            check_writable(Path(output))
            if not force:
                refuse_existing(output)
        loaded = load_table_model(model)
        from sdgm.tables.prediction import predict_table

        with rows_shown(data) as progress:
            options: dict[str, Any] = {"proba": proba, "std": std, "id_column": id_column}
            done = predict_table(loaded, data, output, **options, progress=progress)
        if done.ignored:
            names = listed(map(shown, done.ignored), most=8)
            note(f"ignored columns that were not in the training table: {names}.")
        if done.lacks_id:
            note(
                f"the table has no column {shown(loaded.id_column)}; predictions are in the order "
                "of the rows."
            )
        for remark in reading_remarks(shown(data, 60), done.encoding, done.short_rows):
            note(remark)
        if output != "-":
            speed = done.rows / max(done.seconds, 1e-9)
            say(
                f"Wrote {shown(output, 200)}: {done.rows:,} rows in {done.seconds:.1f} s "
                f"({speed:,.0f} rows/s)."
            )


@contextmanager
def rows_shown(data: str) -> Iterator[Any]:
    """A bar of the share of the file that was read, and the rows so far."""
    total = os.path.getsize(data) if data != "-" and os.path.isfile(data) else None
    if data.lower().endswith((".gz", ".parquet", ".npz")):
        total = None  # the bytes read are not those of the file
    columns = (
        TextColumn("Predicting"),
        BarColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with progress_bars(*columns) as bars:
        task = bars.add_task("", total=total, rows=0)

        def tell(rows: int, n_bytes: int | None) -> None:
            interrupts.check()
            bars.update(task, completed=n_bytes or 0, rows=rows)

        yield tell
