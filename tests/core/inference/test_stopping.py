"""Claims about when learning has converged, or ends because its evidence hardly grows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import (
    IDLE_PASSES,
    SAMPLE_GAIN,
    STALLED_PASSES,
    Settled,
    SettledOrIdle,
    SettledOrStalled,
    has_stalled,
    log_change,
)
from sdgm.core.inference.learning import Result
from sdgm.core.inference.mode import NEVER, Mode, always
from sdgm.core.inference.recipe import FAST, Recipe
from sdgm.core.inference.variations import for_sample
from sdgm.core.model.design import feature_design
from sdgm.core.model.features import CovarianceType, monomials
from sdgm.core.model.state import Record, Stop
from sdgm.core.solvers.block_precision import BlockPrecision
from sdgm.core.solvers.newton import newton_point
from tests.reference.problems import Problem, random_problem
from tests.reference.tasks import start_of


def records(evidence: list[float]) -> list[Record]:
    return [Record(i, 0.0, 0.0, e, 1, 1, 0.0, 1, 0.0) for i, e in enumerate(evidence)]


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ([0.0] * 10, False),  # too few passes to tell
        ([0.0] * 11, True),
        ([0.1 * i for i in range(20)], True),  # one in ten passes
        ([0.2 * i for i in range(20)], False),
        ([-0.3 * i for i in range(20)], True),  # it only falls
        ([0.0, -30.0, -25.0, *[-20.0 + i for i in range(10)]], False),  # fell at first
    ],
)
def test_the_evidence_is_compared_with_the_lowest_of_ten_passes(evidence, expected) -> None:
    assert has_stalled(records(evidence), 1.5) is expected


def learned(recipe: Recipe) -> Result:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    X = rng.normal(size=(3000, 6)) @ (np.eye(6) + 0.3 * rng.normal(size=(3, 6, 6)))
    X, s, one_each = X[y, np.arange(3000)], np.ones(3000), np.ones(3, dtype=int)
    Phi = monomials(6, CovarianceType.FULL).transform((X - X.mean(axis=0)) / X.std(axis=0))
    design = feature_design(Phi).scaled(s)
    state = start_of(recipe, Phi.shape[1], one_each, y, s)
    rows = Rows(design.Z, y, s, np.asfortranarray(np.eye(3)[y]))
    return recipe.learn(rows, design.Rt, recipe.begun(state))


def test_a_sample_is_learned_from_until_then_and_no_longer() -> None:
    to_the_end, rough = learned(FAST), learned(for_sample(FAST))
    assert rough.stop is Stop.CONVERGED
    assert len(rough.records) < len(to_the_end.records)
    least = SAMPLE_GAIN * rough.state.n_weights
    assert has_stalled(rough.records, least) and not has_stalled(rough.records[:-1], least)


def test_change_is_the_largest_relative_one() -> None:
    before, after = np.array([1.0, 2.0, 30.0]), np.array([2.0, 1.9, 12.0])
    assert log_change(before, after) == pytest.approx(np.log(2.5))
    assert log_change(np.empty(0), np.empty(0)) == 0.0


# --- the rules ---

PROBLEM = random_problem(0)
SMALL = np.ones(3), np.array([1.0, 1.005, 1.0])
FLAT = records([0.0] * 11)


def mode_of(
    problem: Problem, *, is_reached: bool = True, has_initial_r: bool = False, blocks: bool = False
) -> Mode:
    point = newton_point(problem.rows, problem.whitening, problem.mixture(), problem.theta, None)
    if blocks:
        diagonal = [np.zeros((w.stop - w.start,) * 2) for w in problem.whitening.coordinates]
        precision = BlockPrecision.from_blocks(problem.whitening.coordinates, diagonal)
        point = point._replace(precision=precision)
    return Mode(point, point.fit.r_sum, 1, is_reached, has_initial_r)


def test_learning_has_converged_at_a_mode_where_nothing_leaves_and_little_changes() -> None:
    settled, state, mode = Settled(tol=1e-2), PROBLEM.state, mode_of(PROBLEM)
    assert settled(SMALL, state, state, mode, [])
    assert not Settled(tol=1e-3)(SMALL, state, state, mode, [])
    assert Settled(tol=0.0, squared_tol=1e-4)(SMALL, state, state, mode, [])
    assert not settled(SMALL, state, state, mode_of(PROBLEM, is_reached=False), [])
    assert not settled(SMALL, state, state, mode_of(PROBLEM, has_initial_r=True), [])
    fewer = state.keep_weights(np.arange(state.n_weights) > 0)
    assert not settled(SMALL, state, fewer, mode, [])


def test_a_stall_counts_with_the_evidence_of_blocks_or_of_a_sample_unless_learning_waits() -> None:
    state, large = PROBLEM.state, (np.ones(1), np.full(1, 9.0))
    exact, by_blocks = mode_of(PROBLEM), mode_of(PROBLEM, blocks=True)
    for rule, mode, stalls in (
        (Settled, exact, False),
        (Settled, by_blocks, True),
        (SettledOrStalled, exact, True),
    ):
        assert rule(tol=1e-2, waits=NEVER)(large, state, state, mode, FLAT) is stalls
        assert rule(tol=1e-2, waits=always)(large, state, state, mode, FLAT) is False
    # of a sample wherever w is, since all rows decide again
    on_the_way = mode_of(PROBLEM, is_reached=False, blocks=True)
    assert not Settled(tol=1e-2)(large, state, state, on_the_way, FLAT)
    assert SettledOrStalled(tol=1e-2)(large, state, state, on_the_way, FLAT)


def test_a_stall_needs_ten_passes_after_the_lowest_and_a_smaller_rise() -> None:
    flat = [0.0] * STALLED_PASSES
    assert not has_stalled(records(flat), 1.0) and has_stalled(records([*flat, 0.0]), 1.0)
    assert not has_stalled(records([*flat, 1.0]), 1.0)  # as much as that is no stall
    # a low point that is one pass too old does not count
    assert has_stalled(records([-5.0, *flat, 0.0]), 1.0)
    assert not has_stalled(records([-5.0, *flat]), 1.0)


def test_a_student_ends_when_no_weight_has_left_for_long() -> None:
    state, large, mode = PROBLEM.state, (np.ones(1), np.full(1, 9.0)), mode_of(PROBLEM)
    rule = SettledOrIdle(tol=1e-2, waits=always)
    rising = records([float(i) for i in range(IDLE_PASSES + 1)])
    now = [replace(record, n_weights=state.n_weights) for record in rising]
    assert rule(large, state, state, mode, now)
    assert not rule(large, state, state, mode, now[1:])
    one_more = replace(now[0], n_weights=state.n_weights + 1)
    assert not rule(large, state, state, mode, [one_more, *now[1:]])
