"""Claims about what columns of a table become."""

from __future__ import annotations

from datetime import date, time, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from sdgm.tables import Category, Number, TableError
from sdgm.tables.columns import ColumnNote, chosen_columns

N = 40
TEXTS = {
    "numbers": [f"{i % 7}.5" for i in range(N)],
    "gaps": ["1.5", "NA", "n/a", "?", "", "-", " 2 ", "NaN"] * 5,
    "colours": ["red", "blue ", " red", "green"] * 10,
    "colour gaps": ["red", None, "blue", ""] * 10,
    "none": ["none", "mild", "none", "severe"] * 10,
}


def chosen(columns: dict[str, Any], **options: Any) -> tuple[dict[str, Any], dict[str, ColumnNote]]:
    inputs, notes = chosen_columns(pl.DataFrame(columns), np.arange(N), (), **options)
    return {each.name: each for each in inputs}, {note.name: note for note in notes}


def test_texts_become_numbers_or_categories() -> None:
    inputs, notes = chosen(TEXTS)
    assert inputs["numbers"] == Number("numbers")
    assert inputs["gaps"] == Number("gaps", fill=1.75, indicator=True)
    assert inputs["colours"] == Category("colours", ("red", "blue", "green"))
    assert inputs["colour gaps"] == Category("colour gaps", ("blue", "red"), missing=True)
    assert inputs["none"] == Category("none", ("none", "mild", "severe"))
    assert notes["gaps"].missing == 30 and notes["colour gaps"].missing == 20
    assert notes["colours"].levels == 3


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([f"name {i}" for i in range(N)], "40 distinct values in 40 rows"),
        ([1.0] * N, "is always 1"),
        (["same"] * N, "is always 'same'"),
        ([None] * N, "has no values"),
        ([float("nan")] * N, "has no values"),
        (["NA", "?"] * 20, "has no values"),
        (
            ["2024-01-02"] * 38 + ["2024-02-30", "2024-01-03"],
            "except for 1 value such as '2024-02-30'",
        ),
        (["2024-01-02"] * 39 + ["soon"], "dates except for values such as 'soon'"),
        ([date(2024, 1, 1)] * N, "is always '2024-01-01'"),
        (["1.2.2024", "03/04/24 10:00"] * 20, "dates with ambiguous day and month"),
        ([time(1, i) for i in range(N)], "holds times of day"),
        ([timedelta(hours=i) for i in range(N)], "holds durations"),
        ([[1, 2]] * N, "holds list"),
        (list(range(5, 5 + N)), "row numbers"),
        ([f"{i / 7}" for i in range(N - 1)] + ["oops"], "except for 1 value such as 'oops'"),
    ],
)
def test_columns_that_say_nothing_are_left_out_with_the_reason(values: Any, reason: str) -> None:
    inputs, notes = chosen({"a": values, "b": np.arange(N) % 7})
    assert list(inputs) == ["b"]
    assert notes["a"].kind == "left out" and reason in notes["a"].reason


@pytest.mark.parametrize(
    ("values", "way"),
    [
        ([f"${i}.20" for i in range(N)], "a currency, such as '$0.20'"),
        ([f"{i} €" for i in range(N)], "a currency"),
        ([f"EUR {i},5" for i in range(N)], "a currency"),
        ([f"{i}.234,5{i}" for i in range(N)], "dots as thousands separators"),
        ([f"{i},234" for i in range(1, N + 1)], "commas as thousands separators"),
        ([f"{i} 234.5" for i in range(1, N + 1)], "spaces as thousands separators"),
        ([f"{i},5" for i in range(N)], "decimal commas"),
        ([f"{i}%" for i in range(N)], "a unit"),
        ([f"{i / 8} kg" for i in range(N)], "a unit, such as '0.0 kg'"),
    ],
)
def test_numbers_that_are_not_plain_are_left_out_with_what_is_odd_about_them(
    values: list[str], way: str
) -> None:
    inputs, notes = chosen({"a": values, "b": np.arange(N) % 7})
    assert list(inputs) == ["b"]
    assert f"looks like numbers with {way}" in notes["a"].reason


