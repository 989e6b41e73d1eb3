"""Tables from files, standard input or frames, whole or in chunks."""

from __future__ import annotations

import gzip
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sdgm.tables.delimited import DelimitedText
from sdgm.tables.errors import TableError, listed, package, polars, quoted, reading_remarks
from sdgm.tables.files import CHUNK_ROWS, FilePart
from sdgm.tables.paths import refuse_url
from sdgm.tables.values import as_numbers

SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".npz")
SEVERAL_TYPES = (
    "Column {} holds values of several types; convert them all to numbers or all to text."
)
SAME_NAME = "The data frame has several columns with the same name; rename all but one."


class Frame:
    """A polars frame."""

    def __init__(self, frame: Any, name: str = "the frame") -> None:
        self.frame, self.name = frame, name
        self.columns = tuple(frame.columns)

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[Any]:
        """Polars frames of some columns, in their own types."""
        return self.frame[list(columns)].iter_slices(CHUNK_ROWS)


class Parquet:
    """A Parquet file, of which only chunks are in memory."""

    def __init__(self, path: Path) -> None:
        self.part, self.name = FilePart.opened(path), path.name
        self.columns = tuple(self.part.schema)

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[Any]:
        """Polars frames of some columns, in their own types."""
        n_rows = self.part.n_rows
        for start in range(0, n_rows, CHUNK_ROWS):
            yield self.part.read(columns, start, min(start + CHUNK_ROWS, n_rows))


Table = Frame | Parquet | DelimitedText


@contextmanager
def open_table(source: Any) -> Iterator[Table]:
    """A table to read from: a path, "-" for CSV on standard input, or a frame."""
    if not isinstance(source, str | Path):
        yield Frame(polars_frame(source))
    elif str(source) == "-":
        yield DelimitedText(sys.stdin.buffer, "standard input")
    else:
        refuse_url(source)
        path = Path(source)
        suffix = known_suffix(path, SUFFIXES)
        if suffix is None:
            raise TableError(
                f"{str(path)!r} ends in none of {', '.join(SUFFIXES)}; save the table as one of "
                "these."
            )
        if path.is_dir():
            raise TableError(f"{str(path)!r} is a folder; give a file name.")
        with path.open("rb") as stream:  # an error of the system names the file
            if suffix == ".parquet":
                yield Parquet(path)
            elif suffix == ".npz":
                yield Frame(polars().DataFrame(array_columns(stream, path.name)), path.name)
            else:
                separator = "\t" if suffix.startswith(".tsv") else None
                try:
                    text: Any = gzip.GzipFile(fileobj=stream) if suffix.endswith(".gz") else stream
                    yield DelimitedText(text, path.name, separator)
                except (gzip.BadGzipFile, EOFError):
                    raise TableError(f"{path.name} is not a gzip file, or is damaged.") from None


def polars_frame(source: Any) -> Any:
    """A frame of pandas, pyarrow, polars or another library that narwhals reads, as polars."""
    pl, nw = polars(), package("narwhals")
    if isinstance(source, np.ndarray | Mapping):
        return pl.DataFrame(columns_of(source))
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise TypeError(
            "A table is a path, a pandas, pyarrow or polars frame, an array of rows or a dict of "
            f"columns, not {type(source).__name__}."
        ) from None
    except nw.exceptions.DuplicateError:
        raise TableError(SAME_NAME) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if frame.implementation.is_polars():
        return frame.to_native()
    columns: dict[str, Any] = {}
    for name in frame.columns:  # pandas takes other names than texts
        try:
            column = polars_series(frame.get_column(name))
            if frame.schema[name] == nw.Categorical and column.dtype.is_numeric():
                column = column.cast(pl.String).cast(pl.Categorical)  # of numbers, in pandas
            columns[str(name)] = column
        except (ValueError, TypeError, pl.exceptions.PolarsError):
            raise TableError(SEVERAL_TYPES.format(quoted(name))) from None
    if len(columns) < len(frame.columns):
        raise TableError(SAME_NAME)
    return pl.DataFrame(columns)


def columns_of(source: np.ndarray[Any, Any] | Mapping[Any, Any]) -> dict[str, Any]:
    """The columns of an array of rows, which are x1, x2 and so on, or of a mapping."""
    if isinstance(source, Mapping):
        columns = dict(source)
    elif source.dtype.names is not None:
        columns = {name: source[name] for name in source.dtype.names}
    elif source.ndim == 2:
        columns = {f"x{i + 1}": column for i, column in enumerate(source.T)}
    else:
        raise TableError(f"An array of rows has two dimensions, not {source.ndim}.")
    return {str(name): column_series(name, values) for name, values in columns.items()}


def column_series(name: Any, values: Any) -> Any:
    """A column of any kind as polars; NaN among objects is missing."""
    pl, nw = polars(), package("narwhals")
    try:
        if isinstance(values, np.ndarray) and values.dtype == object:
            values = [None if value != value else value for value in values.tolist()]
        elif nw.dependencies.is_into_series(values) and not isinstance(values, np.ndarray):
            return polars_series(nw.from_native(values, series_only=True))
        return pl.Series(values.tolist() if isinstance(values, np.ndarray) else list(values))
    except (ValueError, TypeError, pl.exceptions.PolarsError):
        raise TableError(SEVERAL_TYPES.format(quoted(name))) from None


def polars_series(column: Any) -> Any:
    """A narwhals column as polars."""
    try:
        return column.to_polars()
    except ImportError:  # texts of pandas, without pyarrow
        rows = zip(column.to_list(), column.is_null().to_list(), strict=True)
        return polars().Series([None if is_missing else value for value, is_missing in rows])


def known_suffix(path: str | Path, suffixes: Sequence[str]) -> str | None:
    """The longest of the suffixes that a file name ends in."""
    name = Path(path).name.lower()
    return max((each for each in suffixes if name.endswith(each)), key=len, default=None)


def array_columns(stream: Any, name: str) -> dict[str, Any]:
    """The columns of an .npz file: X and y, or one array per column."""
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
    except TableError:
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        raise TableError(f"{name} is not an .npz file of plain arrays, or is damaged.") from None
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise TableError(
            f"Arrays of {name} have {listed(sorted(lengths))} rows; all need the same number."
        )
    return columns


class Whole(NamedTuple):
    """A table in memory."""

    frame: Any  # of polars
    name: str
    short_rows: int = 0  # rows of a text file that end before the last column
    encoding: str = "UTF-8"  # of a text file

    @property
    def remarks(self) -> list[str]:
        """What the user should know of how the table was read."""
        return reading_remarks(self.name, self.encoding, self.short_rows)


def whole_table(source: Any, keep: Collection[str] = ()) -> Whole:
    """A whole table as a polars frame; text files have columns of text.

    Where columns are separated by other than commas, columns of numbers with decimal commas get
    points, except those to keep.
    """
    pl = polars()
    with open_table(source) as table:
        chunks = list(table.chunks(table.columns))
        empty = pl.DataFrame(schema=dict.fromkeys(table.columns, pl.String))
        frame = pl.concat(chunks) if chunks else empty
        if isinstance(table, DelimitedText):
            columns = [frame.get_column(name) for name in table.columns if name not in keep]
            frame = frame.with_columns(with_points_if_numbers(table, each) for each in columns)
            return Whole(frame, table.name, table.short_rows, table.encoding)
        return Whole(frame, table.name)


def with_points_if_numbers(table: DelimitedText, texts: Any) -> Any:
    """The column with decimal points, if all that differ are numbers with decimal commas."""
    changed = table.with_points(texts)
    return texts if changed is texts or as_numbers(changed)[1].any() else changed
