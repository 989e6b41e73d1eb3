"""``sdgm report``: the model and its training as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sdgm.cli.console import (
    Force,
    ModelFile,
    Quiet,
    friendly_errors,
    load_model,
    load_table_model,
    print_text,
    print_written,
)
from sdgm.tables.paths import check_exists, check_output, refuse_existing


def report(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="HTML file to write; - for stdout."),
    ] = Path("report.html"),
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Labelled table to evaluate the model on."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Write a report on the model and its fit as a single HTML file."""
    with friendly_errors(writes=output):
        check_exists(data)
        if str(output) != "-":
            check_output(output, (".html", ".htm"), model, data)
            if not force:
                refuse_existing(output)
        loaded = load_model(model) if data is None else load_table_model(model)
        from sdgm.report import report_html, write_report

        if str(output) == "-":
            print_text(report_html(loaded, data=data, title=title))
        else:
            print_written(write_report(loaded, output, data=data, title=title))
