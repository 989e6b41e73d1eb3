"""Claims about one alpha per column: its evidence, its update, and what leaves with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.initialization import Start, initial_responsibilities, initial_state
from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.inference.relevance import (
    SMALLEST_REST,
    SharedMacKay,
    SharedTwoPhase,
    evidence_of_columns,
    evidence_of_weight,
    optimal_alpha,
)
from sdgm.core.inference.variations import limited, with_ridge_prior, with_shared_columns
from sdgm.core.model.design import feature_design
from sdgm.core.model.features import CovarianceType, monomials
from sdgm.core.model.state import State
from tests.reference.problems import random_rows
from tests.reference.quadratics import Quadratic, mode, quadratic
from tests.reference.recipes import gradual
from tests.reference.tasks import shares, task

SEEDS = settings(deadline=None, max_examples=40)(given(seed=st.integers(0, 10_000)))
SHARED = with_shared_columns(FAST)
UPDATE = SHARED.method.update_alpha
GRADUAL = SharedMacKay(UPDATE.bounds)


def single(n: int) -> IntArray:
    """Groups of one weight each."""
    return np.arange(n)


def state_of(alpha: FloatArray, component: list[int], column: list[int]) -> State:
    K = max(component) + 1
    return State(
        w=np.zeros(len(alpha)),
        alpha=alpha,
        component=np.array(component),
        column=np.array(column),
        pi=np.full(K, 1.0 / K),
        component_class=np.arange(K),
    )


# --- the evidence that a column adds ---


@SEEDS
def test_a_column_of_one_weight_adds_what_the_evidence_loses_without_it(seed: int) -> None:
    model = quadratic(seed)
    n = len(model.b)
    gain = evidence_of_columns(model.alpha, model.w, model.gamma, single(n))
    here = model.log_evidence(model.alpha)
    without = [model.log_evidence(model.with_alpha(h, np.inf)) for h in range(n)]
    np.testing.assert_allclose(gain, here - np.array(without), atol=1e-8)


@SEEDS
def test_at_its_best_alpha_a_single_weight_adds_what_pruning_says(seed: int) -> None:
    model = quadratic(seed)
    best = optimal_alpha(model.alpha, model.gamma, model.ratio)
    for h in np.flatnonzero(np.isfinite(best)).tolist():
        there = Quadratic(model.B, model.b, model.with_alpha(h, best[h]))
        gain = evidence_of_columns(there.alpha, there.w, there.gamma, single(len(model.b)))
        assert gain[h] == pytest.approx(evidence_of_weight(there.ratio)[h], abs=1e-7)
        # and with any other alpha it adds less
        now = evidence_of_columns(model.alpha, model.w, model.gamma, single(len(model.b)))
        assert now[h] <= gain[h] + 1e-8


@SEEDS
def test_independent_weights_of_a_column_add_up(seed: int) -> None:
    dense = quadratic(seed, n=6)
    model = Quadratic(np.diag(dense.B.diagonal()), dense.b, dense.alpha)
    group = np.array([0, 0, 1, 1, 1, 2])
    gain = evidence_of_columns(model.alpha, model.w, model.gamma, group)
    here = model.log_evidence(model.alpha)
    for column in range(3):
        without = model.log_evidence(np.where(group == column, np.inf, model.alpha))
        assert gain[column] == pytest.approx(here - without, abs=1e-8)


def test_weights_that_the_data_ignore_or_fix_have_finite_evidence() -> None:
    alpha, w, gamma = np.array([1e5, 1e-8]), np.array([0.0, 3.0]), np.array([0.0, 1.0])
    gain = evidence_of_columns(alpha, w, gamma, single(2))
    assert gain[0] == 0.0
    assert gain[1] == pytest.approx(0.5 * (9e-8 / SMALLEST_REST + np.log(SMALLEST_REST)))


# --- the update of alpha ---


@pytest.mark.parametrize("seed", [2, 3, 9])
def test_the_update_settles_where_the_evidence_of_a_common_alpha_is_stationary(seed: int) -> None:
    model = quadratic(seed, n=6)
    column = np.array([0, 1, 2, 0, 1, 2])
    alpha = np.ones(6)
    for _ in range(300):
        here = Quadratic(model.B, model.b, alpha)
        state = state_of(alpha, [0, 0, 0, 1, 1, 1], column.tolist())
        step = GRADUAL(state, here.w, here.gamma, mode(), 3)
        alpha = step.alpha
        assert (alpha[:3] == alpha[3:]).all() and step.keep.all()
    step = 1e-4
    for h in range(3):
        up, down = (
            model.log_evidence(np.where(column == h, alpha * np.exp(sign * step), alpha))
            for sign in (1.0, -1.0)
        )
        assert abs(up - down) / (2.0 * step) < 1e-3


@pytest.mark.parametrize("recipe", [PAPER, gradual(FAST)], ids=["paper", "gradual"])
@SEEDS
def test_where_each_column_has_one_weight_the_gradual_update_is_the_paper_s(
    recipe: Recipe, seed: int
) -> None:
    model = quadratic(seed)
    n = len(model.b)
    state = state_of(model.alpha, [0] * n, list(range(n)))
    own, shared = (
        each.method.update_alpha(state, model.w, model.gamma, mode(), n)
        for each in (recipe, with_shared_columns(recipe))
    )
    np.testing.assert_allclose(shared.alpha, own.alpha, rtol=1e-12)
    np.testing.assert_array_equal(shared.keep, own.keep)


def test_a_ridge_prior_is_held() -> None:
    given = task(with_shared_columns(with_ridge_prior(FAST, 3.0)), max_iter=3)
    state = given.learn().state
    assert (state.alpha == 3.0).all() and state.n_weights == given.state.n_weights


# --- what leaves ---


def unneeded(n_columns: int) -> tuple[State, FloatArray, FloatArray]:
    """Two components whose weights of all columns but the last add no evidence."""
    component, column = np.divmod(np.arange(2 * n_columns), n_columns)
    state = state_of(np.ones(len(column)), component.tolist(), column.tolist())
    w = np.where(column == n_columns - 1, 5.0, 0.3 / (1.0 + column))
    return state, w, np.full(len(w), 0.5)


def test_of_few_columns_one_leaves_at_a_time_the_least_needed_and_as_a_whole() -> None:
    state, w, gamma = unneeded(4)
    remove = ~UPDATE(state, w, gamma, mode(), 4).keep
    assert set(state.column[remove].tolist()) == {2}  # the smallest weights
    assert remove.sum() == 2


def test_none_is_judged_far_from_the_mode() -> None:
    state, w, gamma = unneeded(4)
    assert UPDATE(state, w, gamma, mode(is_reached=False), 4).keep.all()


def test_of_many_columns_the_unneeded_make_haste_and_none_is_judged() -> None:
    state, w, gamma = unneeded(60)
    step = UPDATE(state, w, gamma, mode(), 60)
    alpha = step.alpha
    assert step.keep[alpha < UPDATE.bounds.cap].all()
    gradual = GRADUAL(state, w, gamma, mode(), 60).alpha
    last = state.column == 59
    np.testing.assert_array_equal(alpha[last], gradual[last])
    assert (alpha >= gradual).all() and (alpha > gradual)[state.column == 0].all()


def test_columns_above_the_cap_leave_as_a_whole() -> None:
    state, w, gamma = unneeded(60)
    w = np.where(state.column == 7, 0.0, w)
    alpha, keep, _ = UPDATE(state, w, gamma, mode(), 60)
    assert not keep[state.column == 7].any()
    assert np.isfinite(alpha).all() and alpha.max() <= UPDATE.bounds.cap


# --- learning ---


@pytest.mark.parametrize("n_components", [(1, 1), (2, 1), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("recipe", [FAST, limited(PAPER, max_iter=30)], ids=["fast", "paper"])
def test_after_every_pass_all_components_but_one_share_a_column_and_its_alpha(
    n_components: tuple[int, ...], recipe: Recipe
) -> None:
    recipe = with_shared_columns(recipe)
    X, y = random_rows(np.random.default_rng(3), 60, len(n_components))
    s, M = np.ones(60), np.array(n_components)
    design = feature_design(monomials(2, CovarianceType.FULL).transform(X)).scaled(s)
    pinned = recipe.preparation.pinned
    start = initial_state(len(design.Rt), M, shares(recipe, y, s), alpha=0.1, pinned=pinned)
    r0 = initial_responsibilities(X, y, s, M, Start.KMEANS, 0)
    rows = Rows(design.Z, y, s, r0)
    result = recipe.learn(rows, design.Rt, recipe.begun(start), keep_states=True)
    sizes = []
    for record in result.records:
        state = record.state
        assert state is not None
        columns, uses = np.unique(state.column, return_counts=True)
        assert (uses >= state.n_components - 1).all()
        for h in columns.tolist():
            assert np.ptp(np.log(state.alpha[state.column == h])) < 1e-10
        sizes.append(len(columns))
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < sizes[-1] < len(design.Rt) or not isinstance(
        recipe.method.update_alpha, SharedTwoPhase
    )
