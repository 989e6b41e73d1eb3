"""Claims about the visits to the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from threading import current_thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.data import rows as rows_module
from sdgm.core.data.rows import Rows, block_size, crew_of
from sdgm.core.objective.derivatives import derivatives_of_rows, fit_of_rows, mean_change_of_r
from tests.reference.problems import FORMS, random_problem, random_responsibilities


def numbered_rows(N: int, *, with_r0: bool) -> Rows:
    """Rows whose Z, y, s and r0 all tell their position."""
    position = np.arange(N)
    r0 = np.asfortranarray(np.column_stack([position, position])) if with_r0 else None
    return Rows(np.asfortranarray(position[:, None] * 1.0), position, position * 1.0, r0)


def set_block_rows(monkeypatch: pytest.MonkeyPatch, n_rows: int) -> None:
    """Make every block this long, whatever the width."""
    monkeypatch.setattr(rows_module, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(rows_module, "MIN_BLOCK_ROWS", n_rows)


@settings(deadline=None)
@given(N=st.integers(1, 40), n_rows=st.integers(1, 50), with_r0=st.booleans())
def test_blocks_hold_every_row_once_and_in_order(N: int, n_rows: int, with_r0: bool) -> None:
    rows = numbered_rows(N, with_r0=with_r0)
    blocks = list(rows.blocks(n_rows))
    assert [len(block) for block in blocks[:-1]] == [n_rows] * (len(blocks) - 1)
    assert 1 <= len(blocks[-1]) <= n_rows
    for block in blocks:
        assert block.first == block.y[0]
        np.testing.assert_array_equal(block.Z[:, 0], block.y)
        np.testing.assert_array_equal(block.s, block.y)
        assert (block.r0 is not None) == with_r0
        if block.r0 is not None:
            np.testing.assert_array_equal(block.r0, np.column_stack([block.y, block.y]))
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), np.arange(N))


@pytest.mark.parametrize("N", [9, 64, 1000])
def test_threads_that_share_the_rows_change_no_sum(N: int, monkeypatch: pytest.MonkeyPatch) -> None:
    set_block_rows(monkeypatch, 8)
    rng = np.random.default_rng(N)
    rows = Rows(rng.normal(size=(N, 2)), np.zeros(N, dtype=np.intp), np.ones(N))
    names = set()

    def statistic(block: Rows) -> FloatArray:
        names.add(current_thread().name)
        return np.exp(block.Z).sum(axis=0)

    alone = rows.total(statistic, width=2)
    assert names == {current_thread().name}
    names.clear()
    with crew_of(3) as crew:
        shared = rows.shared_by(crew)
        np.testing.assert_array_equal(shared.total(statistic, width=2), alone)
    assert current_thread().name not in names
    np.testing.assert_allclose(alone, np.exp(rows.Z).sum(axis=0))
    names.clear()
    rows.total(statistic, width=2)
    assert names == {current_thread().name}


def test_few_rows_are_one_block_that_is_not_copied() -> None:
    rows = numbered_rows(10, with_r0=True)
    seen = []

    def statistic(block: Rows) -> float:
        seen.append(block)
        return 1.0

    assert rows.total(statistic, width=3) == 1.0
    assert len(seen) == 1 and seen[0] is rows


def test_wide_rows_come_in_short_blocks_and_narrow_ones_in_long_blocks_within_limits() -> None:
    narrow, wide, widest = map(block_size, (0, 100, 10**9))
    assert narrow == rows_module.CANONICAL_ROWS
    assert rows_module.BLOCK_NUMBERS // 200 < wide <= rows_module.BLOCK_NUMBERS // 100
    assert widest == rows_module.MIN_BLOCK_ROWS
    assert all(rows_module.CANONICAL_ROWS % size == 0 for size in (narrow, wide, widest))


@dataclass(frozen=True)
class Total:
    value: FloatArray

    def __add__(self, other: Total) -> Total:
        return Total(self.value + other.value)


@settings(deadline=None)
@given(N=st.integers(1, 40), n_rows=st.integers(1, 50))
def test_total_over_blocks_equals_the_sum_over_all_rows(N: int, n_rows: int) -> None:
    rows = numbered_rows(N, with_r0=False)
    with pytest.MonkeyPatch.context() as monkeypatch:
        set_block_rows(monkeypatch, n_rows)
        total = rows.total(lambda block: Total(block.s @ block.Z), width=1)
    np.testing.assert_array_equal(total.value, [(np.arange(N) ** 2).sum()])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_rows", [1, 5, 23])
def test_fit_derivatives_and_change_of_r_in_blocks_equal_the_whole(
    form: str, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem(0, form)
    r0 = random_responsibilities(np.random.default_rng(1), problem.rows.y, (2, 1, 3))
    mixture, other = problem.mixture(), problem.mixture(-problem.theta)
    for rows in (problem.rows, Rows(problem.rows.Z, problem.rows.y, problem.rows.s, r0)):
        with monkeypatch.context() as patch:
            whole = derivatives_of_rows(rows, mixture, other, problem.whitening, missing=True)
            whole_change = mean_change_of_r(rows, other, mixture)
            set_block_rows(patch, n_rows)
            parts = derivatives_of_rows(rows, mixture, other, problem.whitening, missing=True)
            fit = fit_of_rows(rows, mixture, other)
            change = mean_change_of_r(rows, other, mixture)
        np.testing.assert_allclose(parts.grad, whole.grad, atol=1e-10)
        np.testing.assert_allclose(parts.curvature, whole.curvature, atol=1e-10)
        np.testing.assert_allclose(parts.missing, whole.missing, atol=1e-10)
        for one in (fit, parts.fit):
            assert one.log_likelihood == pytest.approx(whole.fit.log_likelihood, rel=1e-12)
            np.testing.assert_allclose(one.J, whole.fit.J, rtol=1e-12)
            np.testing.assert_allclose(one.r_sum, whole.fit.r_sum, rtol=1e-12)
        assert change == pytest.approx(whole_change, rel=1e-12)


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0])
def test_rows_of_equal_weight_count_so_many_times(weight: float) -> None:
    problem = random_problem(0, weighted=False)
    rows = Rows(problem.rows.Z, problem.rows.y, np.full(len(problem.rows), weight))
    once, often = (
        derivatives_of_rows(rows, problem.mixture(), None, problem.whitening, missing=True)
        for rows in (problem.rows, rows)
    )
    np.testing.assert_allclose(often.grad, weight * once.grad, atol=1e-10)
    np.testing.assert_allclose(often.curvature, weight * once.curvature, atol=1e-10)
    np.testing.assert_allclose(often.missing, weight * once.missing, atol=1e-10)
    np.testing.assert_allclose(often.fit.J, weight * once.fit.J, rtol=1e-12)
    np.testing.assert_allclose(often.fit.r_sum, weight * once.fit.r_sum, rtol=1e-12)


def test_started_rows_differ_only_in_the_responsibilities_to_start_from() -> None:
    rows = numbered_rows(3, with_r0=True)
    started = rows.without_initial_r()
    assert started.r0 is None and rows.r0 is not None
    assert started.Z is rows.Z and started.y is rows.y and started.s is rows.s
