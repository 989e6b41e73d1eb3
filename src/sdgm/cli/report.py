"""``sdgm report``: the model and its training as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sdgm.cli.console import (
    ModelFile,
    friendly_errors,
    load_model,
    load_table_model,
    print_written,
)


def report(
    model: ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")
    ] = Path("report.html"),
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Table with labels to test on instead."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
) -> None:
    """Write the model and its training as one HTML file that needs no network."""
    with friendly_errors(writes=output):
        from sdgm.report import write_report
        from sdgm.tables.writing import check_output

        check_output(output, (".html", ".htm"), model, data)
        loaded = load_model(model) if data is None else load_table_model(model)
        print_written(write_report(loaded, output, data=data, title=title))
