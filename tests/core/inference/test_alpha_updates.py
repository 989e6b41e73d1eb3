"""Claims about how the precisions of single weights move, and which weights leave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sdgm._typing import BoolArray, FloatArray
from sdgm.core.inference.recipe import FAST
from sdgm.core.inference.relevance import (
    CLEARLY_NEEDED,
    OVERRELAXATION,
    AlphaUpdate,
    Bounds,
    MacKay,
    evidence_of_weight,
    least_needed,
    optimal_alpha,
    overrelaxed,
    quality_over_sparsity,
)
from sdgm.core.model.state import State
from tests.reference.quadratics import Quadratic, mode, quadratic

UPDATE = FAST.method.update_alpha
BOUNDS = UPDATE.bounds
SEEDS = settings(deadline=None, max_examples=60)(given(seed=st.integers(0, 10_000)))


@SEEDS
def test_quality_and_sparsity_are_those_of_tipping_and_faul(seed: int) -> None:
    model = quadratic(seed)
    # S = phi' B phi - phi' B Phi Lambda Phi' B phi, Q = phi' (t - y), and without the weight
    # itself s = alpha S / (alpha - S), q = alpha Q / (alpha - S)
    S = np.diag(model.B - model.B @ model.Lambda @ model.B)
    Q = model.b - model.B @ model.w
    s, q = model.alpha * S / (model.alpha - S), model.alpha * Q / (model.alpha - S)
    np.testing.assert_allclose(model.ratio, q**2 / s, rtol=1e-7)
    best = np.full(len(s), np.inf)
    needed = q**2 > s
    best[needed] = s[needed] ** 2 / (q[needed] ** 2 - s[needed])
    np.testing.assert_allclose(
        optimal_alpha(model.alpha, model.gamma, model.ratio), best, rtol=1e-6
    )


@SEEDS
def test_evidence_of_a_weight_is_what_the_evidence_loses_without_it(seed: int) -> None:
    model = quadratic(seed)
    best = optimal_alpha(model.alpha, model.gamma, model.ratio)
    gain = evidence_of_weight(model.ratio)
    for h in range(len(model.b)):
        without = model.log_evidence(model.with_alpha(h, np.inf))
        at_best = model.log_evidence(model.with_alpha(h, best[h]))
        assert gain[h] == pytest.approx(at_best - without, abs=1e-8)


@SEEDS
def test_no_alpha_has_more_evidence_than_the_optimal_one(seed: int) -> None:
    model = quadratic(seed)
    best = optimal_alpha(model.alpha, model.gamma, model.ratio)
    for h in range(len(model.b)):
        at_best = model.log_evidence(model.with_alpha(h, best[h]))
        search = minimize_scalar(
            lambda log_alpha, h=h: -model.log_evidence(model.with_alpha(h, np.exp(log_alpha))),
            bounds=(-15, 15),
            method="bounded",
        )
        assert at_best >= -search.fun - 1e-8


def test_optimal_alpha_is_a_fixed_point_of_the_gradual_update() -> None:
    n_needed = 0
    for seed in range(10):
        model = quadratic(seed)
        best = optimal_alpha(model.alpha, model.gamma, model.ratio)
        for h in np.flatnonzero(np.isfinite(best)).tolist():
            there = Quadratic(model.B, model.b, model.with_alpha(h, best[h]))
            assert there.gamma[h] / there.w[h] ** 2 == pytest.approx(best[h], rel=1e-6)
            n_needed += 1
    assert 5 < n_needed < 45  # some are needed and some are not


def test_weights_that_the_data_ignore_or_fix_give_no_warning() -> None:
    alpha, w = np.array([1e5, 1e-8, 1.0]), np.array([0.0, 3.0, 0.0])
    gamma = np.array([0.0, 1.0, 0.5])
    ratio = quality_over_sparsity(alpha, w, gamma)
    assert ratio[0] == 0.0 and ratio[2] == 0.0 and ratio[1] > 1e10
    best = optimal_alpha(alpha, gamma, ratio)
    assert np.isinf(best[[0, 2]]).all() and not np.isnan(best).any()
    assert not np.isnan(evidence_of_weight(ratio)).any()


def test_evidence_of_a_weight_is_zero_up_to_ratio_one_and_rises_beyond() -> None:
    gain = evidence_of_weight(np.array([0.0, 0.5, 1.0, 2.0, np.e, 100.0]))
    np.testing.assert_array_equal(gain[:3], 0.0)
    assert gain[4] == pytest.approx((np.e - 2.0) / 2.0)
    assert (np.diff(gain[2:]) > 0).all()


@settings(deadline=None)
@given(
    entries=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 9), st.floats(0.0, 5.0)), max_size=30
    ),
    min_evidence=st.floats(0.0, 1.0),
    rank=st.integers(1, 12),
)
def test_least_needed_weights_leave_first_and_few_related_ones_at_once(
    entries: list[tuple[int, int, float]], min_evidence: float, rank: int
) -> None:
    component, column = (np.array([e[i] for e in entries], dtype=int) for i in (0, 1))
    ratio = np.array([e[2] for e in entries], dtype=float)
    remove = least_needed(ratio, component, column, min_evidence, rank)
    unneeded = evidence_of_weight(ratio) < min_evidence
    assert not remove[~unneeded].any()
    # one per column; one per component, or half of what it has beyond the rank
    assert len(set(column[remove])) == remove.sum()
    n_weights = np.bincount(component, minlength=4)
    quota = np.maximum((n_weights - rank) // 2, 1)
    n_removed = np.bincount(component[remove], minlength=4)
    assert (n_removed <= quota).all()
    # who is unneeded and stays does so because relatives that are needed less have left
    for i in np.flatnonzero(unneeded & ~remove):
        same_column = remove & (column == column[i])
        same_component = remove & (component == component[i])
        if n_removed[component[i]] == quota[component[i]]:
            assert (ratio[same_component] <= ratio[i]).all() or (
                ratio[same_column] <= ratio[i]
            ).any()
        else:
            assert (ratio[same_column] <= ratio[i]).any()


def test_least_needed_takes_the_smallest_ratio_of_each_component() -> None:
    ratio = np.array([0.5, 0.2, 9.0, 0.9, 0.3])
    component, column = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 1])
    # in component 1 the least one is related by its column to the one that leaves component 0
    np.testing.assert_array_equal(
        least_needed(ratio, component, column, 0.05, rank=6), [False, True, False, True, False]
    )


def test_component_with_more_weights_than_rank_loses_several_at_once() -> None:
    ratio = np.linspace(0.1, 1.0, 10)
    component, column = np.zeros(10, dtype=int), np.arange(10)
    remove = least_needed(ratio, component, column, 0.05, rank=4)
    np.testing.assert_array_equal(np.flatnonzero(remove), [0, 1, 2])  # half of six


# --- the next alphas ---

# many more weights than the final phase allows, or few
CROWD, HANDFUL = 200, 5


def next_of(
    update: AlphaUpdate, n: int = HANDFUL, *, is_reached: bool = True, seed: int = 0
) -> tuple[Quadratic, FloatArray, BoolArray]:
    """A quadratic model of one component's weights, the alphas that follow, and who leaves."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(2 * n, n))
    target = Phi @ (2.0 * rng.normal(size=n) * (rng.random(n) < 0.6)) + rng.normal(size=2 * n)
    model = Quadratic(Phi.T @ Phi, Phi.T @ target, 10.0 ** rng.uniform(-1, 1, size=n))
    state = State(
        w=np.zeros(n),
        alpha=model.alpha,
        component=np.zeros(n, dtype=int),
        column=np.arange(n),
        pi=np.ones(2),
        component_class=np.arange(2),
    )
    step = update(state, model.w, model.gamma, mode(is_reached=is_reached), n)
    return model, step.alpha, ~step.keep


