"""Claims about sums over rows: nothing about where rows are kept changes them."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.data import blocked_rows as reduction
from sdgm.core.data import rows as rows_module
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import Rows, tree_sum
from sdgm.core.objective.derivatives import class_totals
from sdgm.core.solvers.sampled import RowsWithSample


def random_rows(N: int, seed: int = 0, *, start: bool = False) -> Rows:
    rng = np.random.default_rng(seed)
    r0 = rng.dirichlet([1.0, 1.0], size=N) if start else None
    return Rows(rng.normal(size=(N, 3)), rng.integers(3, size=N), rng.random(N), r0)


def statistic(block: Rows) -> FloatArray:
    return block.s @ np.sin(block.Z)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Canonical blocks of eight rows, worked on four at a time."""
    for module in (rows_module, reduction):
        monkeypatch.setattr(module, "CANONICAL_ROWS", 8)
    monkeypatch.setattr(rows_module, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(rows_module, "MIN_BLOCK_ROWS", 4)


def level_by_level(totals: list[float]) -> float:
    while len(totals) > 1:
        pairs = [sum(totals[i : i + 2]) for i in range(0, len(totals) - 1, 2)]
        totals = pairs + totals[2 * len(pairs) :]
    return totals[0]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=70))
def test_a_tree_sum_is_the_sum_of_neighbours_level_by_level(numbers: list[float]) -> None:
    assert tree_sum(numbers) == level_by_level(numbers)


@given(st.lists(st.text(max_size=2), min_size=1, max_size=70))
def test_a_tree_sum_keeps_the_order(words: list[str]) -> None:
    assert tree_sum(words) == "".join(words)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("N", [1, 7, 8, 9, 32, 33, 100, 517])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_blocks_and_threads_add_to_the_last_bit_what_memory_adds(N: int, n_threads: int) -> None:
    rows = random_rows(N)
    blocked = BlockedRows.of(rows, n_threads=n_threads)
    assert len(blocked) == N
    assert blocked.n_blocks == -(-N // 8)
    np.testing.assert_array_equal(blocked.total(statistic, width=3), rows.total(statistic, width=3))


@pytest.mark.usefixtures("small_blocks")
def test_a_total_is_the_sum_over_all_rows() -> None:
    rows = random_rows(100)
    np.testing.assert_allclose(rows.total(statistic, width=3), statistic(rows), rtol=1e-13)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_know_the_number_of_their_first_row() -> None:
    firsts = BlockedRows.of(random_rows(50)).total(lambda block: [block.first], width=10**9)
    assert firsts == list(range(0, 50, 4))


@pytest.mark.usefixtures("small_blocks")
@settings(deadline=None, max_examples=20)
@given(st.integers(1, 60))
def test_mapped_rows_have_other_coordinates(N: int) -> None:
    rows = random_rows(N)
    mapped = BlockedRows.of(rows).mapped(np.cos, rows.Z.shape[1])
    expected = Rows(np.cos(rows.Z), rows.y, rows.s)
    np.testing.assert_array_equal(mapped.total(statistic, 3), expected.total(statistic, 3))


def test_started_rows_carry_no_start() -> None:
    rows = BlockedRows.of(random_rows(10, start=True))
    assert rows.has_initial_r and not rows.without_initial_r().has_initial_r
    assert rows.without_initial_r().without_initial_r().read(0).r0 is None


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def read(i: int) -> Rows:
        raise ValueError(f"block {i}")

    with pytest.raises(ValueError, match="block 0"):
        BlockedRows(10**6, read, n_threads=2).total(statistic, 3)


@pytest.mark.usefixtures("small_blocks")
def test_lists_are_put_one_after_the_other() -> None:
    rows = random_rows(100)
    parts = BlockedRows.of(rows, n_threads=3).total(lambda block: block.y.tolist(), width=1)
    assert parts == rows.y.tolist() == reduce(add, [[y] for y in rows.y.tolist()])


@pytest.mark.parametrize("n", range(1, 140))
def test_sums_of_sums_are_added_in_the_same_order(n: int) -> None:
    every = [f"({i})" for i in range(n)]

    class Order(str):
        def __add__(self, other: str) -> Order:
            return Order(f"[{self}{other}]")

    totals = [Order(each) for each in every]
    while len(totals) > 1:
        totals = [tree_sum(totals[i : i + 4]) for i in range(0, len(totals), 4)]
    assert totals[0] == tree_sum(Order(each) for each in every)


def test_class_totals_make_no_coordinates() -> None:
    def fails(X: FloatArray) -> FloatArray:
        raise AssertionError

    rows = random_rows(40)
    mapped = BlockedRows.of(rows).mapped(fails, 3)
    expected = np.bincount(rows.y, rows.s, minlength=3)
    for source in (mapped, RowsWithSample(mapped, mapped)):
        np.testing.assert_allclose(class_totals(source, 3), expected, rtol=1e-14)
