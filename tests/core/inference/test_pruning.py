"""Claims about which weights and which components leave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sdgm._typing import FloatArray
from sdgm.core.inference.evidence import log_evidence
from sdgm.core.inference.presets import FAST, PAPER, Options
from sdgm.core.inference.pruning import (
    CLEARLY_NEEDED,
    HASTE,
    evidence_of_weight,
    hastened,
    least_needed,
    next_alpha,
    optimal_alpha,
    prune,
    prune_components,
    quality_over_sparsity,
    relative_to_one_component,
)
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.core.model.state import State
from sdgm.core.solvers.newton import log_posterior, maximize_over_w
from tests.reference.problems import Problem, dense_weights, random_problem


@dataclass(frozen=True)
class Quadratic:
    """A log likelihood ``b'w - w'Bw / 2``, whose evidence is known exactly."""

    B: FloatArray
    b: FloatArray
    alpha: FloatArray

    @property
    def Lambda(self) -> FloatArray:
        return np.linalg.inv(self.B + np.diag(self.alpha))

    @property
    def w(self) -> FloatArray:
        return self.Lambda @ self.b

    @property
    def gamma(self) -> FloatArray:
        return 1.0 - self.alpha * np.diag(self.Lambda)

    @property
    def ratio(self) -> FloatArray:
        return quality_over_sparsity(self.alpha, self.w, self.gamma)

    def log_evidence(self, alpha: FloatArray) -> float:
        """Log of the integral over all weights whose alpha is finite."""
        kept = np.isfinite(alpha)
        B, b, alpha = self.B[kept][:, kept], self.b[kept], alpha[kept]
        precision = B + np.diag(alpha)
        return float(
            0.5 * np.log(alpha).sum()
            - 0.5 * np.linalg.slogdet(precision).logabsdet
            + 0.5 * b @ np.linalg.solve(precision, b)
        )

    def with_alpha(self, h: int, value: float) -> FloatArray:
        alpha = self.alpha.copy()
        alpha[h] = value
        return alpha


def quadratic(seed: int, n: int = 5) -> Quadratic:
    """A random one; some of its weights are needed and some are not."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(12, n))
    target = Phi @ (rng.normal(size=n) * (rng.random(n) < 0.6)) + 0.5 * rng.normal(size=12)
    return Quadratic(Phi.T @ Phi, Phi.T @ target, 10.0 ** rng.uniform(-1, 1, size=n))


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

# many more weights than `few_weights` allows, or few
CROWD, HANDFUL = 200, 5


def next_of(
    options: Options, n: int = HANDFUL, gain: float = 0.0, seed: int = 0
) -> tuple[Quadratic, FloatArray, FloatArray]:
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
    alpha, remove = next_alpha(state, model.w, model.gamma, gain, n, options)
    return model, alpha, remove


def test_paper_preset_makes_the_gradual_update_and_removes_what_exceeds_the_cap() -> None:
    options = replace(PAPER, alpha_cap=20.0, alpha_floor=0.5)
    model, alpha, remove = next_of(options, CROWD)
    updated = model.gamma / model.w**2
    np.testing.assert_array_equal(remove, updated > 20.0)
    np.testing.assert_allclose(alpha, np.clip(updated, 0.5, 20.0), rtol=1e-8)
    assert remove.any() and not remove.all() and (updated < 0.5).any()


@pytest.mark.parametrize("options", [PAPER, FAST], ids=["paper", "fast"])
def test_fixed_alpha_is_not_touched(options: Options) -> None:
    model, alpha, remove = next_of(replace(options, learn_alpha=False, alpha_cap=1e-9))
    np.testing.assert_array_equal(alpha, model.alpha)
    assert not remove.any()


def test_few_weights_at_their_mode_go_towards_their_best_alpha_or_leave_one_at_a_time() -> None:
    n_needed = n_removed = 0
    for seed in range(10):
        model, alpha, remove = next_of(FAST, seed=seed)
        best = optimal_alpha(model.alpha, model.gamma, model.ratio)
        best = np.clip(best, FAST.alpha_floor, FAST.alpha_cap)
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


