"""``python -m reproduction data``: which sets are found, and where to get the others."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reproduction.datasets import Entry, catalog, verify
from sdgm.cli.console import console, friendly_errors
from sdgm.datasets import DamagedDataError, data_folder

WIDE = 100  # columns that the table needs to show the titles as well


class Status(StrEnum):
    """What is known of a set's files."""

    FOUND = "found"
    VERIFIED = "verified"
    DAMAGED = "damaged"
    MISSING = "missing"
    NO_FILE = "none needed"


COLOURS = {
    Status.FOUND: "green",
    Status.VERIFIED: "green",
    Status.DAMAGED: "bold red",
    Status.MISSING: "yellow",
    Status.NO_FILE: "dim",
}


def data(
    check: Annotated[bool, typer.Option("--verify", help="Verify checksums.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the data sets: what is found, what is missing, what can be made without a file.

    With --verify, the exit code is 1 when a file is damaged.
    """
    entries = catalog()
    with friendly_errors():
        statuses = {entry.name: status(entry, check=check) for entry in entries}
    if as_json:
        typer.echo(as_text(entries, statuses))
    else:
        show(entries, statuses)
    if Status.DAMAGED in statuses.values():
        raise typer.Exit(1)


def status(entry: Entry, *, check: bool) -> Status:
    """What is known of the files of a set, after checking them if wanted."""
    if not entry.files:
        return Status.NO_FILE
    if not entry.found:
        return Status.MISSING
    if not check:
        return Status.FOUND
    try:
        verify(entry)
    except DamagedDataError:
        return Status.DAMAGED
    return Status.VERIFIED


def as_text(entries: list[Entry], statuses: dict[str, Status]) -> str:
    """The catalogue as JSON."""
    sets = [asdict(entry) | {"status": statuses[entry.name]} for entry in entries]
    return json.dumps({"folder": str(data_folder()), "sets": sets}, indent=2)


def show(entries: list[Entry], statuses: dict[str, Status]) -> None:
    """The table, and below it what to do about missing and damaged files."""
    console.print(f"Data folder: [bold]{escape(str(data_folder()))}[/bold]\n", soft_wrap=True)
    console.print(sets_table(entries, statuses))
    console.print(
        "A generator makes rows without a file: reproduction.datasets.make_...\n", style="dim"
    )
    damaged = [entry for entry in entries if statuses[entry.name] == Status.DAMAGED]
    missing = [entry for entry in entries if statuses[entry.name] == Status.MISSING]
    if damaged:
        console.print("[bold]Damaged or another version: delete and download again[/bold]")
        show_remedies(damaged)
    if missing:
        console.print("[bold]Missing[/bold]")
        show_remedies(missing)
    if damaged or missing:
        console.print(
            "Folders are relative to the data folder, which SDGM_DATA can set.",
            style="dim",
        )


def sets_table(entries: list[Entry], statuses: dict[str, Status]) -> Table:
    """One line per set."""
    wide = console.width >= WIDE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("set", no_wrap=True)
    if wide:
        table.add_column("what it is")
    for name in "rows", "inputs", "classes", "splits":
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("files", no_wrap=True)
    table.add_column("generator", no_wrap=True)
    for entry in entries:
        found = statuses[entry.name]
        numbers = entry.rows, entry.inputs, entry.classes, entry.n_splits
        table.add_row(
            entry.name,
            *([entry.title] if wide else []),
            *map(str, numbers),
            Text(found, style=COLOURS[found]),
            entry.generator or "-",
        )
    return table


def show_remedies(entries: list[Entry]) -> None:
    """What to get, from where, and where to put it; sets with the same source go together."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.where_to_get, []).append(entry)
    for where_to_get, group in groups.items():
        names = ", ".join(entry.name for entry in group)
        folders = ", ".join(f"{entry.put_in}/" for entry in group)
        console.print(Padding(Text(names), (0, 0, 0, 2)))
        remedy = f"Get {where_to_get.rstrip(',')}; put into {folders}"
        console.print(Padding(Text(remedy, style="dim"), (0, 0, 0, 4)))
    console.print()
