"""Claims about steps that a sample directs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import Rows
from sdgm.core.inference.recipe import FAST
from sdgm.core.inference.variations import limited
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers import newton
from sdgm.core.solvers import sampled as sampled_newton
from sdgm.core.solvers.newton import NewtonPoint, log_posterior
from sdgm.core.solvers.precision import FLATTEST, saddle_free_cholesky
from sdgm.core.solvers.sampled import (
    ENOUGH_ROWS,
    Change,
    RowsWithSample,
    corrected_direction,
    maximize_by_sample,
)
from tests.reference.recipes import changed

N_ROWS = 4000
TO_MODE = changed(FAST, learn_alpha=False, mode_tol=1e-10)


def rows_of(seed: int) -> Rows:
    """Two classes, one of them in two parts."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N_ROWS)
    x = rng.normal(size=(N_ROWS, 2)) + np.where(y, rng.choice([-1.5, 1.5], N_ROWS), 0.0)[:, None]
    Z = np.column_stack([np.ones(N_ROWS), x, x**2])
    return Rows(np.asfortranarray(Z), y, rng.choice([0.5, 1.0, 2.0], N_ROWS))


def state_of(seed: int) -> State:
    """Three components at the mode of a few other rows."""
    state = State(
        w=0.1 * np.random.default_rng(seed).normal(size=15),
        alpha=np.full(15, 0.5),
        column=np.tile(np.arange(5), 3),
        component=np.repeat(np.arange(3), 5),
        pi=np.array([0.5, 0.3, 0.2]),
        component_class=np.array([0, 1, 1]),
    )
    for rows in rows_of(seed + 5000).blocks(500):
        state = limited(TO_MODE, max_iter=20).learn(rows, np.eye(5), state).state
    return state


def with_sample(rows: Rows, n_rows: int) -> RowsWithSample:
    """The first rows stand for all."""
    part = Rows(rows.Z[:n_rows], rows.y[:n_rows], rows.s[:n_rows])
    sample = BlockedRows.of(part).repeated(rows.s.sum() / part.s.sum())
    return RowsWithSample(rows, sample)


def mixture_of(state: State) -> Mixture:
    V = whiten(np.eye(5), state).score_vectors(whiten(np.eye(5), state).to_theta(state.w))
    return Mixture(V, np.log(state.pi), state.component_class)


def end_of(rows: RowsWithSample, state: State, *, tol: float) -> NewtonPoint:
    """Where the steps from a state lead."""
    whitening = whiten(np.eye(5), state)
    theta = whitening.to_theta(state.w)
    mixture = mixture_of(state)
    return maximize_by_sample(rows, whitening, mixture, theta, tol=tol, observed=True, exact=True)[
        0
    ]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([500, 1000, N_ROWS]))
def test_the_end_is_a_mode_of_all_rows(seed: int, n_sample: int) -> None:
    rows, state = rows_of(seed), state_of(seed)
    whitening = whiten(np.eye(5), state)
    end = end_of(with_sample(rows, n_sample), state, tol=1e-12)
    here = derivatives_of_rows(rows, end.mixture, None, whitening, missing=True)
    np.testing.assert_allclose(here.grad - end.theta, 0.0, atol=1e-4)
    assert here.missing is not None
    observed = np.eye(len(end.theta)) + here.curvature - here.missing
    assert np.linalg.eigvalsh(observed).min() > 0.0
    # the precision is that of all rows, whatever directed the steps
    expected = np.linalg.slogdet(np.eye(len(end.theta)) + here.curvature)[1] / 2
    assert end.precision.half_log_det == pytest.approx(expected, rel=1e-10)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000))
def test_the_last_change_is_met_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)  # what the matrix should be
    B = A + np.diag(rng.uniform(0.0, 9.0, 6))  # what it is taken for
    changes = [Change(step, A @ step) for step in rng.normal(size=(3, 6))]

    def direction(grad: FloatArray, changes: list[Change]) -> FloatArray:
        return corrected_direction(grad, lambda b: np.linalg.solve(B, b), changes)

    last = changes[-1]
    np.testing.assert_allclose(direction(last.of_grad, changes), last.step, rtol=1e-8)
    grad = rng.normal(size=6)
    np.testing.assert_allclose(direction(grad, []), np.linalg.solve(B, grad))
    assert grad @ direction(grad, changes) > 0.0


@pytest.mark.parametrize("seed", range(3))
def test_a_poor_sample_is_given_up_not_the_mode(seed: int) -> None:
    rows, state = rows_of(seed), state_of(seed)
    heavy = np.random.default_rng(seed).pareto(0.5, N_ROWS) + 1e-3
    rows = replace(rows, s=heavy / heavy.mean())
    sampled = with_sample(rows, 1000)
    assert not sampled.can_direct(15)  # 1000 rows, but a few of them weigh more than the rest
    whitening = whiten(np.eye(5), state)
    end = end_of(sampled, state, tol=1e-6)
    assert end.gain <= 1e-6
    grad = derivatives_of_rows(rows, end.mixture, None, whitening).grad - end.theta
    assert grad @ end.precision.solve(grad) < 1e-4


