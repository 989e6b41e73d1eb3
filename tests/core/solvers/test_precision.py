"""Claims about the posterior precision: two equal forms, and help when rounding breaks it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm.core.inference.evidence import well_determined
from sdgm.core.objective.derivatives import derivatives_of_rows, row_space_derivatives
from sdgm.core.solvers.newton import newton_point
from sdgm.core.solvers.precision import (
    DensePrecision,
    FactorizationError,
    RowSpacePrecision,
    precision_cholesky,
    robust_precision_cholesky,
)
from tests.reference.problems import FORMS, Problem, random_problem


def both_forms(problem: Problem) -> tuple[DensePrecision, RowSpacePrecision]:
    whitening, mixture = problem.whitening, problem.mixture()
    here = derivatives_of_rows(problem.rows, mixture, None, whitening)
    _, grad, Gt, P_cm = row_space_derivatives(problem.rows, mixture, None, whitening)
    np.testing.assert_allclose(grad, here.grad, rtol=1e-9, atol=1e-9)
    dense = DensePrecision(here.curvature)
    return dense, RowSpacePrecision.from_rows(Gt, P_cm, whitening.coordinates)


@pytest.mark.parametrize("kept", [0.15, 0.9], ids=["few", "many"])
@pytest.mark.parametrize("form", FORMS)
def test_both_forms_are_the_same_matrix(form: str, kept: float) -> None:
    problem = random_problem(3, form, kept=kept)
    dense, row_space = both_forms(problem)
    m = len(problem.theta)
    b = np.random.default_rng(0).normal(size=m)
    np.testing.assert_allclose(row_space.solve(b), dense.solve(b), rtol=1e-7, atol=1e-9)
    assert row_space.half_log_det == pytest.approx(dense.half_log_det, abs=1e-8)
    for one, other in zip(
        row_space.shrinkage(problem.whitening.coordinates),
        dense.shrinkage(problem.whitening.coordinates),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)
    np.testing.assert_allclose(
        row_space.shrinkage_diagonal(), dense.shrinkage_diagonal(), atol=1e-8
    )


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_both_forms_agree_on_weights_about_to_die_and_on_free_ones(scale: float) -> None:
    problem = random_problem(0, "full", kept=1.0)
    state = replace(problem.state, alpha=problem.state.alpha * scale)
    problem = replace(problem, state=state)
    dense, row_space = (well_determined(problem.whitening, each) for each in both_forms(problem))
    np.testing.assert_allclose(row_space, dense, rtol=1e-5, atol=1e-300)


def test_fewer_rows_than_coordinates_take_the_row_space_and_more_do_not() -> None:
    problem = random_problem(0, "full", kept=1.0)
    m = len(problem.theta)
    for n, form in ((m - 1, RowSpacePrecision), (m, DensePrecision)):
        index = np.arange(n) % len(problem.rows)
        rows = replace(
            problem.rows,
            Z=problem.rows.Z[index],
            y=problem.rows.y[index],
            s=problem.rows.s[index],
        )
        system = newton_point(rows, problem.whitening, problem.mixture(), problem.theta, None)
        assert isinstance(system.precision, form)


def test_rows_that_are_not_finite_are_trouble_with_a_name() -> None:
    Gt, P = np.ones((4, 3)), np.full((2, 3), 0.5)
    Gt[0, 0] = np.nan
    with pytest.raises(FactorizationError, match="cannot be factorised"):
        RowSpacePrecision.from_rows(Gt, P, [slice(0, 2), slice(2, 4)])


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 8), size=st.floats(1e-6, 1e6))
def test_cholesky_factor_is_that_of_identity_plus_curvature(seed: int, m: int, size: float) -> None:
    X = np.random.default_rng(seed).normal(size=(m, m))
    curvature = size * X @ X.T
    kept = curvature.copy()
    for factor in (precision_cholesky(curvature), robust_precision_cholesky(curvature)):
        assert factor is not None
        L = np.tril(factor)
        np.testing.assert_allclose(L @ L.T, np.eye(m) + curvature, atol=1e-10 * (1 + size))
    np.testing.assert_array_equal(curvature, kept)


@pytest.mark.parametrize("deficit", [1e-15, 1e-13, 1e-11, 1e-9, 1e-7])
def test_jitter_mends_a_precision_that_rounding_has_made_indefinite(deficit: float) -> None:
    # eigenvalues 1e12 (twice) and, just below zero, -deficit * 1e12
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    curvature = (X * np.array([1e12, 1e12, -deficit * 1e12 - 1.0])) @ X.T
    curvature = 0.5 * (curvature + curvature.T)
    if deficit > 1e-14:
        assert precision_cholesky(curvature) is None
    L = np.tril(robust_precision_cholesky(curvature))
    assert np.isfinite(L).all()
    # no more is added than the ladder's next rung asks for
    np.testing.assert_allclose(
        L @ L.T, np.eye(3) + curvature, atol=1e12 * max(200 * deficit, 1e-13)
    )


@pytest.mark.parametrize("where", [(0, 0), (2, 2), (2, 0)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_curvature_that_is_not_finite_is_trouble_with_a_name(
    where: tuple[int, int], value: float
) -> None:
    curvature = np.eye(3)
    curvature[where] = curvature[where[::-1]] = value
    with pytest.raises(FactorizationError, match=r"cannot be factorised.*standardise the inputs"):
        robust_precision_cholesky(curvature)


def test_curvature_far_from_positive_loses_its_negative_part() -> None:
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    L = np.tril(robust_precision_cholesky((X * np.array([3.0, 0.5, -2.0])) @ X.T))
    np.testing.assert_allclose(L @ L.T, (X * np.array([4.0, 1.5, 1.0])) @ X.T, atol=1e-12)


def test_no_weights_have_an_empty_factor() -> None:
    assert robust_precision_cholesky(np.empty((0, 0))).shape == (0, 0)


def test_jitter_is_added_to_the_diagonal() -> None:
    C = np.array([[2.0, 0.5], [0.5, 3.0]])
    factor = precision_cholesky(C, 0.25)
    assert factor is not None
    L = np.tril(factor)
    np.testing.assert_allclose(L @ L.T, C + 1.25 * np.eye(2))
