"""The first error in delimited text that cannot be parsed, and rows with too few fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import numpy as np

from sdgm.tables.errors import TableError, quoted
from sdgm.text import counted

SHOWN = 24  # characters of a value with a misplaced quote


def fields_of(text: str, separator: str) -> Iterator[list[str]]:
    """The fields of every row of delimited text."""
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def first_error(text: str, separator: str, n_columns: int, n_before: int, name: str) -> TableError:
    """The error in rows that follow ``n_before`` others."""
    misplaced = misplaced_quote(text, separator)
    if misplaced is not None:
        row, start = misplaced
        value = quoted(text[start : start + SHOWN].splitlines()[0])
        if text[start] == '"':
            problem = f"begins with a quote that is not closed at its end, {value}; close it"
        else:
            value = quoted(text[start:].splitlines()[0].split(separator)[0])
            problem = f"has a quote within it, {value}; put it in quotes and write the quote twice"
        return TableError(f"A value in row {n_before + row:,} of {name} {problem}.")
    try:
        row = n_before
        for fields in fields_of(text, separator):
            row += any(fields)
            if len(fields) > n_columns:
                return TableError(
                    f"Row {row:,} of {name} has {counted(len(fields), 'field')}, but the header "
                    f"has {n_columns}; is a separator within a value not quoted?"
                )
    except csv.Error as error:
        return TableError(f"{name} cannot be read: {error}.")
    return TableError(f"{name} cannot be read after row {n_before:,}.")


def misplaced_quote(text: str, separator: str) -> tuple[int, int] | None:
    r"""Row, counted from 1, and position of the first value that breaks the rules of quotes.

    Examples
    --------
    >>> misplaced_quote('1,"a\nb"\n2,5" disk\n', ",")
    (2, 10)
    """
    s = re.escape(separator)
    # a quoted value up to the quote that ends it, or one without quotes
    value = re.compile(rf'"(?:[^"]|"")*+"(?=[{s}\r\n]|\Z)|[^{s}"\r\n]*')
    position, row, is_blank = 0, 1, True
    while position < len(text):
        end = value.match(text, position).end()  # type: ignore[union-attr]
        is_blank &= end == position
        if end == len(text):
            return None
        if text[end] == '"':
            return row, position
        if text[end] == "\n":
            row += not is_blank  # rows with nothing in them are not counted
            is_blank = True
        position = end + 1
    return None


def n_short_rows(block: bytes, separator: str, n_columns: int) -> int:
    r"""Number of rows with fewer fields than columns, not counting blank lines.

    Examples
    --------
    >>> n_short_rows(b"1,2,3\n1,2\n\n1,,\n", ",", 3)
    1
    """
    if b'"' in block:
        try:
            rows = fields_of(block.decode(), separator)
            return sum(0 < len(fields) < n_columns for fields in rows)
        except csv.Error:  # a value longer than it takes
            return 0
    data = np.frombuffer(block.rstrip(b"\r\n") + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    width = ends - starts - (data[ends - 1] == ord("\r"))
    separators = np.searchsorted(np.flatnonzero(data == ord(separator)), ends)
    n_fields = np.diff(separators, prepend=0) + 1
    return int(((n_fields < n_columns) & (width > 0)).sum())
