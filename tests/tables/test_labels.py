"""Claims about labels and the split of rows."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgm.tables import TableError
from sdgm.tables.inputs import UNKNOWN
from sdgm.tables.labels import (
    MISSING,
    check_training,
    class_counts,
    label_codes,
    labels_and_rows,
    split_rows,
)


@pytest.mark.parametrize(
    ("values", "labels", "rows"),
    [
        (["a", " b ", None, "", "NA", "a"], ["a", "b", "a"], [0, 1, 5]),
        (["1", "2", None, "-3"], [1, 2, -3], [0, 1, 3]),
        (["01", "2", "01"], ["01", "2", "01"], [0, 1, 2]),
        (["1.0", "2.0"], ["1.0", "2.0"], [0, 1]),
        ([True, None, False], [True, False], [0, 2]),
        ([3, 4, None], [3, 4], [0, 1]),
        ([3.0, float("nan"), 4.0], [3, 4], [0, 2]),
    ],
)
def test_labels_are_texts_integers_or_booleans(
    values: list[Any], labels: list[Any], rows: list[int]
) -> None:
    found, where = labels_and_rows(pl.Series("y", values))
    assert found.tolist() == labels and where.tolist() == rows
    codes = label_codes(pl.Series("y", values), np.unique(found))
    assert np.unique(found)[codes[where]].tolist() == labels
    assert np.flatnonzero(codes == MISSING).tolist() == sorted(set(range(len(values))) - set(rows))


def test_labels_are_found_again_as_text_and_others_are_unknown() -> None:
    texts = pl.Series("y", ["1", "2", "3", "x", "", "2.0"])
    assert label_codes(texts, np.array([1, 2])).tolist() == [0, 1, UNKNOWN, UNKNOWN, MISSING, 1]
    booleans = pl.Series("y", ["true", "False", "maybe"])
    assert label_codes(booleans, np.array([False, True])).tolist() == [1, 0, UNKNOWN]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["a"] * 5, "only one class, 'a'"),
        ([None, ""], "has no labels"),
        ([i * 1.5 for i in range(9)], "a quantity or a name"),
        (list(range(500)) + [0] * 100, "500 distinct values in 600 rows"),
        ([f"name {i}" for i in range(50)], "50 distinct values in 50 rows, such as 'name 0'"),
        ([date(2024, 1, 1)] * 3, "holds dates"),
    ],
)
def test_what_are_no_classes_gives_one_sentence(values: list[Any], said: str) -> None:
    with pytest.raises(TableError, match=said):
        labels_and_rows(pl.Series("y", values))


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    test_size=st.floats(0.0, 0.99),
    seed=st.integers(0, 9),
)
def test_a_split_keeps_the_shares_and_something_of_every_class_to_learn_from(
    counts: list[int], test_size: float, seed: int
) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    train, test = split_rows(labels, test_size, seed)
    assert sorted([*train, *test]) == list(range(len(labels)))
    assert np.all(np.diff(train) > 0) and np.all(np.diff(test) > 0)
    for label, count in enumerate(counts):
        held_out = np.sum(labels[test] == label)
        assert held_out < count
        assert abs(held_out - test_size * count) <= max(0.5, 1 - (1 - test_size) * count) + 1e-9
    assert np.array_equal(test, split_rows(labels, test_size, seed)[1])


@pytest.mark.parametrize("wrong", [-0.1, 1.0, float("nan")])
def test_a_share_to_hold_out_is_below_one(wrong: float) -> None:
    with pytest.raises(TableError, match="test_size"):
        split_rows(np.array([0, 1]), wrong, 0)


def test_counts_are_plain_values() -> None:
    assert class_counts(np.array(["b", "a", "b"])) == [["a", 1], ["b", 2]]


def test_true_and_false_in_mixed_case_are_two_classes() -> None:
    labels, _ = labels_and_rows(pl.Series("y", ["true", "True", "FALSE", None, "false"]))
    assert labels.tolist() == [True, True, False, False]
    labels, _ = labels_and_rows(pl.Series("y", ["TRUE", "FALSE"]))
    assert labels.tolist() == ["TRUE", "FALSE"]  # as the user has them


def test_two_classes_with_two_rows_are_the_least_to_learn_from() -> None:
    check_training(np.array(list("aabbc")))
    for labels in ("ab", "aaaab", "abcdef"):
        with pytest.raises(TableError, match="Too little training data"):
            check_training(np.array(list(labels)))
