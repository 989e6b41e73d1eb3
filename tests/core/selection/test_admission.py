"""Claims about weights that a model does without and that would add to its evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sdgm._typing import FloatArray
from sdgm.core.data import blocked_rows as reduction
from sdgm.core.data import rows as rows_module
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import Rows
from sdgm.core.inference.recipe import FAST
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows
from sdgm.core.objective.whitening import whiten
from sdgm.core.selection import admission as returning
from sdgm.core.selection.admission import is_no_noise, quality_of_absent
from tests.reference.recipes import changed

N, P = 200, 4


def rows_of(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    Z = np.asfortranarray(rng.normal(size=(N, P)))
    Z[:, 0] = 1.0
    return Rows(Z, rng.integers(2, size=N), rng.uniform(0.5, 2.0, N))


def state_of(seed: int, n_weights: int) -> State:
    """Three components, two of them of the first class."""
    rng = np.random.default_rng(seed + 1)
    there = np.sort(rng.choice(3 * P, n_weights, replace=False))
    return State(
        w=rng.normal(size=n_weights),
        alpha=rng.uniform(0.1, 10.0, n_weights),
        component=there // P,
        column=there % P,
        pi=np.array([0.3, 0.2, 0.5]),
        component_class=np.array([0, 0, 1]),
    )


def mixture_of(state: State, norm: FloatArray) -> Mixture:
    V = np.zeros((P, 3))
    V[state.column, state.component] = state.w / norm[state.column]
    return Mixture(V, np.log(state.pi), state.component_class)


def by_the_whole_matrix(rows: Rows, state: State, norm: FloatArray) -> FloatArray:
    """The same by the information of all weights, solved without regard for cost."""
    every = replace(
        state,
        w=np.zeros(3 * P),
        alpha=np.ones(3 * P),
        component=np.repeat(np.arange(3), P),
        column=np.tile(np.arange(P), 3),
    )
    here = derivatives_of_rows(
        rows, mixture_of(state, norm), None, whiten(np.diag(1.0 / norm), every)
    )
    a = state.component * P + state.column
    precision = here.curvature[np.ix_(a, a)] + np.diag(state.alpha)
    cross = here.curvature[a]
    Q = here.grad - cross.T @ np.linalg.solve(precision, here.grad[a] - state.alpha * state.w)
    S = here.curvature.diagonal() - (cross * np.linalg.solve(precision, cross)).sum(axis=0)
    ratio = Q**2 / S
    ratio[a] = np.nan
    return ratio.reshape(3, P)


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1000), n_weights=st.integers(0, 3 * P - 1))
def test_the_ratio_is_that_of_the_whole_matrix(
    seed: int, n_weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, state = rows_of(seed), state_of(seed, n_weights)
    norm = np.random.default_rng(seed).uniform(0.5, 2.0, P)
    monkeypatch.setattr(returning, "ROWS_PER_WEIGHT", 1)
    quality = quality_of_absent(rows, rows, mixture_of(state, norm), state, norm)
    np.testing.assert_allclose(quality.ratio, by_the_whole_matrix(rows, state, norm), rtol=1e-6)


def test_blocks_threads_and_a_sample_that_stands_for_all_say_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, state, norm = rows_of(0), state_of(0, 5), np.ones(P)
    mixture = mixture_of(state, norm)
    expected = quality_of_absent(rows, rows, mixture, state, norm)
    for module in (rows_module, reduction):
        monkeypatch.setattr(module, "CANONICAL_ROWS", 64)
    monkeypatch.setattr(rows_module, "MIN_BLOCK_ROWS", 16)
    monkeypatch.setattr(rows_module, "BLOCK_NUMBERS", 16)
    half = Rows(rows.Z, rows.y, rows.s / 2)
    twice = BlockedRows.of(half, n_threads=2).repeated(2.0)
    assert twice.n_blocks == 4
    quality = quality_of_absent(BlockedRows.of(rows, n_threads=2), twice, mixture, state, norm)
    np.testing.assert_allclose(quality.ratio, expected.ratio, rtol=1e-9)
    np.testing.assert_allclose(quality.surprise, expected.surprise, rtol=1e-9)


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_NUMBERS", 0), ("MOST_WORK", 1.0), ("ROWS_PER_WEIGHT", N)]
)
def test_where_that_is_too_much_each_weight_is_taken_by_itself(
    limit: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, state, norm = rows_of(0), state_of(0, 5), np.ones(P)
    mixture = mixture_of(state, norm)
    together = quality_of_absent(rows, rows, mixture, state, norm).ratio
    monkeypatch.setattr(returning, limit, value)
    assert not returning.considers_others(rows, state, P)
    alone = quality_of_absent(rows, rows, mixture, state, norm).ratio
    without = state.keep_weights(np.zeros(5, dtype=bool))
    expected = quality_of_absent(rows, rows, mixture, without, norm).ratio
    there = np.isnan(together)
    assert there.sum() == 5
    np.testing.assert_array_equal(np.isnan(alone), there)
    np.testing.assert_allclose(alone[~there], expected[~there])
    assert not np.allclose(alone[~there], together[~there], rtol=1e-3)


def test_columns_that_say_nothing_new_are_not_counted_as_noise() -> None:
    rows = rows_of(0)
    rows.Z[:, 1] = 0.0
    rows.Z[:, 3] = rows.Z[:, 2]
    state = replace(
        state_of(0, 1), alpha=np.full(1, 1e-9), component=np.array([2]), column=np.array([2])
    )
    ratio = quality_of_absent(rows, rows, mixture_of(state, np.ones(P)), state, np.ones(P)).ratio
    assert np.isnan(ratio[:, 1]).all() and np.isnan(ratio[2, 3])
    assert ratio[2, 0] > 0.0


def noise(seed: int, s: FloatArray, n_columns: int) -> tuple[Rows, State]:
    """Columns that have nothing to do with the classes, and a model of the constant alone."""
    rng = np.random.default_rng(seed)
    Z = np.asfortranarray(rng.normal(size=(len(s), n_columns)))
    Z[:, 0] = 1.0
    one, none = np.ones(1), np.zeros(1, dtype=int)
    rows = Rows(Z, rng.integers(2, size=len(s)), s)
    share = s @ rows.y / s.sum()
    w = np.array([np.log(share / (1.0 - share))])
    classes = np.arange(2)
    return rows, State(w, 1e-6 * one, none + 1, none, np.full(2, 0.5), classes)


def quality_of_noise(seed: int, s: FloatArray, n_columns: int) -> returning.Quality:
    rows, state = noise(seed, s, n_columns)
    V = np.zeros((n_columns, 2))
    V[0, 1] = state.w[0]
    mixture = Mixture(V, np.log(state.pi), state.component_class)
    return quality_of_absent(rows, rows, mixture, state, np.ones(n_columns))


@pytest.mark.parametrize("weights", ["one", "one or fifty", "lognormal"])
def test_noise_is_not_surprising_whatever_the_sample_weights(weights: str) -> None:
    above, marked = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        s = {
            "one": np.ones(2000),
            "one or fifty": np.where(rng.random(2000) < 0.05, 50.0, 1.0),
            "lognormal": rng.lognormal(size=2000),
        }[weights]
        surprise = quality_of_noise(seed, s / s.mean(), 60).surprise[1, 1:]
        above.append((surprise > 1.0).mean())
        marked.append(is_no_noise(surprise).mean())
    np.testing.assert_allclose(np.mean(above), returning.ABOVE_ONE, atol=0.06)
    assert np.mean(marked) < 0.02


def test_the_error_by_the_curvature_of_a_sample_is_that_foretold() -> None:
    """Gradients taken to the mode of all rows by a sample, beside those at that mode."""
    N_all, n, p, m = 40_000, 1_000, 60, 20
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        Z = np.asfortranarray(rng.normal(size=(N_all, p)))
        Z[:, 0] = 1.0
        y = (rng.random(N_all) < 1.0 / (1.0 + np.exp(-0.3 * Z[:, 1:m].sum(axis=1)))).astype(int)
        rows = Rows(Z, y, np.ones(N_all))
        part = Rows(Z[:n], y[:n], np.full(n, N_all / n))
        state = State(
            np.zeros(m), np.full(m, 1e-3), np.ones(m, dtype=int), np.arange(m), np.full(2, 0.5),
            np.arange(2),
        )  # fmt: skip
        to_mode = changed(FAST, learn_alpha=False, max_iter=1, class_prior=False)
        ratios = []
        for climbed_on, sample in ((part, part), (rows, rows)):
            at = to_mode.learn(climbed_on, np.eye(p), state).state
            V = np.zeros((p, 2))
            V[at.column, at.component] = at.w
            mixture = Mixture(V, np.log(state.pi), state.component_class)
            quality = quality_of_absent(rows, sample, mixture, replace(at, pi=state.pi), np.ones(p))
            ratios.append(quality.ratio[1, m:])
        errors.append(ratios[0].mean() - ratios[1].mean())
    foretold = N_all * m / n**2
    assert not returning.is_near_enough(N_all, part, state, p)
    assert 0.3 * foretold < np.mean(errors) < 3.0 * foretold


def test_equal_sample_weights_are_frequencies() -> None:
    quality = quality_of_noise(0, np.full(500, 100.0), 20)
    np.testing.assert_allclose(quality.surprise, quality.ratio)


@pytest.mark.parametrize("n", [30, 200, 3000])
def test_noise_does_not_come_back_and_many_weak_columns_do(n: int) -> None:
    shares = []
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(size=n) ** 2
        shares.append(is_no_noise(np.repeat(noise, 2)).mean())  # as two components have them
    assert np.mean(shares) < 0.015
    assert np.mean(noise > 1.0) > 0.1
    if n > 30:
        weak = 9.0 * noise
        np.testing.assert_array_equal(is_no_noise(weak), weak > 1.0)


@pytest.mark.parametrize("n_true", [0, 10, 100, 500])
@pytest.mark.parametrize("size", [2.0, 4.0, 6.0])
def test_what_comes_back_is_mostly_not_noise(n_true: int, size: float) -> None:
    noise_shares, found = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        ratio = rng.normal(size=1000) ** 2
        ratio[:n_true] = (size + rng.normal(size=n_true)) ** 2
        marked = is_no_noise(ratio)
        noise_shares.append(marked[n_true:].sum() / max(marked.sum(), 1))
        found.append(marked[:n_true].sum() / max(n_true, 1))
        if marked.any():  # a ratio comes back with all that are larger
            np.testing.assert_array_equal(marked, ratio >= ratio[marked].min())
    assert np.mean(noise_shares) < 0.25
    if n_true >= 100 and size > 3.0:
        assert np.mean(found) > 0.9


def test_a_third_of_noise_has_a_ratio_above_one() -> None:
    np.testing.assert_allclose(returning.ABOVE_ONE, chi2.sf(1.0, 1), atol=1e-4)


def test_no_column_is_left_to_come_back() -> None:
    assert len(is_no_noise(np.empty(0))) == 0


def test_a_sample_is_near_enough_if_it_is_not_too_small_for_the_rows_and_the_weights() -> None:
    rows, state = rows_of(0), state_of(0, 5)
    largest = int(returning.LARGEST_ERROR * len(rows) ** 2 / state.n_weights)
    assert returning.is_near_enough(largest, rows, state, P)
    assert not returning.is_near_enough(largest + len(rows), rows, state, P)


def test_others_are_considered_from_a_number_of_rows_per_weight_on() -> None:
    state = state_of(0, 5)
    few = int(returning.ROWS_PER_WEIGHT * state.n_weights)
    for n, expected in ((few, True), (few - 1, False)):
        rows = rows_of(0)
        part = Rows(rows.Z[:n], rows.y[:n], rows.s[:n])
        assert returning.considers_others(part, state, P) is expected
