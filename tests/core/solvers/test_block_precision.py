"""Claims about Newton's matrix by its diagonal blocks, against the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import log_loss

from sdgm import SDGMClassifier
from sdgm.core.data.rows import Rows
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import derivatives_of_rows, gradient_of_rows, mixture_at
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers.block_precision import (
    BlockPrecision,
    curvature_blocks,
    curvature_product,
    is_wide,
    mean_block,
)
from sdgm.core.solvers.newton import maximize_over_w, newton_point
from sdgm.core.solvers.truncated import (
    Preconditioner,
    conjugate_gradients,
    maximize_by_blocks,
)
from tests.reference.problems import FORMS, random_problem


@pytest.mark.parametrize("form", FORMS)
def test_blocks_and_gradient_are_those_of_the_whole(form: str) -> None:
    problem = random_problem(0, form)
    rows, mixture, whitening = problem.rows, problem.mixture(), problem.whitening
    whole = derivatives_of_rows(rows, mixture, None, whitening)
    gradient = gradient_of_rows(rows, mixture, None)
    np.testing.assert_allclose(whitening.of_scores(gradient.of_V), whole.grad, atol=1e-10)
    assert gradient.fit.log_likelihood == pytest.approx(whole.fit.log_likelihood, rel=1e-12)
    blocks = curvature_blocks(rows, mixture, whitening)
    for where, block in zip(whitening.coordinates, blocks, strict=True):
        np.testing.assert_allclose(block, whole.curvature[where, where], atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("observed", [False, True])
def test_products_are_those_of_the_whole(form: str, observed: bool) -> None:
    problem = random_problem(1, form)
    mixture = problem.mixture()
    whole = derivatives_of_rows(problem.rows, mixture, None, problem.whitening, missing=True)
    curvature = whole.curvature - whole.missing if observed else whole.curvature
    product = curvature_product(problem.rows, mixture, problem.whitening, observed=observed)
    v = np.random.default_rng(0).normal(size=len(problem.theta))
    np.testing.assert_allclose(product(v), v + curvature @ v, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_the_direction_is_newtons_own(form: str) -> None:
    problem = random_problem(2, form)
    rows, mixture, whitening = problem.rows, problem.mixture(), problem.whitening
    whole = newton_point(rows, whitening, mixture, problem.theta, None)
    blocks = BlockPrecision.from_blocks(
        whitening.coordinates, curvature_blocks(rows, mixture, whitening)
    )
    grad = whitening.of_scores(gradient_of_rows(rows, mixture, None).of_V) - problem.theta
    product = curvature_product(rows, mixture, whitening, observed=False)
    path = conjugate_gradients(product, grad, Preconditioner.of(blocks, whitening), 1e-12)
    np.testing.assert_allclose(path.end, whole.direction, atol=1e-8)
    assert 0 < path.n_products < 60
    assert blocks.half_log_det >= whole.precision.half_log_det - 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_the_climb_ends_at_the_same_mode(form: str) -> None:
    problem = random_problem(3, form)
    mixture = problem.mixture()
    given = problem.rows, problem.whitening, mixture, problem.theta
    # with r held the mode is unique
    ends = [
        maximize(*given, max_steps=200, tol=1e-12, r_from=mixture)[0]
        for maximize in (maximize_over_w, maximize_by_blocks)
    ]
    np.testing.assert_allclose(ends[1].theta, ends[0].theta, atol=1e-5)
    assert ends[1].precision.half_log_det >= ends[0].precision.half_log_det - 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_a_mode_stays_a_mode_with_the_observed_information(form: str) -> None:
    problem = random_problem(4, form)
    rows, whitening = problem.rows, problem.whitening
    settings = {"max_steps": 200, "tol": 1e-12, "r_from": None, "observed": True}
    mode, _ = maximize_over_w(rows, whitening, problem.mixture(), problem.theta, **settings)
    end, _ = maximize_by_blocks(rows, whitening, mode.mixture, mode.theta, **settings)
    np.testing.assert_allclose(end.theta, mode.theta, atol=1e-5)


def test_a_direction_of_negative_curvature_is_still_uphill() -> None:
    precision = BlockPrecision.from_blocks([slice(0, 2)], [np.zeros((2, 2))])
    b = np.array([1.0, 2.0])
    path = conjugate_gradients(lambda v: v * np.array([1.0, -1.0]), b, precision, 1e-3)
    assert b @ path.end > 0.0


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("n_components", [1, 2])
def test_small_problems_end_with_about_the_same_weights(load, n_components: int) -> None:
    X, y = load(return_X_y=True)
    full, block = (
        SDGMClassifier(n_components, solver=solver, random_state=0, teacher=None).fit(X, y)
        for solver in ("full", "block")
    )
    assert abs(full.n_active_weights_ - block.n_active_weights_) <= 3
    losses = [log_loss(y, model.predict_proba(X)) for model in (full, block)]
    assert losses[1] == pytest.approx(losses[0], abs=0.02)


def test_a_ridge_prior_ends_at_the_same_mode() -> None:
    X, y = load_wine(return_X_y=True)
    full, block = (
        SDGMClassifier(1, prior="ridge", solver=solver, random_state=0).fit(X, y)
        for solver in ("full", "block")
    )
    np.testing.assert_allclose(block.predict_proba(X), full.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("m", "p", "wide"), [(10, 24, True), (10, 25, False), (1, 2, True), (1, 3, False)]
)
def test_blocks_are_summed_in_whichever_columns_are_less_work(m: int, p: int, wide: bool) -> None:
    assert is_wide(m, p) is wide  # p^2 against 2 p m + m^2: up to p = (1 + sqrt 2) m


def test_one_block_for_all_is_the_mean_of_theirs() -> None:
    rng = np.random.default_rng(0)
    N, p, K = 30, 4, 3
    state = State(
        w=rng.normal(size=K * p),
        alpha=np.tile([1.0, 2.0, 0.5, 3.0], K),
        component=np.repeat(np.arange(K), p),
        column=np.tile(np.arange(p), K),
        pi=np.full(K, 1.0 / K),
        component_class=np.arange(K),
    )
    rows = Rows(rng.normal(size=(N, p)), rng.integers(K, size=N), rng.uniform(0.5, 2.0, N))
    whitening = whiten(np.diag([1.0, 0.5, 2.0, 1.0]), state)
    mixture = mixture_at(whitening, whitening.to_theta(state.w), state)
    assert whitening.is_alike
    one, *others = mean_block(rows, mixture, whitening)
    assert all(other is one for other in others)
    assert len(others) == K - 1
    np.testing.assert_allclose(one, np.mean(curvature_blocks(rows, mixture, whitening), axis=0))
    precision = BlockPrecision.from_blocks(whitening.coordinates, [one, *others])
    assert precision.cholesky[0] is precision.cholesky[-1]
    b = rng.normal(size=K * p)
    expected = np.linalg.solve(np.eye(p) + one, b.reshape(K, p).T).T.ravel()
    np.testing.assert_allclose(precision.solve(b), expected)
    unlike = replace(state, alpha=np.arange(1.0, 1.0 + K * p))
    assert not whiten(np.diag([1.0, 0.5, 2.0, 1.0]), unlike).is_alike
    assert not whiten(np.eye(p), state.keep_weights(np.arange(K * p) > 0)).is_alike
