"""Claims about the coordinates in which the prior of the weights is the standard normal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.model.state import State
from sdgm.core.objective import whitening as whitening_module
from sdgm.core.objective.whitening import Picks, Whitening, whiten

P = 4  # rank of the design


def random_state(seed: int, n_weights: list[int]) -> tuple[FloatArray, FloatArray, State]:
    """Z, Rt and a state whose components have these numbers of weights; alpha spans six decades."""
    rng = np.random.default_rng(seed)
    H = 12
    n_active = sum(n_weights)
    state = State(
        w=rng.normal(size=n_active),
        alpha=10.0 ** rng.uniform(-3, 3, size=n_active),
        component=np.repeat(np.arange(len(n_weights)), n_weights),
        column=np.concatenate(
            [np.sort(rng.choice(H, n, replace=False)) for n in n_weights] + [np.arange(0)]
        ),
        pi=np.full(len(n_weights), 1 / len(n_weights)),
        component_class=np.arange(len(n_weights)),
    )
    return rng.normal(size=(15, P)), rng.normal(size=(H, P)), state


# components without weights, with fewer weights than the rank, as many, and more
COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=4)
PROBLEM = settings(deadline=None, max_examples=60)(
    given(seed=st.integers(0, 10_000), n_weights=COUNTS)
)


def per_component(state: State, whitening: Whitening) -> list[tuple[slice, slice]]:
    """Coordinates and weights of each component, counted independently of the code."""
    n_weights = np.bincount(state.component, minlength=state.n_components)
    ends = np.cumsum(np.minimum(n_weights, P))
    weight_ends = np.cumsum(n_weights)
    return [
        (slice(b - min(n, P), b), slice(d - n, d))
        for b, d, n in zip(ends, weight_ends, n_weights, strict=True)
    ]


def dense(state: State, H: int) -> FloatArray:
    W = np.zeros((H, state.n_components))
    W[state.column, state.component] = state.w
    return W


@PROBLEM
def test_scores_of_theta_are_those_of_the_weights(seed: int, n_weights: list[int]) -> None:
    Z, Rt, state = random_state(seed, n_weights)
    whitening = whiten(Rt, state)
    V = whitening.score_vectors(whitening.to_theta(state.w))
    scores = (Z @ Rt.T) @ dense(state, len(Rt))  # Phi w
    np.testing.assert_allclose(Z @ V, scores, atol=1e-9 * (1 + np.abs(scores).max()))
    # one block of L after the other, as `starts` and `component` say
    theta = whitening.to_theta(state.w)
    for k, (coords, _) in enumerate(per_component(state, whitening)):
        np.testing.assert_allclose(V[:, k], whitening.L[:, coords] @ theta[coords], atol=1e-12)
        assert (whitening.component[coords] == k).all()


@PROBLEM
def test_there_are_as_many_coordinates_as_weights_or_rank(seed: int, n_weights: list[int]) -> None:
    _, Rt, state = random_state(seed, n_weights)
    whitening = whiten(Rt, state)
    assert np.diff(whitening.starts).tolist() == [min(n, P) for n in n_weights]
    assert np.diff(whitening.weight_starts).tolist() == n_weights
    assert whitening.L.shape == (P, sum(min(n, P) for n in n_weights))


@PROBLEM
def test_recovered_weights_are_the_most_probable_ones_with_the_same_scores(
    seed: int, n_weights: list[int]
) -> None:
    _, Rt, state = random_state(seed, n_weights)
    whitening = whiten(Rt, state)
    w = whitening.to_w(whitening.to_theta(state.w))
    for _, weights in per_component(state, whitening):
        R, alpha = Rt[state.column[weights]].T, state.alpha[weights]  # (p, n_k)
        # least w'Aw with R w given: A^1/2 w is the minimum-norm solution
        root = np.sqrt(alpha)
        expected = np.linalg.pinv(R / root) @ (R @ state.w[weights]) / root
        np.testing.assert_allclose(w[weights] * root, expected * root, atol=1e-7, rtol=1e-7)
        assert alpha @ w[weights] ** 2 <= alpha @ state.w[weights] ** 2 * (1 + 1e-9)


@PROBLEM
def test_squared_norm_of_theta_is_the_penalty_of_the_recovered_weights(
    seed: int, n_weights: list[int]
) -> None:
    _, Rt, state = random_state(seed, n_weights)
    whitening = whiten(Rt, state)
    theta = np.random.default_rng(seed).normal(size=whitening.L.shape[1])
    w = whitening.to_w(theta)
    assert theta @ theta == pytest.approx(state.alpha @ w**2, rel=1e-10)


@PROBLEM
def test_theta_survives_the_way_to_the_weights_and_back(seed: int, n_weights: list[int]) -> None:
    _, Rt, state = random_state(seed, n_weights)
    whitening = whiten(Rt, state)
    theta = np.random.default_rng(seed).normal(size=whitening.L.shape[1])
    np.testing.assert_allclose(whitening.to_theta(whitening.to_w(theta)), theta, atol=1e-10)


def test_weights_drawn_from_the_prior_have_standard_normal_coordinates() -> None:
    _, Rt, state = random_state(0, [9, 3])
    whitening = whiten(Rt, state)
    # cov(theta) = B A^-1 B' with theta = B w
    B = np.array([whitening.to_theta(e) for e in np.eye(state.n_weights)]).T
    np.testing.assert_allclose((B / state.alpha) @ B.T, np.eye(len(B)), atol=1e-10)


def test_precisions_of_very_different_size_do_not_spoil_the_scores() -> None:
    Z, Rt, state = random_state(1, [8])
    state = replace(state, alpha=10.0 ** np.array([-12, -8, -4, 0, 2, 5, 8, 12]))
    whitening = whiten(Rt, state)
    # the weights that such a prior makes likely
    w = state.w / np.sqrt(state.alpha)
    scores = Z @ Rt[state.column].T @ w
    V = whitening.score_vectors(whitening.to_theta(w))
    np.testing.assert_allclose(Z @ V[:, 0], scores, rtol=1e-8)


def test_state_without_weights_scores_zero_everywhere() -> None:
    _, Rt, state = random_state(0, [0, 0])
    whitening = whiten(Rt, state)
    assert whitening.to_theta(state.w).shape == (0,)
    assert whitening.to_w(np.zeros(0)).shape == (0,)
    np.testing.assert_array_equal(whitening.score_vectors(np.zeros(0)), np.zeros((P, 2)))


def test_whitening_leaves_its_arguments_alone() -> None:
    _, Rt, state = random_state(0, [9, 3])
    Rt_before, w, alpha = Rt.copy(), state.w.copy(), state.alpha.copy()
    whiten(Rt, state).to_theta(state.w)
    np.testing.assert_array_equal(Rt, Rt_before)
    np.testing.assert_array_equal(state.w, w)
    np.testing.assert_array_equal(state.alpha, alpha)


def test_a_diagonal_design_is_picked_from_to_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, _, state = random_state(3, [P, 2, 0, P - 1])
    state = replace(state, column=np.concatenate([np.arange(P), [0, 2], np.arange(P - 1)]))
    Rt = np.diag(np.arange(1.0, P + 1.0))
    picked = whiten(Rt, state)
    assert isinstance(picked.factor, Picks)
    rng = np.random.default_rng(0)
    theta, of_V = rng.normal(size=len(picked.component)), rng.normal(size=(4, P))
    for small in (0, 1 << 16):
        monkeypatch.setattr(whitening_module, "SMALL_FACTOR", small)
        whole = replace(picked, factor=(Rt[state.column] * picked.prior_std[:, None]).T)
        np.testing.assert_array_equal(picked.L, whole.L)
        np.testing.assert_array_equal(picked.score_vectors(theta), whole.score_vectors(theta))
        np.testing.assert_allclose(picked.of_scores(of_V), whole.of_scores(of_V), rtol=1e-12)
        for where in (slice(None), *picked.coordinates):
            np.testing.assert_allclose(
                picked.whitened(Z.T, where), whole.whitened(Z.T, where), rtol=1e-12
            )