def test_with_many_weights_the_steps_end_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, state = rows_of(0), state_of(0)
    monkeypatch.setattr(sampled_newton, "SAMPLED_STEPS", 1)
    sampled = with_sample(rows, 1000)
    to_the_mode = end_of(sampled, state, tol=1e-9)
    monkeypatch.setattr(sampled_newton, "MANY_COORDINATES", 1)
    on_the_way = end_of(sampled, state, tol=1e-9)
    assert to_the_mode.gain <= 1e-9 < on_the_way.gain


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000))
def test_a_saddle_is_left_as_fast_as_a_mode_is_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6))
    complete = A @ A.T + np.eye(6)
    L = np.linalg.cholesky(complete)
    vectors = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    size = np.array([0.9, 0.5, 0.1, -0.1, -0.5, 0.001])
    missing = complete - L @ (vectors * size) @ vectors.T @ L.T
    factor = saddle_free_cholesky(L, missing)
    assert factor is not None
    steps = np.maximum(np.abs(size), FLATTEST)
    expected = L @ (vectors * steps) @ vectors.T @ L.T
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, expected, rtol=1e-7, atol=1e-9)


def near_a_saddle(seed: int) -> State:
    """The two components of the second class nearly alike, which the gradient hardly tells."""
    state = state_of(seed)
    w = state.w.reshape(3, 5).copy()
    w[1:] = w[1:].mean(axis=0) + 1e-3 * np.random.default_rng(seed).normal(size=(2, 5))
    return replace(state, w=w.ravel(), pi=np.array([0.5, 0.25, 0.25]))


def test_steps_lead_away_from_a_saddle(monkeypatch: pytest.MonkeyPatch) -> None:
    # few of them, and no help by Newton's own
    monkeypatch.setattr(sampled_newton, "SAMPLED_STEPS", 12)
    monkeypatch.setattr(sampled_newton, "MANY_COORDINATES", 1)
    monkeypatch.setattr(sampled_newton, "COMES_CLOSER", np.inf)

    def reached() -> list[float]:
        ends = [end_of(with_sample(rows_of(i), 1000), near_a_saddle(i), tol=1e-6) for i in range(5)]
        return [log_posterior(end.fit, end.theta, complete=False) for end in ends]

    away = reached()
    monkeypatch.setattr(newton, "saddle_free_cholesky", lambda *_: None)
    there = reached()
    assert np.mean(np.array(away) - there) > 50.0


def test_newtons_own_steps_lead_away_from_a_saddle_if_they_are_to() -> None:
    def reached(saddle_free: bool) -> list[float]:
        recipe = changed(TO_MODE, steps_to_mode=12, saddle_free=saddle_free)
        ends = []
        for i in range(5):
            state = near_a_saddle(i)
            found = recipe.method.find_mode(rows_of(i), whiten(np.eye(5), state), state)
            ends.append(found.point)
        return [log_posterior(end.fit, end.theta, complete=False) for end in ends]

    assert np.mean(np.array(reached(True)) - reached(False)) > 50.0


def test_along_a_ridge_steps_end_at_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, state = rows_of(0), state_of(0)
    sampled = with_sample(rows, 1000)
    whitening = whiten(np.eye(5), state)
    given = mixture_of(state), whitening.to_theta(state.w)

    def steps(shrinks: float) -> int:
        monkeypatch.setattr(sampled_newton, "SHRINKS", shrinks)
        return maximize_by_sample(sampled, whitening, *given, tol=1e-3, observed=True, exact=False)[
            1
        ]

    # no step is good enough to be on no ridge, or every step is
    assert steps(0.0) < steps(1.0)


def test_a_sample_of_all_rows_takes_about_as_many_steps_as_newton() -> None:
    rows, state = rows_of(0), state_of(0)
    whitening = whiten(np.eye(5), state)
    find_mode = TO_MODE.method.find_mode
    expected = find_mode(rows, whitening, state)
    found = find_mode(with_sample(rows, N_ROWS), whitening, state)
    np.testing.assert_allclose(found.point.theta, expected.point.theta, atol=1e-5)
    assert found.n_steps <= expected.n_steps + 5


def test_a_sample_that_is_too_small_directs_nothing() -> None:
    rows, state = rows_of(0), state_of(0)
    sampled = with_sample(rows, 20)
    assert not sampled.can_direct(20 // ENOUGH_ROWS + 1)
    recipe = limited(FAST, max_iter=3)
    expected = recipe.learn(rows, np.eye(5), state)
    result = recipe.learn(sampled, np.eye(5), state)
    np.testing.assert_array_equal(result.state.w, expected.state.w)


def test_learning_with_a_sample_ends_at_the_same_model() -> None:
    rows, state = rows_of(1), state_of(1)
    recipe = limited(FAST, tol=1e-4)
    expected = recipe.learn(rows, np.eye(5), state)
    result = recipe.learn(with_sample(rows, 1000), np.eye(5), state)
    np.testing.assert_array_equal(result.state.column, expected.state.column)
    np.testing.assert_array_equal(result.state.component, expected.state.component)
    np.testing.assert_allclose(result.state.w, expected.state.w, atol=0.02)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_step_is_sound_or_not_whatever_its_length(size: float) -> None:
    step = size * np.array([1.0, 0.0])
    assert Change(step, np.array([1e-6, 1.0])).is_sound
    assert not Change(step, np.array([1e-10, 1.0])).is_sound
    assert not Change(step, np.array([-1.0, 0.0])).is_sound