@pytest.mark.parametrize(("n", "gain"), [(CROWD, 0.0), (HANDFUL, 1.0)], ids=["crowd", "not there"])
def test_many_weights_or_weights_on_their_way_are_not_judged_yet(n: int, gain: float) -> None:
    model, alpha, remove = next_of(FAST, n, gain)
    updated = (model.gamma / model.w**2).clip(FAST.alpha_floor, FAST.alpha_cap)
    np.testing.assert_array_equal(remove, alpha >= FAST.alpha_cap)
    # the gradual update, and a longer step in the same direction for those that die
    dying = (model.ratio < 1.0) & (updated > model.alpha)
    np.testing.assert_allclose(alpha[~dying], updated[~dying], rtol=1e-6)
    assert (alpha[dying] >= updated[dying] * (1 - 1e-8)).all()


def test_haste_lengthens_the_steps_of_dying_alphas_only() -> None:
    before, after = np.array([1.0, 1.0, 1.0, 1.0]), np.array([2.0, 2.0, 0.5, np.inf])
    ratio = np.array([0.5, 1.5, 0.5, 0.0])
    np.testing.assert_allclose(hastened(before, after, ratio), [2.0**HASTE, 2.0, 0.5, np.inf])


# --- columns that all components use ---


@settings(deadline=None)
@given(
    n_components=st.integers(2, 4),
    n_columns=st.integers(1, 5),
    share=st.floats(0.5, 1.0),
    seed=st.integers(0, 1000),
)
def test_reference_component_changes_no_posterior_and_saves_a_weight_per_common_column(
    n_components: int, n_columns: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    active = rng.random((n_components, n_columns)) < share
    component, column = np.nonzero(active)
    state = State(
        w=rng.normal(size=len(column)),
        alpha=10.0 ** rng.uniform(-2, 2, size=len(column)),
        component=component,
        column=column,
        pi=rng.uniform(0.1, 1.0, size=n_components),
        component_class=np.arange(n_components),
    )
    relative = relative_to_one_component(state)
    Phi = rng.normal(size=(9, n_columns))
    np.testing.assert_allclose(class_posterior(relative, Phi), class_posterior(state, Phi))
    assert relative.n_weights == state.n_weights - active.all(axis=0).sum()
    left = np.zeros_like(active)
    left[relative.component, relative.column] = True
    assert not left.all(axis=0).any()
    # columns that some component does without stay as they are
    for h in np.flatnonzero(~active.all(axis=0)):
        np.testing.assert_array_equal(relative.w[relative.column == h], state.w[column == h])
        np.testing.assert_allclose(relative.alpha[relative.column == h], state.alpha[column == h])


def test_reference_is_the_component_of_the_smallest_weight_and_the_last_among_equals() -> None:
    state = state_of([1.0, 1.0, 1.0], [0, 1, 2], [2, 2, 2])
    w = np.array([3.0, 1.0, -2.0, -1.0, 2.5, 1.0 + 1e-9])
    relative = relative_to_one_component(replace(state, w=w))
    np.testing.assert_array_equal(relative.component, [0, 0, 1, 2])
    np.testing.assert_allclose(
        dense_weights(relative, 2), [[5.0, 0.0], [0.0, -2.0], [4.5, 0.0]], atol=1e-8
    )


def test_reference_component_keeps_the_evidence_of_two_components() -> None:
    problem = random_problem(0, "full", kept=1.0, n_components=(1, 1))

    def evidence_at_mode(problem: Problem) -> float:
        mode, _ = maximize_over_w(
            problem.rows,
            problem.whitening,
            problem.mixture(),
            problem.theta,
            max_steps=50,
            tol=1e-14,
            r_from=None,
        )
        return log_evidence(log_posterior(mode.fit, mode.theta, complete=True), mode.precision)

    relative = replace(problem, state=relative_to_one_component(problem.state))
    assert relative.state.n_weights == 6 < problem.state.n_weights
    assert evidence_at_mode(relative) == pytest.approx(evidence_at_mode(problem), rel=1e-8)


def test_pruning_makes_one_component_the_reference_once_weights_are_few() -> None:
    state = state_of([0.5, 0.5, 1.0], [0, 0, 1], [1, 2, 1])  # all use column 0
    pruned = prune(state, FAST)
    assert pruned.n_weights == 3
    Phi = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_allclose(class_posterior(pruned, Phi), class_posterior(state, Phi))
    assert prune(state, PAPER) is state
    assert prune(state, replace(FAST, few_weights=1)) is state


# --- components ---


def state_of(
    pi: list[float], component_class: list[int], n_weights: list[int], seed: int = 0
) -> State:
    rng = np.random.default_rng(seed)
    return State(
        w=rng.normal(size=sum(n_weights)),
        alpha=rng.uniform(0.5, 2.0, size=sum(n_weights)),
        component=np.repeat(np.arange(len(pi)), n_weights),
        column=np.concatenate([np.arange(n) for n in n_weights] + [np.arange(0)]).astype(int),
        pi=np.array(pi),
        component_class=np.array(component_class),
    )


def class_posterior(state: State, Phi: FloatArray) -> FloatArray:
    scores = np.log(state.pi) + Phi @ dense_weights(state, Phi.shape[1]).T
    n_classes = state.component_class[-1] + 1
    return np.exp(
        class_log_posterior(component_log_posterior(scores), state.component_class, n_classes)
    )


@settings(deadline=None)
@given(
    n_weights=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=2, max_size=4),
    seed=st.integers(0, 1000),
)
def test_merging_constant_components_leaves_the_class_posteriors_as_they_are(
    n_weights: list[list[int]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    component_class = [c for c, own in enumerate(n_weights) for _ in own]
    pi = rng.uniform(0.1, 1.0, size=len(component_class))
    state = state_of(pi.tolist(), component_class, [n for own in n_weights for n in own], seed)
    pruned = prune_components(state, min_share=1e-5)
    Phi = rng.normal(size=(9, 3))
    np.testing.assert_allclose(class_posterior(pruned, Phi), class_posterior(state, Phi))
    # at most one without weights per class, and nothing with weights has gone
    constant = np.diff(pruned.starts) == 0
    expected = [sum(n > 0 for n in own) + (0 in own) for own in n_weights]
    assert np.bincount(pruned.component_class).tolist() == expected
    assert np.bincount(pruned.component_class[constant], minlength=1).max() <= 1
    np.testing.assert_array_equal(pruned.w, state.w)
    np.testing.assert_allclose(
        np.bincount(pruned.component_class, pruned.pi), np.bincount(component_class, pi)
    )


def test_component_without_samples_leaves_with_its_weights() -> None:
    state = state_of([0.6, 0.4, 1e-7, 0.5, 0.5], [0, 0, 1, 1, 1], [2, 1, 3, 1, 2])
    pruned = prune_components(state, min_share=1e-5)
    np.testing.assert_array_equal(pruned.component_class, [0, 0, 1, 1])
    np.testing.assert_array_equal(pruned.pi, [0.6, 0.4, 0.5, 0.5])
    np.testing.assert_array_equal(pruned.component, [0, 0, 1, 2, 3, 3])
    kept = state.component != 2
    np.testing.assert_array_equal(pruned.w, state.w[kept])
    np.testing.assert_array_equal(pruned.alpha, state.alpha[kept])
    np.testing.assert_array_equal(pruned.column, state.column[kept])


def test_share_of_a_component_is_counted_within_its_class() -> None:
    # a class of one sample in a million is not empty
    state = state_of([0.5, 0.499999, 5e-7, 5e-7], [0, 0, 1, 1], [1, 1, 1, 1])
    assert prune_components(state, min_share=1e-5) is state


def test_constant_component_without_samples_takes_no_other_with_it() -> None:
    state = state_of([1.0, 0.0, 0.4, 0.6], [0, 1, 1, 1], [1, 0, 0, 2])
    pruned = prune_components(state, min_share=1e-5)
    np.testing.assert_array_equal(pruned.pi, [1.0, 0.4, 0.6])
    np.testing.assert_array_equal(np.diff(pruned.starts), [1, 0, 2])


def test_constant_component_without_samples_is_not_merged_but_leaves() -> None:
    state = state_of([0.5, 0.5, 0.0, 1.0], [0, 0, 1, 1], [0, 0, 0, 2])
    pruned = prune_components(state, min_share=1e-5)
    np.testing.assert_array_equal(pruned.pi, [1.0, 1.0])
    np.testing.assert_array_equal(pruned.component_class, [0, 1])
    np.testing.assert_array_equal(pruned.component, [1, 1])


def test_constant_components_of_different_classes_are_not_merged() -> None:
    state = state_of([1.0, 1.0, 1.0], [0, 1, 2], [0, 0, 1])
    assert prune_components(state, min_share=1e-5).n_components == 3
