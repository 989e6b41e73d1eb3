"""Claims about backward elimination: where it goes, what a step costs, and how it ends."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.inference.learning import Result
from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.model.state import State, Stop
from sdgm.core.selection import elimination
from sdgm.core.selection.elimination import (
    Point,
    cheapest,
    eliminate,
    eliminate_within,
    mode_covariance,
    removal_costs,
    settled,
    settling,
    without,
)
from tests.reference.problems import Problem, design_of, random_problem
from tests.reference.tasks import shares


def exclusive_or(seed: int) -> Problem:
    """Two modes per class on the corners of a square, linear features: all components are needed.

    The first components of the classes lie at (0, 0) and (0, 1), the others opposite.
    """
    rng = np.random.default_rng(seed)
    corner = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    which = np.arange(48) % 4
    X = corner[which] - 0.5 + 0.25 * rng.normal(size=(48, 2))
    Phi, design = design_of("tied", X)
    state = State(
        w=np.column_stack([np.full(4, -1.0), 4.0 * corner - 2.0]).ravel(),
        alpha=rng.uniform(0.02, 0.1, size=12),
        component=np.repeat(np.arange(4), 3),
        column=np.tile(np.arange(3), 4),
        pi=np.full(4, 0.25),
        component_class=np.array([0, 0, 1, 1]),
    )
    rows = Rows(design.Z, which // 2, rng.uniform(0.5, 2.0, size=48))
    return Problem(Phi, rows, design.Rt, state)


PROBLEMS = {
    "needed mixtures": {},
    "mixtures": {"form": "full", "n_components": (2, 1, 3)},
    "softmax": {"form": "full", "n_components": (1, 1, 1), "kept": 1.0},
    "two classes": {"form": "poly", "n_components": (1, 1), "kept": 0.3},
    "rbf mixtures": {"form": "rbf", "n_components": (2, 2), "kept": 0.2},
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)
few_examples = settings(max_examples=8, deadline=None, derandomize=True)


@cache
def problem(name: str, seed: int = 0) -> Problem:
    if name == "needed mixtures":
        return exclusive_or(seed)
    return random_problem(seed, N=40, **PROBLEMS[name])


@cache
def path(name: str, seed: int = 0, recipe: Recipe = FAST) -> list[Point]:
    given = problem(name, seed)
    return list(eliminate(given.rows, given.Rt, given.state, recipe, step=1))


def log_posterior(given: Problem, state: State, w: FloatArray) -> float:
    at = replace(given, state=state)
    return at.log_likelihood(w) - 0.5 * float(state.alpha @ w**2)


def class_posterior(given: Problem, state: State) -> FloatArray:
    P_cm = replace(given, state=state).P_cm(state.w)
    return np.stack([P_cm[:, state.component_class == c].sum(axis=1) for c in range(3)], axis=1)


def settled_without(given: Problem, state: State, i: int) -> Point:
    keep = np.arange(state.n_weights) != i
    return settled(given.rows, given.Rt, state.keep_weights(keep), 0.0, settling(FAST))


# --- the points ---


@every_problem
@pytest.mark.parametrize("recipe", [FAST, PAPER], ids=["fast", "paper"])
def test_every_point_is_a_mode_and_its_pi_a_fixed_point(name: str, recipe: Recipe) -> None:
    given = problem(name)
    share = shares(recipe, given.rows.y, given.rows.s)
    for point in path(name, recipe=recipe):
        state, h = point.state, 1e-5
        for i in range(state.n_weights):
            e = h * np.eye(state.n_weights)[i]
            up, down = (log_posterior(given, state, state.w + d) for d in (e, -e))
            slope = (up - down) / (2 * h)
            # in units of the posterior deviation, which alpha bounds
            assert abs(slope) < 1e-3 * max(1.0, np.sqrt(state.alpha[i]))
            assert max(up, down) < log_posterior(given, state, state.w) + 1e-6
        r_sum = given.rows.s @ replace(given, state=state).r(state.w)
        of_class = np.bincount(state.component_class, r_sum)
        pi = r_sum / of_class[state.component_class] * share[state.component_class]
        np.testing.assert_allclose(state.pi, pi, rtol=1e-3, atol=2 * recipe.min_share)
        assert point.log_posterior == pytest.approx(log_posterior(given, state, state.w), abs=1e-3)


@every_problem
def test_points_are_nested_and_end_with_nothing(name: str) -> None:
    points = path(name)
    assert points[0].state.n_weights == problem(name).state.n_weights
    for before, after in pairwise(points):
        n_before, n_after = before.state.n_weights, after.state.n_weights
        assert n_after < n_before
        if n_after < n_before - 1:
            fewer = after.state.n_components < before.state.n_components
            common = np.bincount(before.state.column).max() == before.state.n_components
            assert fewer or common
        if after.state.n_components == before.state.n_components:
            pairs = [
                set(zip(s.component.tolist(), s.column.tolist(), strict=True))
                for s in (before.state, after.state)
            ]
            assert pairs[1] < pairs[0]
        columns = [set(s.column.tolist()) for s in (before.state, after.state)]
        assert columns[1] <= columns[0]
    last = points[-1].state
    assert last.n_weights == 0
    assert last.n_components == last.component_class[-1] + 1
    np.testing.assert_allclose(
        last.pi, shares(FAST, problem(name).rows.y, problem(name).rows.s), rtol=1e-12
    )


@every_problem
def test_precisions_are_held_where_a_weight_is_removed(name: str) -> None:
    removals = [pair for pair in pairwise(path(name)) if pair[1].cost > 0.0]
    assert len(removals) >= 5
    for before, after in removals:
        known, now = (
            set(zip(each.state.alpha.tolist(), each.state.column.tolist(), strict=True))
            for each in (before, after)
        )
        assert now < known


def test_a_column_of_all_components_is_written_with_one_weight_less_first() -> None:
    given = problem("softmax")
    first, second = path("softmax")[:2]
    H = given.Phi.shape[1]
    assert first.state.n_weights == 3 * H and second.state.n_weights == 2 * H
    assert second.cost == 0.0
    # up to the wider prior of differences, it is the same model
    gap = np.abs(class_posterior(given, first.state) - class_posterior(given, second.state))
    assert gap.mean() < 0.05


def test_two_classes_lose_nothing_by_writing_differences() -> None:
    given = random_problem(1, "full", N=40, n_components=(1, 1), kept=1.0)
    first, second = list(eliminate(given.rows, given.Rt, given.state, FAST, min_weights=6))[:2]
    assert (first.state.n_weights, second.state.n_weights) == (12, 6)
    assert second.log_posterior == pytest.approx(first.log_posterior, abs=1e-6)
    np.testing.assert_allclose(
        replace(given, state=first.state).P_cm(first.state.w),
        replace(given, state=second.state).P_cm(second.state.w),
        atol=1e-4,
    )


# --- what a step costs ---


@few_examples
@given(st.sampled_from(list(PROBLEMS)), st.integers(0, 3))
def test_the_covariance_is_the_inverse_second_derivative(name: str, seed: int) -> None:
    given = problem(name, seed)
    state = settled(given.rows, given.Rt, given.state, 0.0, settling(FAST)).state
    V = mode_covariance(given.rows, given.Rt, state)
    h, n = 1e-4, state.n_weights
    e = h * np.eye(n)

    def grad(w: FloatArray) -> FloatArray:
        at = replace(given, state=state)
        return at.grad_J(w, at.r(w)) - state.alpha * w  # Fisher's identity

    hessian = np.stack([(grad(state.w + d) - grad(state.w - d)) / (2 * h) for d in e])
    scale = np.sqrt(V.diagonal())
    np.testing.assert_allclose(
        V / scale / scale[:, None], np.linalg.inv(-hessian) / scale / scale[:, None], atol=1e-4
    )


def test_without_mixtures_the_covariance_is_lambda() -> None:
    given, state = problem("softmax"), path("softmax")[0].state
    np.testing.assert_allclose(
        mode_covariance(given.rows, given.Rt, state),
        laplace_covariance(given.rows, given.Rt, state),
        rtol=1e-9,
    )


@every_problem
def test_the_cost_is_the_loss_of_log_posterior_for_small_weights(name: str) -> None:
    given = problem(name)
    # a mode with small weights: heavy precisions draw them to zero
    state = replace(given.state, alpha=200.0 * given.state.alpha)
    state = settled(given.rows, given.Rt, state, 0.0, settling(FAST)).state
    V = mode_covariance(given.rows, given.Rt, state)
    before = log_posterior(given, state, state.w)
    for i in range(0, state.n_weights, 3):
        smaller, cost = without(state, V, np.array([i]))
        assert cost == pytest.approx(removal_costs(state.w, V)[i])
        loss = before - log_posterior(given, smaller, smaller.w)
        assert loss == pytest.approx(cost, rel=0.1, abs=1e-6)


def test_the_others_move_to_the_best_place_of_the_quadratic() -> None:
    rng = np.random.default_rng(0)
    state = path("softmax")[0].state
    n = state.n_weights
    A = rng.normal(size=(n, 2 * n))
    precision = A @ A.T
    V = np.linalg.inv(precision)
    which = np.array([2, 7, 4])
    smaller, cost = without(state, V, which)
    rest = np.setdiff1d(np.arange(n), which)
    # minimise (w' - w)' precision (w' - w) / 2 with w' zero on `which`
    B = precision[np.ix_(rest, rest)]
    best = np.linalg.solve(B, precision[rest] @ state.w)
    np.testing.assert_allclose(smaller.w, best, rtol=1e-8)
    difference = -state.w.copy()
    difference[rest] += best
    assert cost == pytest.approx(0.5 * difference @ precision @ difference, rel=1e-8)


def test_several_at_once_are_chosen_as_one_after_the_other() -> None:
    given, state = problem("mixtures"), path("mixtures")[0].state
    V = mode_covariance(given.rows, given.Rt, state)
    together = cheapest(state.w, V, 4)
    left, w, now = np.arange(state.n_weights), state.w, V
    for i in together.tolist():
        place = int(np.flatnonzero(left == i)[0])
        assert removal_costs(w, now)[place] == pytest.approx(removal_costs(w, now).min())
        precision = np.linalg.inv(now)
        rest = np.arange(len(w)) != place
        w = np.linalg.solve(precision[np.ix_(rest, rest)], precision[rest] @ w)
        now = np.linalg.inv(precision[np.ix_(rest, rest)])
        left = left[rest]
    assert len(set(together.tolist())) == 4


@pytest.mark.parametrize("name", ["softmax", "needed mixtures"])
def test_most_steps_are_those_of_trying_every_weight(name: str) -> None:
    given, n_same, n_steps = problem(name), 0, 0
    for before, after in pairwise(path(name)):
        state = before.state
        if not 2 <= state.n_weights <= 14 or after.cost == 0.0:
            continue
        tried = [settled_without(given, state, i) for i in range(state.n_weights)]
        best = max(point.log_posterior for point in tried)
        n_steps += 1
        n_same += after.log_posterior > best - 1e-3
    assert n_steps >= 5
    assert n_same >= 0.8 * n_steps


def test_a_dear_weight_is_chosen_by_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem("mixtures")
    monkeypatch.setattr(elimination, "TRUSTED", np.inf)
    by_quadratic = list(eliminate(given.rows, given.Rt, given.state, FAST, step=1))
    # neither is best everywhere; step by step from the same state, trying is never worse
    monkeypatch.setattr(elimination, "TRUSTED", -np.inf)
    for before, after in pairwise(by_quadratic):
        if after.cost == 0.0:
            continue
        n = before.state.n_weights
        tried = list(eliminate(given.rows, given.Rt, before.state, FAST, step=1, min_weights=n - 1))
        assert tried[-1].log_posterior >= after.log_posterior - 1e-3


# --- the course ---


def test_the_same_path_twice() -> None:
    given = problem("mixtures")
    again = list(eliminate(given.rows, given.Rt, given.state, FAST, step=1))
    for one, other in zip(path("mixtures"), again, strict=True):
        np.testing.assert_array_equal(one.state.w, other.state.w)
        np.testing.assert_array_equal(one.state.column, other.state.column)
        assert one.log_evidence == other.log_evidence


@pytest.mark.parametrize("step", [1, 3, 50])
def test_a_path_ends_at_the_least_number_of_weights(step: int) -> None:
    given = problem("rbf mixtures")
    points = list(eliminate(given.rows, given.Rt, given.state, FAST, min_weights=9, step=step))
    assert points[-2].state.n_weights > 9
    assert points[-1].state.n_weights <= 9
    if points[-1].state.n_components == points[-2].state.n_components:
        assert points[-1].state.n_weights == 9


def test_a_floor_above_the_weights_leaves_one_point() -> None:
    given = problem("mixtures")
    points = list(eliminate(given.rows, given.Rt, given.state, FAST, min_weights=1000))
    assert [point.cost for point in points] == [0.0]


def test_many_weights_leave_a_share_at_a_time() -> None:
    given = random_problem(0, "rbf", N=60, n_components=(2, 2), kept=0.9)
    assert given.state.n_weights > 150
    points = list(eliminate(given.rows, given.Rt, given.state, FAST, min_weights=140))
    n = [point.state.n_weights for point in points]
    assert n[0] - n[1] == 3 and len(n) <= 12


def test_an_interrupt_ends_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem("mixtures")
    points = eliminate(given.rows, given.Rt, given.state, FAST)
    next(points)
    monkeypatch.setattr(Recipe, "learn", lambda *_: Result(given.state, [], Stop.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        next(points)


def test_a_component_without_rows_leaves_with_its_weights() -> None:
    given = problem("mixtures")
    first, second = path("mixtures")[:2]
    idle = first.state.pi < 2.0 * FAST.min_share
    assert idle.any() and second.state.n_components == 6 - idle.sum()
    assert second.state.n_weights <= (~idle[first.state.component]).sum()
    before, after = (class_posterior(given, each.state) for each in (first, second))
    # columns that all of the others use are written as differences too, with a wider prior
    assert np.abs(before - after).mean() < 0.02


def test_components_that_are_needed_stay_while_they_have_weights() -> None:
    points = path("needed mixtures")
    assert points[0].state.n_components == 4
    enough = [each for each in points if each.state.n_weights >= 6]
    assert len(enough) >= 3
    assert all(each.state.n_components == 4 for each in enough)


# --- as far as there is room ---


@every_problem
def test_no_point_is_beyond_the_room_and_no_weight_more_could_leave(name: str) -> None:
    given = problem(name)
    total = float(given.rows.s.sum())
    first = path(name)[0]

    def loss(state: State) -> float:
        return (first.log_posterior - log_posterior(given, state, state.w)) / total

    def room(state: State) -> float:
        return 0.05 - loss(state)

    points = list(eliminate_within(given.rows, given.Rt, given.state, FAST, room))
    n = [point.state.n_weights for point in points]
    assert all(after < before for before, after in pairwise(n))
    assert all(loss(point.state) <= 0.05 for point in points)
    # one at a time, each settled in full, comes about as far
    alone = min(p.state.n_weights for p in path(name) if loss(p.state) <= 0.05)
    assert n[-1] <= 1.15 * alone + 1


def test_without_room_nothing_leaves() -> None:
    given = problem("softmax")
    assert not list(eliminate_within(given.rows, given.Rt, given.state, FAST, lambda state: -1.0))


def test_one_weight_is_left_where_there_is_room_for_anything() -> None:
    given = problem("softmax")
    *_, last = eliminate_within(given.rows, given.Rt, given.state, FAST, lambda state: 1e6)
    assert last.state.n_weights == 1


@pytest.mark.parametrize("name", ["softmax", "two classes"])
def test_the_cheapest_within_a_budget_cost_no_more(name: str) -> None:
    given = problem(name)
    state = path(name)[0].state
    V = mode_covariance(given.rows, given.Rt, state)
    some = cheapest(state.w, V, 5)
    cost = without(state, V, some)[1]
    np.testing.assert_array_equal(cheapest(state.w, V, state.n_weights, 1.001 * cost)[:5], some)
    assert len(cheapest(state.w, V, state.n_weights, 0.999 * cost)) < 5
    assert len(cheapest(state.w, V, state.n_weights, 0.0)) == 1
