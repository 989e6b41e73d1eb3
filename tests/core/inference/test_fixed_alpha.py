"""Claims about learning with alpha held, such as a ridge prior."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.inference.variations import with_ridge_prior
from sdgm.core.model.state import Stop
from tests.reference.problems import Problem, dense_weights
from tests.reference.tasks import BOTH, shares, task


@pytest.mark.parametrize("form", ["tied", "full"])
def test_ridge_with_one_component_per_class_is_multinomial_logistic_regression(form: str) -> None:
    given = task(PAPER, form, n_components=(1, 1, 1), learn_alpha=False, pinned=False, alpha=0.7)
    state = given.learn(max_iter=3).state
    expected = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10, max_iter=10_000)
    expected.fit(given.Phi, given.rows.y)
    np.testing.assert_allclose(dense_weights(state, given.Phi.shape[1]), expected.coef_, atol=1e-5)


@BOTH
def test_fixed_alpha_stays_and_no_weight_leaves(recipe: Recipe) -> None:
    given = task(recipe, learn_alpha=False, max_iter=50)
    result = given.learn()
    assert (result.state.alpha == recipe.preparation.alpha).all()
    assert result.state.n_weights == given.state.n_weights
    # alpha never changes, but a pass with the r of the start says nothing about convergence
    assert len(result.records) >= 2


@BOTH
def test_ridge_converges_to_the_mode_and_to_its_own_pi(recipe: Recipe) -> None:
    given = task(with_ridge_prior(recipe, 1.0), weighted=True, seed=1, n_components=(2, 1, 2))
    result = given.learn(max_iter=2000)
    assert result.stop is Stop.CONVERGED
    state, s, y = result.state, given.rows.s, given.rows.y
    problem = Problem(given.Phi, given.rows, given.Rt, state)
    r = problem.r(state.w)
    grad = problem.grad_J(state.w, r) - state.w
    np.testing.assert_allclose(grad / np.sqrt(np.diag(problem.precision(state.w))), 0.0, atol=1e-2)
    share = shares(recipe, y, s)
    for k, c in enumerate(state.component_class):
        own = y == c
        expected = share[c] * np.average(r[own, k], weights=s[own])
        assert state.pi[k] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("recipe", "components_left"),
    [(with_ridge_prior(FAST, 1.0), 4), (FAST, 3)],
    ids=["ridge", "ard"],
)
def test_component_that_nobody_claims_stays_with_a_ridge_prior_and_leaves_without(
    recipe: Recipe, components_left: int
) -> None:
    given = task(recipe, n_components=(2, 2), max_iter=1)
    assert given.rows.r0 is not None
    r0 = given.rows.r0.copy(order="F")
    r0[:, 0] += r0[:, 1] * (1 - 1e-9)
    r0[:, 1] *= 1e-9
    state = given.on(replace(given.rows, r0=r0)).learn().state
    assert state.n_components == components_left
    assert (state.pi >= 1e-6).all()


@BOTH
def test_fixed_alpha_is_not_touched(recipe: Recipe) -> None:
    given = task(recipe, learn_alpha=False, cap=1e-9, max_iter=3)
    alpha = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=given.state.n_weights)
    state = replace(given, state=replace(given.state, alpha=alpha)).learn().state
    np.testing.assert_array_equal(state.alpha, alpha)
    assert state.n_weights == len(alpha)


@BOTH
def test_a_model_without_weights_ends_at_once_and_says_how_long_it_took(recipe: Recipe) -> None:
    given = task(with_ridge_prior(recipe, 1.0))
    empty = given.state.keep_weights(np.zeros(given.state.n_weights, dtype=bool))
    result = replace(given, state=empty).learn()
    assert result.stop is Stop.EMPTY
    assert [record.iteration for record in result.records] == [1]
    assert 0.0 <= result.records[0].seconds < 1.0 < perf_counter()
