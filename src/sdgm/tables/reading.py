"""Tables from files, standard input or frames, whole or in chunks."""

from __future__ import annotations

import gzip
import sys
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from sdgm.tables.delimited import DelimitedText
from sdgm.tables.errors import TableError, listed, polars
from sdgm.tables.values import as_numbers

SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".npz")
# rows of a chunk of a table that is no text
CHUNK_ROWS = 1 << 17


class Table(Protocol):
    """Something with named columns that hands out rows in order, once."""

    name: str
    columns: tuple[str, ...]

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[Any]:
        """Polars frames of these columns; `numbers` may come as texts, to be looked at."""
        ...


class Frame:
    """A polars frame."""

    def __init__(self, frame: Any, name: str = "the frame") -> None:
        self.frame, self.name = frame, name
        self.columns = tuple(frame.columns)

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[Any]:
        frame = polars().DataFrame([self.frame.get_column(name) for name in columns])
        yield from frame.iter_slices(CHUNK_ROWS)


class Parquet:
    """A Parquet file, of which only chunks are in memory."""

    def __init__(self, path: Path) -> None:
        pl = polars()
        self.path, self.name = path, path.name
        try:
            self.scan = pl.scan_parquet(path, glob=False)
            self.columns = tuple(self.scan.collect_schema().names())
        except pl.exceptions.PolarsError:
            raise TableError(f"{self.name} is no Parquet file, or is damaged.") from None

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[Any]:
        pl = polars()
        first = 0
        wanted = self.scan.select(pl.selectors.by_name(*columns))
        while True:
            try:
                frame = wanted.slice(first, CHUNK_ROWS).collect()
            except pl.exceptions.PolarsError:
                raise TableError(
                    f"{self.name} cannot be read after row {first}: it is damaged."
                ) from None
            if len(frame):
                yield pl.DataFrame([frame.get_column(name) for name in columns])
            if len(frame) < CHUNK_ROWS:
                return
            first += CHUNK_ROWS


@contextmanager
def opened(source: Any) -> Iterator[Table]:
    """A table to read from: a path, "-" for CSV on standard input, or a polars frame."""
    pl = polars()
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        yield Frame(source.lazy().collect())
    elif str(source) == "-":
        yield DelimitedText(sys.stdin.buffer, "standard input")
    elif not isinstance(source, str | Path):
        raise TypeError(f"A table is a path or a polars frame, not {type(source).__name__}.")
    else:
        path = Path(source)
        suffix = known_suffix(path)
        if path.is_dir():
            raise TableError(f"{str(path)!r} is a folder; name a file.")
        with path.open("rb") as stream:  # an error of the system names the file
            if suffix == ".parquet":
                yield Parquet(path)
            elif suffix == ".npz":
                yield from_arrays(stream, path.name)
            else:
                separator = "\t" if suffix.startswith(".tsv") else None
                try:
                    text: Any = gzip.GzipFile(fileobj=stream) if suffix.endswith(".gz") else stream
                    yield DelimitedText(text, path.name, separator)
                except (gzip.BadGzipFile, EOFError):
                    raise TableError(f"{path.name} is no gzip file, or is damaged.") from None


def known_suffix(path: Path) -> str:
    """The suffix of a file that can be read."""
    name = path.name.lower()
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    raise TableError(
        f"{str(path)!r} ends in none of {', '.join(SUFFIXES)}; save the table as one of these."
    )


def from_arrays(stream: Any, name: str) -> Frame:
    """The table of an .npz file: X and y, or one array per column."""
    pl = polars()
    columns: dict[str, Any] = {}
    try:
        with np.load(stream, allow_pickle=False) as arrays:
            for key in arrays.files:
                array = arrays[key]
                if array.ndim == 1:
                    columns[key] = array
                elif array.ndim == 2:
                    columns |= {f"{key}{i + 1}": column for i, column in enumerate(array.T)}
                else:
                    raise TableError(f"Array {key!r} of {name} has {array.ndim} dimensions, not 1.")
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{name} is no .npz file of plain arrays, or is damaged.") from None
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise TableError(f"Arrays of {name} have {listed(sorted(lengths))} rows; all need as many.")
    return Frame(pl.DataFrame(columns), name)


class Whole(NamedTuple):
    """A table in memory.

    Attributes
    ----------
    frame : polars.DataFrame
    name : str
    short_rows : int
        Rows of a text file that end before the last column.
    """

    frame: Any
    name: str
    short_rows: int


def read_table(source: Any, keep: Collection[str] = ()) -> tuple[Any, str]:
    """A whole table as a polars frame, and its name; see `whole_table`."""
    return whole_table(source, keep)[:2]


def whole_table(source: Any, keep: Collection[str] = ()) -> Whole:
    """A whole table as a polars frame; text files have columns of text.

    Where columns are separated by other than commas, columns of numbers with decimal commas get
    points, except those to keep.
    """
    pl = polars()
    with opened(source) as table:
        chunks = list(table.chunks(table.columns))
        empty = pl.DataFrame(schema=dict.fromkeys(table.columns, pl.String))
        frame = pl.concat(chunks) if chunks else empty
        if isinstance(table, DelimitedText):
            columns = [frame.get_column(name) for name in table.columns if name not in keep]
            frame = frame.with_columns(with_points_if_numbers(table, each) for each in columns)
        return Whole(frame, table.name, getattr(table, "short_rows", 0))


def with_points_if_numbers(table: DelimitedText, texts: Any) -> Any:
    """The column with decimal points, if all that differ are numbers with decimal commas."""
    mended = table.with_points(texts)
    return texts if mended is texts or as_numbers(mended)[1].any() else mended
