"""Delimited text, block by block: a header, and whole rows of bytes in constant memory."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import IO, Any

from sdgm.tables.delimited_errors import fields_of, first_error, n_short_rows
from sdgm.tables.encodings import AsUtf8
from sdgm.tables.errors import TableError, listed, polars
from sdgm.tables.values import may_be_thousands, with_decimal_points

START, BLOCK = 1 << 16, 1 << 23  # bytes that are read first, and then at a time
MAX_ROW = 1 << 26  # bytes of a row or header
BINARY = (b"PK\x03\x04", b"PAR1")  # beginnings of spreadsheets and Parquet
IS_BINARY = "{} is a binary file, not text; save it as CSV."
SEPARATORS = ",;\t|"
LOOKED_AT = 5  # rows from which the separator is found


class DelimitedText:
    r"""A stream of CSV or the like, read once from start to end.

    Blank rows are skipped; rows with too few fields lack values and are counted. The separator is
    found from the first rows if not given.

    Examples
    --------
    >>> import io
    >>> table = DelimitedText(io.BytesIO(b"a;b\n1;x\n2;y\n"), "rows.csv")
    >>> table.columns, table.separator
    (('a', 'b'), ';')
    >>> [block.rows() for block in table.chunks(["a"], numbers=["a"])]
    [[(1.0,), (2.0,)]]
    """

    def __init__(self, stream: IO[bytes], name: str, separator: str | None = None) -> None:
        self.stream, self.name = AsUtf8(stream), name
        self.n_rows = 0  # handed out so far
        self.short_rows = 0  # of these, without all the columns that were asked for
        start = self.header_bytes()
        end = row_end(start) or len(start)
        self.rest = start[end:]
        self.header_line = start[:end].rstrip(b"\r\n")
        header = start[:end].decode()
        self.separator = separator or found_separator(header, self.rest)
        self.columns = self.checked_names(header)

    @property
    def bytes_read(self) -> int:
        return self.stream.bytes_read

    @property
    def encoding(self) -> str:
        """Of what was read so far."""
        return self.stream.encoding

    def read(self, size: int) -> bytes:
        try:
            return self.stream.read(size)
        except UnicodeDecodeError as error:
            data = error.object
            if is_binary(data):
                raise TableError(IS_BINARY.format(self.name)) from None
            raise TableError(
                f"{self.name} is neither UTF-8, UTF-16 nor Windows-1252 text (byte "
                f"0x{data[error.start]:02x}); save it as UTF-8."
            ) from None

    def header_bytes(self) -> bytes:
        """The beginning of the stream, at least up to the end of the header."""
        data = self.read(START)
        if is_binary(data):
            raise TableError(IS_BINARY.format(self.name))
        data = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        if not data.strip():
            raise TableError(f"{self.name} is empty; it needs a header and rows.")
        if b"\n" not in data and b"\r" in data:
            raise TableError(f"Lines of {self.name} end in a lone CR; save it with LF or CR LF.")
        while not row_end(data) and (more := self.read(BLOCK)):
            data += more
            if len(data) > MAX_ROW:
                raise TableError(f"The header of {self.name} has no end; is a quote not closed?")
        return data

    def checked_names(self, header: str) -> tuple[str, ...]:
        """Names of the columns; those without one are numbered."""
        if header.count('"') % 2:
            raise TableError(f"The header of {self.name} has no end; is a quote not closed?")
        self.header = next(fields_of(header, self.separator))
        names = [field.strip() or f"column {i + 1}" for i, field in enumerate(self.header)]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise TableError(
                f"{self.name} has several columns called {listed(repeated)}; rename all but one."
            )
        return tuple(names)

    def blocks(self) -> Iterator[bytes]:
        """Whole rows, about `BLOCK` bytes of them at a time."""
        rest = self.rest
        while more := self.read(BLOCK):
            rest += more
            end = last_row_end(rest)
            if end:
                yield rest[:end]
                rest = rest[end:]
            elif len(rest) > MAX_ROW:
                raise TableError(
                    f"Row {self.n_rows + 1:,} of {self.name} has no end within "
                    f"{MAX_ROW >> 20} MB; is a quote not closed?"
                )
        if rest:
            yield rest

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[Any]:
        """Polars frames of some columns; `numbers` as such where all are, other columns as text."""
        n_needed = 1 + max(self.columns.index(name) for name in columns)
        last = self.columns[n_needed - 1]
        for block in self.blocks():
            frame = self.parsed(block, columns, numbers)
            if len(self.columns) > 1 and all(column.null_count() for column in frame):
                frame = self.without_empty_lines(frame, block)
            self.refuse_header(block)
            if frame.get_column(last).null_count():
                self.short_rows += n_short_rows(block, self.separator, n_needed)
            self.n_rows += len(frame)
            yield frame

    def parsed(self, block: bytes, columns: Sequence[str], numbers: Collection[str]) -> Any:
        """Rows of a block as a frame."""
        pl = polars()
        try:
            return self.parsed_as(block, columns, numbers)
        except pl.exceptions.PolarsError:
            if not numbers:
                text, n = block.decode(), len(self.columns)
                raise first_error(text, self.separator, n, self.n_rows, self.name) from None
        frame = self.parsed(block, columns, ())
        return frame.with_columns(
            self.with_points(frame.get_column(name)) for name in columns if name in numbers
        )

    def with_points(self, texts: Any) -> Any:
        """A column of numbers with decimal points in place of commas, unless in doubt."""
        if self.separator == "," or (self.separator != ";" and may_be_thousands(texts)):
            return texts
        return with_decimal_points(texts)

    def parsed_as(self, block: bytes, columns: Sequence[str], numbers: Collection[str]) -> Any:
        """Rows of a block with fixed types; polars raises where they do not fit."""
        pl = polars()
        # neutral names, since polars takes some names for patterns
        aliases = {name: f"c{i}" for i, name in enumerate(self.columns)}
        header = self.separator.join(aliases.values()).encode() + b"\n"
        types = {
            alias: pl.Float64 if name in numbers else pl.String for name, alias in aliases.items()
        }
        wanted = [aliases[name] for name in columns]
        frame = pl.read_csv(
            header + block, separator=self.separator, schema=types, columns=wanted
        ).select(wanted)
        frame.columns = list(columns)
        return frame

    def without_empty_lines(self, frame: Any, block: bytes) -> Any:
        """The frame without the rows that are blank lines of the file."""
        pl = polars()
        empty = self.parsed_as(block, self.columns, ())
        empty.columns = [f"c{i}" for i in range(len(self.columns))]
        return frame.filter(~empty.select(pl.all_horizontal(pl.all().is_null())).to_series())

    def refuse_header(self, block: bytes) -> None:
        """Refuse a second header, as where files were concatenated."""
        if len(self.columns) == 1 or b"\n" + self.header_line not in b"\n" + block:
            return
        row = self.n_rows
        with suppress(csv.Error):  # a value longer than it takes
            for fields in fields_of(block.decode(errors="replace"), self.separator):
                row += any(fields)
                if fields == self.header:
                    raise TableError(
                        f"Row {row:,} of {self.name} repeats the header; leave it out."
                    )


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text."""
    return data.startswith(BINARY) or b"\0" in data


