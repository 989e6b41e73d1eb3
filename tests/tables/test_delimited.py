"""Claims about delimited text: every cell comes back, whatever the blocks, or one sentence."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm.tables import TableError, delimited
from sdgm.tables.delimited import DelimitedText, last_row_end, row_end
from sdgm.tables.delimited_errors import misplaced_quote, n_short_rows

CELLS = st.text(st.sampled_from('ab,;"\n\r \tä€'), max_size=6)
PLAIN_CELLS = st.text(st.sampled_from('ab,;"\n ä'), max_size=6)
ROWS = st.lists(st.lists(PLAIN_CELLS, min_size=1, max_size=4), min_size=1, max_size=8)


def table(data: bytes | str, separator: str | None = None) -> DelimitedText:
    data = data.encode() if isinstance(data, str) else data
    return DelimitedText(io.BytesIO(data), "t.csv", separator)


def rows_of(text: DelimitedText, numbers: tuple[str, ...] = ()) -> list[Any]:
    return [row for chunk in text.chunks(text.columns, numbers) for row in chunk.rows()]


@settings(deadline=None, max_examples=150)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12),
    block=st.integers(4, 60),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_all_cells_come_back_in_order_whatever_the_size_of_blocks(
    rows: list[tuple[str, str, str]], block: int, line_end: str
) -> None:
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator=line_end, quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b\nc", "d"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK", block)
        patch.setattr(delimited, "START", block)
        text = table(written.getvalue(), ",")
        assert text.columns == ("a", "b\nc", "d")
        assert rows_of(text) == rows


@given(st.text(st.sampled_from('a"\n'), max_size=30))
def test_row_ends_are_line_breaks_outside_quotes(text: str) -> None:
    data = text.encode()
    outside = [i + 1 for i in range(len(text)) if text[i] == "\n" and text[:i].count('"') % 2 == 0]
    assert row_end(data) == (outside[0] if outside else 0)
    assert last_row_end(data) == (outside[-1] if outside else 0)


@pytest.mark.parametrize("separator", list(",;\t|"))
def test_the_separator_is_found(separator: str) -> None:
    lines = [["a", "b", "c"], ["1", "x y", "2"], ["3", "", "4"]]
    text = table("\n".join(separator.join(line) for line in lines))
    assert text.separator == separator
    assert rows_of(text) == [("1", "x y", "2"), ("3", None, "4")]


def test_separators_within_quotes_do_not_mislead() -> None:
    text = table('"a;b;c;d",e\n"1;2;3;4",5\n')
    assert text.columns == ("a;b;c;d", "e")
    assert table("only\n1\n2\n").columns == ("only",)


def test_numbers_with_decimal_commas_are_read_where_semicolons_separate() -> None:
    assert rows_of(table("a;b\n1,5;x\n-,25;y\n3;z\n"), ("a",)) == [
        ("1.5", "x"),
        ("-.25", "y"),
        ("3", "z"),
    ]


@pytest.mark.parametrize("separator", ["\t", "|"])
def test_decimal_commas_are_read_between_tabs_unless_they_may_be_thousands(separator: str) -> None:
    def read(*cells: str) -> list[str]:
        lines = [f"{cell}{separator}x" for cell in ("a", *cells)]
        lines[0] = f"a{separator}b"
        return [row[0] for row in rows_of(table("\n".join(lines), separator), ("a",))]

    assert read("2,338", "0,835", "7") == ["2.338", "0.835", "7"]
    assert read("2,338", "1,5") == ["2.338", "1.5"]
    assert read("2,338", "12,835", "7") == ["2,338", "12,835", "7"]


def test_rows_that_end_early_are_counted() -> None:
    text = table('a,b,c\n1,2,3\n1,2\n\n1,"2\n"\n1,2,\n1\n')
    assert len(rows_of(text)) == 5
    assert text.short_rows == 3
    text = table("a,b,c\n1,2,3\n1,2\n1\n")
    assert [len(chunk) for chunk in text.chunks(["b", "a"])] == [3]
    assert text.short_rows == 1  # the other has all that was asked for


def test_a_row_is_no_second_header_because_some_columns_repeat_it() -> None:
    data = "a,b,c\na,b,1\na,2,c\n"
    assert rows_of(table(data)) == [("a", "b", "1"), ("a", "2", "c")]
    text = table(data)
    assert [chunk.rows() for chunk in text.chunks(["a"])] == [[("a",), ("a",)]]
    assert rows_of(table("a\na\n")) == [("a",)]
    with pytest.raises(TableError, match=r"Row 2 of .* repeats the header"):
        list(table("a,b\nx,1\na,b\n").chunks(["b"], ["b"]))


def test_numbers_come_as_numbers_and_as_text_where_one_is_none() -> None:
    assert rows_of(table("a,b\n1,x\n 2.5,y\n"), ("a",)) == [(1.0, "x"), (2.5, "y")]
    assert rows_of(table("a,b\n1,x\noops,y\n"), ("a",)) == [("1", "x"), ("oops", "y")]


def test_rows_with_nothing_in_them_are_skipped() -> None:
    text = table("\n\na,b\n1,2\n\n3,4\n,\n\r\n\n")
    assert rows_of(text) == [("1", "2"), ("3", "4")]
    assert text.n_rows == 2
    # a row whose other columns have something stays, also when these are not asked for
    text = table("a,b,c\n1,2,3\n,,4\n")
    assert [len(chunk) for chunk in text.chunks(["a", "b"])] == [2]
    assert rows_of(table("a\n1\n\n3\n")) == [("1",), (None,), ("3",)]


def test_names_that_polars_takes_for_patterns_are_names() -> None:
    text = table("^a.*$,*,ab,c0\n1,2,3,4\n")
    assert [chunk.rows() for chunk in text.chunks(["*", "^a.*$"])] == [[("2", "1")]]


def test_columns_without_a_name_are_numbered() -> None:
    assert table(",a,\n1,2,3\n").columns == ("column 1", "a", "column 3")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"a,b,a\n1,2,3\n", "several columns called 'a'"),
        (b"a,b\n1,2\n1,2,3\n", "Row 2 of t.csv has 3 fields, but the header has 2"),
        (b"a,b\n1,\xe4\x81\n", r"neither UTF-8, UTF-16 nor Windows-1252 text \(byte 0x81\)"),
        (b"\xff\xfe\x00\xd8\x41\x00", "binary"),  # half a pair of surrogates
        (b"PK\x03\x04abc", "binary"),
        (b"a,b\r1,2\r", "CR"),
        (b'a,"b\n1,2\n', "quote not closed"),
        (b'a,b\n1,2\n3,5" disk\n3,4\n', "in row 2 of t.csv has a quote within it, '5\" disk'"),
        (b'a,b\n1,2\n3,"x\n3,4\n5,6\n', "in row 2 of t.csv begins with a quote that is not"),
        (b'a,b\n1,"x\n3,4\n5,"y,z"\n', "in row 1 of t.csv begins with a quote that is not"),
        (b"a,b\n1,2\n\n3,4\na,b\n5,6\n", "Row 3 of t.csv repeats the header; leave it out"),
        (b"a, b,\n1,2,3\na, b,\n", "Row 2 of t.csv repeats the header"),
    ],
)
def test_what_is_no_table_gives_one_sentence(data: bytes, said: str) -> None:
    with pytest.raises(TableError, match=said) as caught:  # noqa: PT012 - either may
        text = table(data)
        rows_of(text)
    assert "\n" not in str(caught.value)


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 1 << 10)
    monkeypatch.setattr(delimited, "START", 1 << 10)
    monkeypatch.setattr(delimited, "MAX_ROW", 1 << 12)
    data = b'a,b\n1,"' + b"x\n" * 100_000
    text = table(data)
    with pytest.raises(TableError, match="quote not closed"):
        rows_of(text)
    assert text.bytes_read < len(data)


# --- what is wrong with a file ---


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
