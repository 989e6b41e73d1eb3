"""Records on disk, one cell per line as JSON, and what pages ask of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

Cell = dict[str, Any]
Record = dict[str, Any]

DONE, FAILED, TIMEOUT = "done", "failed", "timeout"
MEGABYTE, GIGABYTE = 1e6, 1e9


def path_of(output: Path, name: str) -> Path:
    """The file of a benchmark below the folder of the pages."""
    return output / "results" / f"benchmark-{name}.jsonl"


def append(path: Path, record: Record) -> None:
    """One more line, on its own even where the last one was cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_cut = path.is_file() and not path.read_bytes().endswith(b"\n")
    with path.open("a") as file:
        print("\n" * is_cut + json.dumps(record), file=file)


def read(path: Path) -> list[Record]:
    """The last record of every cell; a line that was cut off is left out."""
    records: dict[str, Record] = {}
    for line in path.read_text().splitlines() if path.is_file() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        name = json.dumps(record["cell"], sort_keys=True)
        # in the order in which cells were first measured
        records[name] = record
    return list(records.values())


def results(output: Path, name: str) -> list[Record]:
    """All results of the cells that are done: fields of cell, result and run in one."""
    return [
        {**record["cell"], **result, "run": record["run"], "others": record["others"]}
        for record in read(path_of(output, name))
        if record["status"] == DONE
        for result in record["results"]
    ]


def failures(output: Path, name: str) -> list[Record]:
    """Cells that were tried and not measured, and how they ended."""
    return [record for record in read(path_of(output, name)) if record["status"] != DONE]


def select(records: Sequence[Record], **values: Any) -> list[Record]:
    """The records with these values."""
    return [r for r in records if all(r.get(key) == value for key, value in values.items())]


def find(records: Sequence[Record], **values: Any) -> Record | None:
    """The first of them, if there is one."""
    return next(iter(select(records, **values)), None)


def values_of(records: Sequence[Record], field: str) -> list[Any]:
    """Different values of a field, in order of appearance."""
    return list(dict.fromkeys(record[field] for record in records))


def median_seconds(record: Record) -> float:
    """The time that stands for a record with several rounds."""
    return median(record["seconds"])