def test_paper_preset_makes_the_gradual_update_and_removes_what_exceeds_the_cap() -> None:
    model, alpha, remove = next_of(MacKay(Bounds(floor=0.5, cap=20.0)), CROWD)
    updated = model.gamma / model.w**2
    np.testing.assert_array_equal(remove, updated > 20.0)
    np.testing.assert_allclose(alpha, np.clip(updated, 0.5, 20.0), rtol=1e-8)
    assert remove.any() and not remove.all() and (updated < 0.5).any()


def test_few_weights_at_their_mode_go_towards_their_best_alpha_or_leave_one_at_a_time() -> None:
    n_needed = n_removed = 0
    for seed in range(10):
        model, alpha, remove = next_of(UPDATE, seed=seed)
        best = optimal_alpha(model.alpha, model.gamma, model.ratio)
        best = np.clip(best, BOUNDS.floor, BOUNDS.cap)
        needed = model.ratio > CLEARLY_NEEDED
        # at least half the way, on the log scale, and no further
        share = np.log(alpha / model.alpha)[needed] / np.log(best / model.alpha)[needed]
        assert ((share > 0.5) & (share < 1.0 + 1e-9)).all()
        assert remove.sum() <= 1
        if remove.any():
            assert model.ratio[remove] == model.ratio.min()
        n_needed += needed.sum()
        n_removed += remove.sum()
    assert n_needed > 10 and n_removed > 3


@pytest.mark.parametrize(
    ("n", "is_reached"), [(CROWD, True), (HANDFUL, False)], ids=["crowd", "not there"]
)
def test_many_weights_or_weights_on_their_way_are_not_judged_yet(n: int, is_reached: bool) -> None:
    model, alpha, remove = next_of(UPDATE, n, is_reached=is_reached)
    updated = (model.gamma / model.w**2).clip(BOUNDS.floor, BOUNDS.cap)
    np.testing.assert_array_equal(remove, alpha >= BOUNDS.cap)
    # the gradual update, and a longer step in the same direction for those that die
    dying = (model.ratio < 1.0) & (updated > model.alpha)
    np.testing.assert_allclose(alpha[~dying], updated[~dying], rtol=1e-6)
    assert (alpha[dying] >= updated[dying] * (1 - 1e-8)).all()


def test_overrelaxation_lengthens_the_steps_of_dying_alphas_only() -> None:
    before, after = np.array([1.0, 1.0, 1.0, 1.0]), np.array([2.0, 2.0, 0.5, np.inf])
    ratio = np.array([0.5, 1.5, 0.5, 0.0])
    np.testing.assert_allclose(
        overrelaxed(before, after, ratio), [2.0**OVERRELAXATION, 2.0, 0.5, np.inf]
    )