def test_names_of_rows_do_not_look_like_numbers() -> None:
    for values in ([f"A{i:05d}" for i in range(N)], [f"{i}-{i}" for i in range(N)]):
        _, notes = chosen({"a": values, "b": np.arange(N) % 7})
        assert "40 distinct values" in notes["a"].reason


def test_true_and_false_in_any_case_are_one_number() -> None:
    inputs, notes = chosen(
        {
            "flag": ["true", "True", " FALSE", "false"] * 10,
            "gaps": ["true", "NA", "", "False"] * 10,
            "bits": ["1", "0", "true", "false"] * 10,
            "mixed": ["true", "7", "7", "7"] * 10,
        }
    )
    assert inputs["flag"] == Number("flag") and inputs["bits"] == Number("bits")
    assert inputs["gaps"] == Number("gaps", fill=0.5, indicator=True)
    assert inputs["mixed"] == Category("mixed", ("7", "true"))
    assert notes["flag"].reason == "1 for true, 0 for false"


def test_typed_columns_are_taken_for_what_they_are() -> None:
    inputs, _ = chosen(
        {
            "flag": [True, False] * 20,
            "int": np.arange(N) % 5,
            "gaps": [1.0, None, float("nan"), 4.0] * 10,
            "category": pl.Series(["a", "b"] * 20, dtype=pl.Categorical),
        }
    )
    assert inputs["flag"] == Number("flag") and inputs["int"] == Number("int")
    assert inputs["gaps"] == Number("gaps", fill=2.5, indicator=True)
    assert inputs["category"] == Category("category", ("a", "b"))


def test_twenty_levels_get_a_feature_the_most_frequent_first() -> None:
    values = [f"v{i:02d}" for i in range(25)] * 4 + ["v24"]
    frame = pl.DataFrame({"a": values})
    (column,), (note,) = chosen_columns(frame, np.arange(len(values)), ())
    assert column.levels == ("v24", *(f"v{i:02d}" for i in range(19)))
    assert "5 rarer levels without a feature" in note.reason and note.levels == 25


def test_medians_and_levels_come_from_the_training_rows_alone() -> None:
    frame = pl.DataFrame({"a": [1.0, None, 3.0, 99.0], "b": ["x", "y", "x", "new"] * 1})
    frame = pl.concat([frame] * 3)
    train = np.array([0, 1, 2, 4, 5, 6])
    inputs, _ = chosen_columns(frame, train, ())
    assert inputs[0] == Number("a", fill=2.0, indicator=True)
    assert inputs[1] == Category("b", ("x", "y"))


def test_values_missing_from_held_out_rows_alone_are_allowed_for() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0, None], "b": ["x", "y", "x", None]})
    inputs, _ = chosen_columns(pl.concat([frame] * 2), np.array([0, 1, 2, 4, 5, 6]), ())
    assert inputs[0].fill == 2.0 and inputs[1].missing


def test_what_cannot_be_used_gives_one_sentence() -> None:
    with pytest.raises(TableError, match=r"no usable column: 'a' \(is always 1\)"):
        chosen({"a": [1.0] * N})
    with pytest.raises(TableError, match="besides the target"):
        chosen_columns(pl.DataFrame({"y": [1, 2]}), np.arange(2), ("y",))
    with pytest.raises(TableError, match="Values are missing in 'gaps' and 'colour gaps'"):
        chosen(TEXTS, allow_missing=False)
    with pytest.raises(TableError, match="infinite value in row 2"):
        chosen({"a": [1.0, float("inf")] * 20})
    with pytest.raises(TableError, match="Two features would be called 'a=x'"):
        chosen({"a": ["x", "y"] * 20, "a=x": [1.0, 2.0] * 20})
