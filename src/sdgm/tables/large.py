"""Tables on disk that are larger than memory, read some rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from threading import Lock
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.tables.errors import TableError, did_you_mean, listed, polars, quoted
from sdgm.tables.files import CHUNK_ROWS, FilePart, paths_of
from sdgm.tables.values import nameless

# numbers that are read at once at most, 32 MB
CHUNK_NUMBERS = 1 << 22
# numbers that stay in memory, 256 MB: the first chunks, as every pass reads the rows in order
PINNED_NUMBERS = 1 << 25
# fewer rows than this are read by themselves
READ_ALONE = 1 << 12
LEAVE_OUT = "(the first is row 0); leave out such rows or fill them in, and write the file again."


def open_rows(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[FileRows, np.ndarray[Any, Any] | None]:
    """Open Parquet or Arrow files as rows for `fit`, which reads them when needed.

    Only blocks of rows and the labels are held in memory. For ``.npy`` files, pass
    ``np.load(path, mmap_mode="r")`` to `fit`.

    Parameters
    ----------
    source : path or sequence of paths
        Parquet files (``.parquet``, ``.pq``), Arrow IPC files (``.arrow``, ``.feather``, ``.ipc``),
        or a folder of such files, sorted by name.
    target : str, optional
        Column of labels.
    columns : sequence of str, optional
        Columns to use as features, in this order; by default all except the target. They must be
        numeric or boolean, without missing values.

    Returns
    -------
    X : FileRows
    y : array of shape (n_rows,), or None without a target

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl
    >>> from sdgm import SDGMClassifier
    >>> a, b = np.random.default_rng(0).normal(size=(2, 300))
    >>> with TemporaryDirectory() as folder:
    ...     for name in "part-0.parquet", "part-1.parquet":
    ...         pl.DataFrame({"a": a, "b": b, "kind": a > 0}).write_parquet(Path(folder, name))
    ...     X, y = open_rows(folder, target="kind")
    ...     model = SDGMClassifier(1, random_state=0).fit(X, y)
    >>> X.shape, X.columns, y.shape
    ((600, 2), ['a', 'b'], (600,))
    """
    parts = [FilePart.opened(path) for path in paths_of(source)]
    names = list(parts[0].schema)
    if isinstance(columns, str):
        raise TableError(
            f"columns must be a list of names, got {quoted(columns)}; put it in a list."
        )
    chosen = [name for name in names if name != target] if columns is None else list(columns)
    for name in (*chosen, *([] if target is None else [target])):
        check_known(name, names)
    if not chosen or target in chosen or len(set(chosen)) < len(chosen):
        raise TableError(
            f"columns must name one or more columns, each once and the target not among them, got "
            f"{listed(chosen) or 'none'}."
        )
    X = FileRows(parts, chosen)
    return X, None if target is None else X.values(target)


def check_known(name: str, names: Sequence[str]) -> None:
    """Refuse a name that no column has."""
    if name not in names:
        raise TableError(f"There is no column {quoted(name)}; {did_you_mean(name, names)}")


class FileRows:
    """Numeric columns of concatenated files, read in chunks.

    Made by `open_rows`, with attributes ``shape`` and ``columns``. It is thread-safe. A chunk has
    about a hundred thousand rows. The last two chunks are cached, so that sequential reading
    decodes the files once. The first 256 MB stay in memory, so that smaller tables are decoded only
    once.
    """

    def __init__(self, parts: Sequence[FilePart], columns: Sequence[str]) -> None:
        self.parts, self.columns = list(parts), list(columns)
        for part in self.parts:
            check_numeric(part, self.columns)
        self.starts = [0, *accumulate(part.n_rows for part in self.parts)]
        self.shape = (self.starts[-1], len(self.columns))
        if not self.shape[0]:
            raise TableError(f"{self.parts[0].path.name} has no rows.")
        most = max(CHUNK_NUMBERS // len(self.columns), 1)
        self.chunk_rows = min(CHUNK_ROWS, 1 << (most.bit_length() - 1))
        self.n_pinned = PINNED_NUMBERS // (self.chunk_rows * len(self.columns))
        self._kept: dict[int, FloatArray] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        files = f"{len(self.parts)} files" if len(self.parts) > 1 else self.parts[0].path.name
        return f"<FileRows: {self.shape[0]} rows and {self.shape[1]} columns of {files}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return FileRows, (self.parts, self.columns)  # another process has its own cache and lock

    def read(self, start: int, stop: int) -> FloatArray:
        """Rows from ``start`` up to ``stop``, all values finite: (stop - start, n_columns)."""
        start, stop, _ = slice(start, stop).indices(self.shape[0])
        size = self.chunk_rows
        if not READ_ALONE <= stop - start <= size // 2:  # little would be read once more
            return self._numbers(start, max(start, stop))
        X = np.empty((stop - start, self.shape[1]), order="F")
        for i in range(start // size, -(-stop // size)):
            first, last = max(start, i * size), min(stop, (i + 1) * size)
            X[first - start : last - start] = self._chunk(i)[first - i * size : last - i * size]
        return X

    def _chunk(self, i: int) -> FloatArray:
        """Chunk i, from those that are kept or from the files."""
        with self._lock:
            if i not in self._kept:
                for old in [each for each in self._kept if each >= self.n_pinned][:-1]:
                    del self._kept[old]
                start = i * self.chunk_rows
                self._kept[i] = self._numbers(start, min(start + self.chunk_rows, self.shape[0]))
            return self._kept[i]

    def _numbers(self, start: int, stop: int) -> FloatArray:
        """Rows straight from the files."""
        Float64 = polars().Float64
        X = np.empty((stop - start, self.shape[1]), order="F")
        for first, frame in self._frames(self.columns, start, stop):
            for d, values in enumerate(frame.iter_columns()):
                X[first - start : first - start + len(frame), d] = values.cast(Float64).to_numpy()
        if not np.isfinite(X).all():
            n, d = np.argwhere(~np.isfinite(X))[0]
            problem = "is missing" if np.isnan(X[n, d]) else f"is {X[n, d]}"
            raise TableError(
                f"The value in row {start + n} of column {quoted(self.columns[d])} {problem} "
                f"{LEAVE_OUT}"
            )
        return X

    def _frames(self, columns: Sequence[str], start: int, stop: int) -> Iterator[tuple[int, Any]]:
        """Polars frames of rows, one per file, each with the number of its first row."""
        for part, (first, end) in zip(self.parts, pairwise(self.starts), strict=True):
            a, b = max(start, first), min(stop, end)
            if b > a:
                yield a, part.read(columns, a - first, b - first)

    def frames(self, n_rows: int = CHUNK_ROWS) -> Iterator[Any]:
        """All rows in order, as polars frames of at most ``n_rows``, such as for prediction."""
        pl = polars()
        for start in range(0, self.shape[0], n_rows):
            parts = self._frames(self.columns, start, start + n_rows)
            yield pl.concat([frame for _, frame in parts])

    def values(self, column: str) -> np.ndarray[Any, Any]:
        """Any column of the files in memory, such as labels or sample weights: (n_rows,)."""
        check_known(column, list(self.parts[0].schema))
        check_labels(self.parts, column)
        chunks = []
        for start in range(0, self.shape[0], CHUNK_ROWS):
            for first, frame in self._frames([column], start, start + CHUNK_ROWS):
                series = nameless(frame.get_column(column))
                if series.null_count():
                    raise TableError(
                        f"The value in row {first + series.is_null().arg_max()} of column "
                        f"{quoted(column)} is missing {LEAVE_OUT}"
                    )
                chunks.append(plain(series))
        return np.concatenate(chunks)


def plain(series: Any) -> np.ndarray[Any, Any]:
    """Labels as a numpy array of numbers, booleans or text."""
    pl, kind = polars(), series.dtype
    if kind.is_decimal():
        return series.cast(pl.Float64).to_numpy()
    if kind.is_numeric() or kind == pl.Boolean:
        return series.to_numpy()
    return series.cast(pl.String).to_numpy().astype(str)


def check_labels(parts: Sequence[FilePart], column: str) -> None:
    """Refuse labels of different types, or of a type that is no label."""
    pl = polars()
    first = parts[0].schema[column]
    for part in parts:
        kind = part.type_of(column)
        if kind.is_nested() or kind.is_temporal() or kind in (pl.Null, pl.Binary, pl.Object):
            raise TableError(
                f"Column {quoted(column)} of {part.path.name} holds {kind}, which cannot be a "
                "label; use numbers, text, or true and false."
            )
        if kind.is_numeric() != first.is_numeric() or (kind == pl.Boolean) != (first == pl.Boolean):
            raise TableError(
                f"Column {quoted(column)} holds {first} in {parts[0].path.name} and {kind} in "
                f"{part.path.name}; use one type for all."
            )


def check_numeric(part: FilePart, columns: Sequence[str]) -> None:
    """Refuse a file whose columns are not numbers."""
    for name in columns:
        kind = part.type_of(name)
        if not (kind.is_numeric() or kind == polars().Boolean):
            raise TableError(
                f"Column {quoted(name)} of {part.path.name} holds {kind}, not numbers; choose "
                "others with columns=, or write it as numbers."
            )
