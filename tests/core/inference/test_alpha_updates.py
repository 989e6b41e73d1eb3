"""Claims about one alpha per column: its evidence, its update, and what leaves with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.initialization import Start, initial_responsibilities, initial_state
from sdgm.core.inference.learning import class_shares, learn
from sdgm.core.inference.presets import FAST, PAPER, Options, with_ridge_prior
from sdgm.core.inference.pruning import evidence_of_weight, next_alpha, optimal_alpha
from sdgm.core.inference.sharing import SMALLEST_REST, evidence_of_columns, next_shared_alpha
from sdgm.core.model.design import feature_design
from sdgm.core.model.features import CovarianceType, monomials
from sdgm.core.model.state import State
from tests.core.test_pruning import Quadratic, quadratic
from tests.reference.problems import random_rows

SEEDS = settings(deadline=None, max_examples=40)(given(seed=st.integers(0, 10_000)))
SHARED = replace(FAST, share_columns=True)


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
    options = replace(SHARED, few_weights=0)
    alpha = np.ones(6)
    for _ in range(300):
        here = Quadratic(model.B, model.b, alpha)
        state = state_of(alpha, [0, 0, 0, 1, 1, 1], column.tolist())
        alpha, remove = next_shared_alpha(state, here.w, here.gamma, 0.0, options)
        assert (alpha[:3] == alpha[3:]).all() and not remove.any()
    step = 1e-4
    for h in range(3):
        up, down = (
            model.log_evidence(np.where(column == h, alpha * np.exp(sign * step), alpha))
            for sign in (1.0, -1.0)
        )
        assert abs(up - down) / (2.0 * step) < 1e-3


@pytest.mark.parametrize("options", [PAPER, replace(FAST, few_weights=0)], ids=["paper", "gradual"])
@SEEDS
def test_where_each_column_has_one_weight_the_gradual_update_is_the_paper_s(
    options: Options, seed: int
) -> None:
    model = quadratic(seed)
    n = len(model.b)
    state = state_of(model.alpha, [0] * n, list(range(n)))
    own = next_alpha(state, model.w, model.gamma, 0.0, n, options)
    shared = next_shared_alpha(
        state, model.w, model.gamma, 0.0, replace(options, share_columns=True)
    )
    np.testing.assert_allclose(shared[0], own[0], rtol=1e-12)
    np.testing.assert_array_equal(shared[1], own[1])


def test_a_ridge_prior_is_held() -> None:
    model = quadratic(0, n=6)
    state = state_of(np.full(6, 3.0), [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2])
    options = replace(with_ridge_prior(FAST, 3.0), share_columns=True)
    alpha, remove = next_shared_alpha(state, model.w, model.gamma, 0.0, options)
    assert (alpha == 3.0).all() and not remove.any()


# --- what leaves ---


def unneeded(n_columns: int) -> tuple[State, FloatArray, FloatArray]:
    """Two components whose weights of all columns but the last add no evidence."""
    component, column = np.divmod(np.arange(2 * n_columns), n_columns)
    state = state_of(np.ones(len(column)), component.tolist(), column.tolist())
    w = np.where(column == n_columns - 1, 5.0, 0.3 / (1.0 + column))
    return state, w, np.full(len(w), 0.5)


def test_of_few_columns_one_leaves_at_a_time_the_least_needed_and_as_a_whole() -> None:
    state, w, gamma = unneeded(4)
    _, remove = next_shared_alpha(state, w, gamma, 0.0, SHARED)
    assert set(state.column[remove].tolist()) == {2}  # the smallest weights
    assert remove.sum() == 2


def test_none_is_judged_far_from_the_mode() -> None:
    state, w, gamma = unneeded(4)
    _, remove = next_shared_alpha(state, w, gamma, 2.0 * SHARED.newton_tol, SHARED)
    assert not remove.any()


def test_of_many_columns_the_unneeded_make_haste_and_none_is_judged() -> None:
    state, w, gamma = unneeded(60)
    alpha, remove = next_shared_alpha(state, w, gamma, 0.0, SHARED)
    assert not remove[alpha < SHARED.alpha_cap].any()
    gradual, _ = next_shared_alpha(state, w, gamma, 0.0, replace(SHARED, few_weights=0))
    last = state.column == 59
    np.testing.assert_array_equal(alpha[last], gradual[last])
    assert (alpha >= gradual).all() and (alpha > gradual)[state.column == 0].all()


def test_columns_above_the_cap_leave_as_a_whole() -> None:
    state, w, gamma = unneeded(60)
    w = np.where(state.column == 7, 0.0, w)
    alpha, remove = next_shared_alpha(state, w, gamma, 0.0, SHARED)
    assert remove[state.column == 7].all()
    assert np.isfinite(alpha).all() and alpha.max() <= SHARED.alpha_cap


# --- learning ---


@pytest.mark.parametrize("n_components", [(1, 1), (2, 1), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("options", [FAST, replace(PAPER, max_iter=30)], ids=["fast", "paper"])
def test_after_every_pass_all_components_but_one_share_a_column_and_its_alpha(
    n_components: tuple[int, ...], options: Options
) -> None:
    options = replace(options, share_columns=True)
    X, y = random_rows(np.random.default_rng(3), 60, len(n_components))
    s, M = np.ones(60), np.array(n_components)
    design = feature_design(monomials(2, CovarianceType.FULL).transform(X)).scaled(s)
    start = initial_state(
        len(design.Rt), M, class_shares(y, s, options), alpha=0.1, pinned=options.pinned
    )
    r0 = initial_responsibilities(X, y, s, M, Start.KMEANS, 0)
    result = learn(Rows(design.Z, y, s, r0), design.Rt, start, options, keep_states=True)
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
    assert 0 < sizes[-1] < len(design.Rt) or options.few_weights == 0