def row_end(data: bytes) -> int:
    """One past the first line break outside quotes; 0 if there is none."""
    end, quotes = -1, 0
    while True:
        start = end + 1
        end = data.find(b"\n", start)
        if end < 0:
            return 0
        quotes += data.count(b'"', start, end)
        if quotes % 2 == 0:
            return end + 1


def last_row_end(data: bytes) -> int:
    """One past the last line break outside quotes, when data starts a row; 0 if there is none."""
    quotes, end = data.count(b'"'), len(data)
    while True:
        before = data.rfind(b"\n", 0, end)
        if before < 0:
            return 0
        quotes -= data.count(b'"', before, end)
        if quotes % 2 == 0:
            return before + 1
        end = before


def found_separator(header: str, rest: bytes) -> str:
    """The separator that makes most fields of the header, and as many of the first rows."""
    text = header.rstrip("\r\n") + "\n" + rest[:START].decode(errors="replace")

    def fields(separator: str) -> tuple[bool, bool, int]:
        rows = filter(None, fields_of(text, separator))
        try:
            counts = [len(row) for row in islice(rows, LOOKED_AT + 1)]
        except csv.Error:
            return False, False, 0
        # the last row may be cut off, and short rows are no sign of another separator
        return counts[0] > 1, max(counts) == counts[0], counts[0]

    return max(SEPARATORS, key=fields)
