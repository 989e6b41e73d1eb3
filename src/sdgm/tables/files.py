"""Parquet and Arrow files: found, described and read in part."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdgm.tables.errors import TableError, polars, quoted

# rows that are read at once at most: a part of a row group takes nearly as long as the whole
CHUNK_ROWS = 1 << 17
PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")


def paths_of(source: Any) -> list[Path]:
    """The files of a path, a folder or a list, at least one."""
    if not isinstance(source, str | os.PathLike):
        paths = [Path(each) for each in source]
        if not paths:
            raise TableError("The list of files is empty; give at least one.")
        return paths
    path = Path(source)
    if not path.is_dir():
        return [path]
    paths = sorted(
        each
        for each in path.iterdir()
        if each.suffix.lower() in PARQUET + ARROW and not each.name.startswith((".", "_"))
    )
    if not paths:
        raise TableError(
            f"The folder {str(path)!r} has no files that end in {', '.join(PARQUET + ARROW)}."
        )
    return paths


@dataclass(frozen=True)
class FilePart:
    """One file of a table."""

    path: Path
    schema: dict[str, Any]  # from column to polars type
    n_rows: int

    @classmethod
    def opened(cls, path: Path) -> FilePart:
        """The file, of which only the metadata is read."""
        pl = polars()
        suffix = path.suffix.lower()
        if suffix == ".npy":
            raise TableError(
                f"{str(path)!r} can be passed to fit without a reader: "
                "np.load(path, mmap_mode='r') reads its rows when they are needed."
            )
        if suffix not in PARQUET + ARROW:
            raise TableError(
                f"{str(path)!r} ends in none of {', '.join(PARQUET + ARROW)}; save the table as "
                "one of these, text with polars.scan_csv(path).sink_parquet(new_path)."
            )
        with path.open("rb"):  # an error of the system names the file
            pass
        try:
            scan = scanned(path)
            n_rows = scan.select(pl.len()).collect().item()
            return cls(path, dict(scan.collect_schema()), n_rows)
        except (pl.exceptions.PolarsError, OSError):
            kind = "a Parquet" if suffix in PARQUET else "an Arrow IPC"
            raise TableError(f"{path.name} is not {kind} file, or is damaged.") from None

    def read(self, columns: Sequence[str], start: int, stop: int) -> Any:
        """Some of the rows, as a polars frame."""
        pl = polars()
        try:
            wanted = scanned(self.path).select(pl.selectors.by_name(*columns))
            frame = wanted.slice(start, stop - start).collect()
        except (pl.exceptions.PolarsError, OSError):
            frame = None
        if frame is None or len(frame) != stop - start:
            raise TableError(
                f"{self.path.name} cannot be read from row {start} to row {stop}: it is damaged, "
                "or was changed or removed after it was opened."
            )
        return frame[list(columns)]

    def type_of(self, column: str) -> Any:
        """The polars type of a column."""
        if column not in self.schema:
            raise TableError(
                f"{self.path.name} has no column {quoted(column)}; all files need the same columns."
            )
        return self.schema[column]


def scanned(path: Path) -> Any:
    """The file as a lazy frame."""
    scan = polars().scan_parquet if path.suffix.lower() in PARQUET else polars().scan_ipc
    return scan(path, glob=False)
