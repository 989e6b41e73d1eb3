"""``sdgm report``: the training story as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sdgm.cli.console import console, friendly_errors, size
from sdgm.cli.models import load_model, load_table_model
from sdgm.cli.predict import ModelFile


def report(
    model: ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")
    ] = Path("report.html"),
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Table with labels to test on instead."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Instead of one of our own.")] = None,
) -> None:
    """Write what was learned, and how, as one HTML file that needs no network."""
    with friendly_errors(writes=output):
        from sdgm.report import write_report
        from sdgm.tables.writing import check_output

        check_output(output, (".html", ".htm"), model, data)
        if data is None:
            path = write_report(load_model(model), output, title=title)
        else:
            from sdgm.tables.evaluation import evaluate_table

            loaded = load_table_model(model)
            held_out = evaluate_table(loaded, data).as_dict()
            path = write_report(loaded, output, held_out=held_out, title=title)
        n_bytes = size(Path(path).stat().st_size)
        console.print(f"Wrote [bold]{escape(str(path))}[/bold], {n_bytes}.", soft_wrap=True)
