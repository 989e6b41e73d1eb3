"""Claims about tables held against the inputs of a model."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgm.tables import Category, Number, TableError
from sdgm.tables.labels import check_named
from sdgm.tables.matching import encoded, one_hot, typed

AGE, SIZE = Number("age", fill=40.0, indicator=True), Number("size")
COLOUR = Category("colour", ("red", "blue"), missing=True)
INPUTS = (AGE, COLOUR, SIZE)


def features(frame: dict[str, Any]) -> list[list[float]]:
    table = pl.DataFrame(frame)
    return encoded(INPUTS, typed(INPUTS, table)).tolist()


def test_columns_are_found_by_name_in_any_order_and_others_are_ignored() -> None:
    expected = [[31.0, 0.0, 1.0, 0.0, 0.0, 1.0], [40.0, 1.0, 0.0, 0.0, 1.0, 2.0]]
    typed_table = {"age": [31, None], "colour": ["red", None], "size": [1.0, 2.0]}
    texts = {"new": ["?", "!"], "size": ["1", " 2 "], "colour": ["red ", "?"], "age": ["31", "NA"]}
    assert features(typed_table) == expected
    assert features(texts) == expected


def test_a_level_that_training_did_not_see_has_zeros() -> None:
    rows = features({"age": [1.0], "colour": ["green"], "size": [1]})
    assert rows == [[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]]


@given(st.lists(st.sampled_from(["red", "blue", "green", None]), max_size=8), st.booleans())
def test_one_hot_features_are_those_of_the_category(values: list[str], missing: bool) -> None:
    column = Category("colour", ("red", "blue"), missing=missing)
    series = pl.Series("colour", values, dtype=pl.String)
    assert np.array_equal(one_hot(column, series), column.encoded(column.codes(values)))


FINE: dict[str, Any] = {"age": [1.0, 2.0], "colour": ["red", "blue"], "size": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": ["1", "big"]}, "Column 'size' has the text 'big' in row 2"),
        ({"size": [1.0, None]}, "Column 'size' has no value in row 2"),
        ({"size": [1.0, float("nan")]}, "Column 'size' has no value in row 2"),
        ({"size": [1.0, float("inf")]}, "infinite value in row 2"),
        ({"size": ["inf", "1"]}, "infinite value in row 1"),
        ({"size": [date(2024, 1, 1)] * 2}, "holds dates, but had numbers"),
        ({"colour": [1.5, 2.5]}, "holds fractions, but had text in training, such as 'red'"),
        ({"colour": [date(2024, 1, 1)] * 2}, "holds dates, but had text"),
    ],
)
def test_mistyped_columns_give_one_sentence(change: dict[str, Any], said: str) -> None:
    with pytest.raises(TableError, match=said):
        features(FINE | change)


def test_missing_values_that_training_did_not_see_are_named_by_their_row_from_one() -> None:
    with pytest.raises(ValueError, match="has 1 missing values, the first in row 2, but had none"):
        Number("age").encoded(np.array([1.0, np.nan, 3.0]))


def test_rows_are_counted_from_the_start_of_the_file() -> None:
    with pytest.raises(TableError, match="in row 1,003,"):
        typed((SIZE,), pl.DataFrame({"size": ["1", "2", "x"]}), first_row=1000)


def test_a_header_that_is_missing_is_pointed_out() -> None:
    said = "there are '1.5' and 'x'. Does the first line have the names of the columns?"
    with pytest.raises(TableError, match=re.escape(said)):
        check_named(["1.5", "x"], "label", "for the target")
    with pytest.raises(TableError, match=r"there is only '# made by hand'\. Does the first line"):
        check_named(["# made by hand"], "label", "for the target")
    with pytest.raises(TableError, match=r"there are 'x1' and 'z'\.$"):
        check_named(["x1", "z"], "label", "for the target")


def test_missing_columns_are_listed_with_a_guess() -> None:
    with pytest.raises(TableError, match=r"has no column 'size': did you mean 'Size '\?"):
        features({"age": [1], "colour": ["red"], "Size ": [1]})
    with pytest.raises(TableError, match="has no column 'size': there is only 'x'"):
        features({"age": [1], "colour": ["red"], "x": [1]})
    with pytest.raises(TableError, match="has no column 'size', which the model needs"):
        features({"age": [1], "colour": ["red"]})
    with pytest.raises(TableError, match=r"lacks 2 columns .*: 'age' and 'size'; it has 'colour'"):
        features({"colour": ["red"]})
