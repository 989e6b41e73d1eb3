"""Claims about which solver climbs to the mode."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.solvers import newton, sampled, truncated
from sdgm.core.solvers.newton import Target
from sdgm.core.solvers.sampled import ENOUGH_ROWS, RowsWithSample
from sdgm.core.solvers.select import AUTOMATIC, Solver, SolverChoice, blocks_work, dense_work
from tests.reference.problems import random_problem

FULL, BLOCK = SolverChoice(Solver.FULL), SolverChoice(Solver.BLOCK)
FEW, MANY = np.full(4, 100.0), np.full(52, 153.0)

TARGET = Target(tol=1e-3, max_steps=3, steps_to_mode=50, to_mode=False)


def test_the_solver_is_chosen_by_the_work() -> None:
    assert not AUTOMATIC.uses_blocks(10_000, FEW, 100)
    assert AUTOMATIC.uses_blocks(15_000, MANY, 153)
    assert not FULL.uses_blocks(15_000, MANY, 153)
    assert BLOCK.uses_blocks(100, FEW, 100)
    # with few rows the matrix of rows is small
    assert not AUTOMATIC.uses_blocks(200, MANY, 153)


def test_blocks_must_be_many_times_less_work_unless_the_evidence_is_that_of_a_sample() -> None:
    sizes = np.full(4, 150.0)
    whole, blocks = dense_work(100_000, sizes), blocks_work(100_000, sizes, 150)
    assert blocks < whole < AUTOMATIC.blocks_pay * blocks
    assert not AUTOMATIC.uses_blocks(100_000, sizes, 150)
    assert SolverChoice(blocks_pay=1.0).uses_blocks(100_000, sizes, 150)


def test_below_little_work_blocks_must_be_much_less() -> None:
    student = SolverChoice(blocks_pay=1.0, little_work=1e9)
    many, some = np.full(200, 8.0), np.full(26, 38.0)
    for rows, sizes, rank in (1_600, many, 21), (3_000, some, 120):
        assert 1e9 < dense_work(rows, sizes) < AUTOMATIC.little_work
        assert blocks_work(rows, sizes, rank) < dense_work(rows, sizes)
        assert not AUTOMATIC.uses_blocks(rows, sizes, rank)
    assert student.uses_blocks(1_600, many, 21)
    assert not student.uses_blocks(3_000, some, 120)
    assert not student.uses_blocks(100, many, 21)


@pytest.mark.parametrize(
    ("choice", "in_memory", "with_sample"),
    [
        (AUTOMATIC, newton.maximize_over_w, sampled.maximize_by_sample),
        (FULL, newton.maximize_over_w, sampled.maximize_by_sample),
        (BLOCK, truncated.maximize_by_blocks, truncated.maximize_by_blocks),
    ],
    ids=lambda value: value.solver if isinstance(value, SolverChoice) else value.__module__,
)
def test_a_sample_directs_the_climb_unless_blocks_are_wanted(
    choice: SolverChoice, in_memory: object, with_sample: object
) -> None:
    problem = random_problem(0, "tied", N=2000, n_components=(1, 1), weighted=False)
    rows, whitening = problem.rows, problem.whitening
    assert choice.climb_to(TARGET, rows, whitening, False).func is in_memory
    enough = BlockedRows.of(rows)
    assert (
        choice.climb_to(TARGET, RowsWithSample(rows, enough), whitening, False).func is with_sample
    )
    few = BlockedRows.of(next(rows.blocks(ENOUGH_ROWS * len(whitening.component) - 1)))
    assert choice.climb_to(TARGET, RowsWithSample(rows, few), whitening, False).func is in_memory


def test_where_blocks_are_less_work_they_climb(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(0, "tied")
    assert (
        AUTOMATIC.climb_to(TARGET, problem.rows, problem.whitening, False).func
        is newton.maximize_over_w
    )
    monkeypatch.setattr(SolverChoice, "uses_blocks", lambda *_: True)
    assert (
        AUTOMATIC.climb_to(TARGET, problem.rows, problem.whitening, False).func
        is truncated.maximize_by_blocks
    )
