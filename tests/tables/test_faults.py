"""Claims about finding what is wrong with delimited text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("polars")

from sdgm.tables.faults import misplaced_quote, n_short_rows

CELLS = st.text(st.sampled_from('ab,;"\n ä'), max_size=6)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=8)


def written(rows: list[list[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@given(ROWS)
def test_quotes_that_a_writer_of_tables_sets_are_where_they_belong(rows: list[list[str]]) -> None:
    assert misplaced_quote(written(rows), ",") is None


@given(ROWS, st.sampled_from(['5" disk', '"open', '"a"b', ' "a"']))
def test_the_row_of_the_first_misplaced_quote_is_found(rows: list[list[str]], bad: str) -> None:
    before = [row for row in rows if any(row)]
    found = misplaced_quote(written(before) + f"1,{bad}\n2,3\n", ",")
    assert found is not None
    assert found[0] == len(before) + 1
    assert found[1] == len(written(before)) + 2


@given(ROWS, st.integers(1, 5), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_short_rows_are_counted_alike_with_and_without_quotes(
    rows: list[list[str]], n_columns: int, line_end: str, quotes: bool
) -> None:
    if quotes:
        text = written(rows)
    else:
        rows = [["x" if set(cell) & set(',"\r\n') else cell for cell in row] for row in rows]
        text = line_end.join(map(",".join, rows))
    lengths = [len(fields) for fields in csv.reader(io.StringIO(text, newline=""))]
    expected = sum(0 < length < n_columns for length in lengths)
    assert n_short_rows(text.encode(), ",", n_columns) == expected
