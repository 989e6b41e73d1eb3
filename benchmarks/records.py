"""Runs on disk: a header, then one record per line, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

Record = dict[str, Any]

MEGABYTE = 1e6


@dataclass(frozen=True)
class Run:
    """A run read back.

    Attributes
    ----------
    header : dict
        As from `machine.header`.
    records : list of dict
    """

    header: Record
    records: list[Record]

    def threads(self) -> list[int]:
        """The thread counts measured, in order."""
        return sorted({record["threads"] for record in self.records})

    def select(self, **values: Any) -> list[Record]:
        """The records with these values."""
        return [r for r in self.records if all(r.get(key) == v for key, v in values.items())]

    def find(self, **values: Any) -> Record | None:
        """The one record with these values, if it was measured."""
        return next(iter(self.select(**values)), None)

    def megabytes(self, record: Record) -> float:
        """Peak memory above that of a bare import with as many threads."""
        bare = self.find(series="import", threads=record["threads"])
        assert bare is not None
        return max(record["peak_bytes"] - bare["peak_bytes"], 0) / MEGABYTE


def median_seconds(record: Record) -> float:
    """The time that stands for a record."""
    return median(record["seconds"])


def path_of(output: Path, name: str) -> Path:
    """The file of a run below the folder of the page."""
    return output / "results" / f"benchmark-{name}.jsonl"


def write(path: Path, header: Record, records: Iterable[Record]) -> None:
    """Each record as it comes, so that a run cut short leaves what it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        print(json.dumps(header), file=file, flush=True)
        for record in records:
            print(json.dumps(record), file=file, flush=True)
            print(progress_line(record), flush=True)


def read(path: Path) -> Run | None:
    """The run in a file, None when there is none."""
    if not path.is_file():
        return None
    header, *records = (json.loads(line) for line in path.read_text().splitlines())
    return Run(header, records)


def progress_line(record: Record) -> str:
    """A record in short, for whoever waits."""
    what = ", ".join(
        f"{value}" if isinstance(value, str) else f"{key} {value}"
        for key, value in record.items()
        if key in ("threads", "problem", "model", "call", "series", "form", "N", "D", "M", "status")
    )
    return f"{what}: {median_seconds(record):.4f} s" if "seconds" in record else what
