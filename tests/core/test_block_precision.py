"""Claims about Newton's matrix by its diagonal blocks, against the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import log_loss

from sdgm import SDGMClassifier
from sdgm.core import block_precision
from sdgm.core.block_precision import (
    BlockPrecision,
    block_derivatives,
    conjugate_gradients,
    curvature_product,
)
from sdgm.core.learning import uses_blocks
from sdgm.core.newton import newton_system
from sdgm.core.objective import derivatives_of_rows
from sdgm.core.options import FAST, Solver
from tests.reference.problems import FORMS, random_problem


@pytest.mark.parametrize("form", FORMS)
def test_blocks_and_gradient_are_those_of_the_whole(form: str) -> None:
    problem = random_problem(0, form)
    given = problem.rows, problem.mixture(), None, problem.whitening
    whole, blocks = derivatives_of_rows(*given), block_derivatives(*given)
    np.testing.assert_allclose(blocks.grad, whole.grad, atol=1e-10)
    assert blocks.fit.log_likelihood == pytest.approx(whole.fit.log_likelihood, rel=1e-12)
    for where, block in zip(problem.whitening.coordinates, blocks.blocks, strict=True):
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
def test_the_direction_is_newtons_own(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_precision, "RESIDUAL", 1e-13)
    monkeypatch.setattr(block_precision, "MAX_PRODUCTS", 1000)
    problem = random_problem(2, form)
    given = problem.rows, problem.whitening, problem.mixture(), problem.theta, None
    whole, blocks = newton_system(*given), newton_system(*given, blocks=True)
    np.testing.assert_allclose(blocks.direction, whole.direction, atol=1e-8)
    assert blocks.gain == pytest.approx(whole.gain, rel=1e-8)
    assert blocks.precision.half_log_det >= whole.precision.half_log_det - 1e-9


def test_a_direction_of_negative_curvature_is_still_uphill() -> None:
    precision = BlockPrecision.from_blocks([slice(0, 2)], [np.zeros((2, 2))])
    b = np.array([1.0, 2.0])
    direction = conjugate_gradients(lambda v: v * np.array([1.0, -1.0]), b, precision)
    assert b @ direction > 0.0


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("n_components", [1, 2])
def test_small_problems_end_with_about_the_same_weights(load, n_components: int) -> None:
    X, y = load(return_X_y=True)
    full, block = (
        SDGMClassifier(n_components, solver=solver, random_state=0).fit(X, y)
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


def test_the_solver_is_chosen_by_the_work() -> None:
    few, many = np.full(4, 100.0), np.full(52, 153.0)
    assert not uses_blocks(10_000, few, 100, FAST)
    assert uses_blocks(15_000, many, 153, FAST)
    assert not uses_blocks(15_000, many, 153, replace(FAST, solver=Solver.FULL))
    assert uses_blocks(100, few, 100, replace(FAST, solver=Solver.BLOCK))
    # with few rows the matrix of rows is small
    assert not uses_blocks(200, many, 153, FAST)
