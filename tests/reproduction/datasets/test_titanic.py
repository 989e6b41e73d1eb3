"""Claims about the people on board the Titanic."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.datasets import load_ida, make_titanic
from reproduction.datasets.ida import IDA_SETS
from reproduction.datasets.titanic import COUNTS, coded_people
from sdgm.datasets import data_folder


def test_the_margins_of_the_table_are_the_published_ones() -> None:
    assert COUNTS.sum() == 2201
    assert COUNTS.sum(axis=(1, 2, 3)).tolist() == [325, 285, 706, 885]  # first to third, crew
    assert COUNTS.sum(axis=(0, 2, 3)).tolist() == [2092, 109]  # adults, children
    assert COUNTS.sum(axis=(0, 1, 3)).tolist() == [470, 1731]  # women, men
    assert COUNTS.sum(axis=(0, 1, 2)).tolist() == [1490, 711]  # lost, saved


def test_there_is_one_row_per_person() -> None:
    counts = np.zeros_like(COUNTS)
    np.add.at(counts, tuple(coded_people().astype(int).T), 1)
    np.testing.assert_array_equal(counts, COUNTS)


def test_inputs_are_standardised_and_labels_are_signs() -> None:
    data = make_titanic()
    np.testing.assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0, ddof=1), 1.0)
    assert np.unique(data.y).tolist() == [-1, 1]
    assert data.generated and data.sha256 is None and list(data.splits) == []


@pytest.mark.skipif(
    not (data_folder() / IDA_SETS["titanic"].packed).is_file(),
    reason="the IDA titanic set is not in SDGM_DATA",
)
def test_the_rows_are_those_of_the_benchmark() -> None:
    ours, theirs = make_titanic(), load_ida("titanic")
    tables = [np.column_stack([data.X.round(6), data.y]) for data in (ours, theirs)]
    kinds, counts = zip(
        *(np.unique(table, axis=0, return_counts=True) for table in tables), strict=True
    )
    # eight digits are published
    np.testing.assert_allclose(kinds[0], kinds[1], atol=2e-6)
    np.testing.assert_array_equal(counts[0], counts[1])
    assert len(counts[0]) == 24  # 14 kinds of people, of which 10 were both lost and saved
    np.testing.assert_allclose(np.unique(ours.X), np.unique(theirs.X), atol=1e-7)
