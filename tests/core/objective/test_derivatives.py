"""Claims about the log posterior of the whitened model, its gradient and its curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows
from sdgm.core.objective.derivatives import derivatives_of_rows, fit_of_rows, mean_change_of_r
from tests.reference.problems import (
    FORMS,
    Problem,
    random_problem,
    random_responsibilities,
)

# every form, with sample weights or without, with all weights or with few (one component then has
# none), and with unequal numbers of components; D = 2, so that the polynomial kernel has rank 6
# and most components more weights than that
CASES = [
    pytest.param(form, weighted, kept, n_components, id=f"{form}-{weighted}-{kept}-{n_components}")
    for form in FORMS
    for weighted, kept, n_components in (
        (False, 1.0, (2, 2)),
        (True, 0.7, (2, 1, 3)),
        (True, 0.15, (1, 3)),
    )
]
CROSSED = pytest.mark.parametrize(("form", "weighted", "kept", "n_components"), CASES)
STEP = 1e-5


def case(form: str, weighted: bool, kept: float, n_components: tuple[int, ...]) -> Problem:
    return random_problem(3, form, weighted=weighted, kept=kept, n_components=n_components)


def by_differences(f: Callable[[FloatArray], FloatArray | float], at: FloatArray) -> FloatArray:
    """Central differences of f, one row per coordinate."""
    return np.array([(f(at + e) - f(at - e)) / (2 * STEP) for e in STEP * np.eye(len(at))])


@CROSSED
def test_fit_equals_the_dense_sums(
    form: str, weighted: bool, kept: float, n_components: tuple[int, ...]
) -> None:
    problem = case(form, weighted, kept, n_components)
    w, mixture = problem.state.w, problem.mixture()
    r = problem.r(w)
    fit = fit_of_rows(problem.rows, mixture, None)
    assert fit.log_likelihood == pytest.approx(problem.log_likelihood(w), rel=1e-7)
    np.testing.assert_allclose(fit.J, problem.J(w, r), rtol=1e-7)
    np.testing.assert_allclose(fit.r_sum, problem.rows.s @ r, rtol=1e-7)


def test_expected_complete_log_likelihood_lacks_the_entropy_of_r() -> None:
    problem = random_problem(0)
    r = problem.r(problem.state.w)
    entropy = -(r * np.log(np.where(r > 0, r, 1.0))).sum(axis=1)
    fit = fit_of_rows(problem.rows, problem.mixture(), None)
    np.testing.assert_allclose(fit.J, fit.log_likelihood - problem.rows.s @ entropy, rtol=1e-12)


@CROSSED
def test_gradient_of_J_equals_finite_differences_with_r_held(
    form: str, weighted: bool, kept: float, n_components: tuple[int, ...]
) -> None:
    problem = case(form, weighted, kept, n_components)
    before = problem.mixture(-problem.theta)  # r from elsewhere
    here = derivatives_of_rows(problem.rows, problem.mixture(), before, problem.whitening)
    expected = by_differences(
        lambda theta: fit_of_rows(problem.rows, problem.mixture(theta), before).J, problem.theta
    )
    np.testing.assert_allclose(here.grad, expected, atol=1e-6)
    assert np.abs(expected).max() > 0.1


@CROSSED
def test_gradient_with_its_own_r_equals_finite_differences_of_the_log_likelihood(
    form: str, weighted: bool, kept: float, n_components: tuple[int, ...]
) -> None:
    problem = case(form, weighted, kept, n_components)
    here = derivatives_of_rows(problem.rows, problem.mixture(), None, problem.whitening)
    expected = by_differences(
        lambda theta: fit_of_rows(problem.rows, problem.mixture(theta), None).log_likelihood,
        problem.theta,
    )
    np.testing.assert_allclose(here.grad, expected, atol=1e-6)


@CROSSED
def test_curvature_equals_finite_differences_of_the_gradient_with_r_held(
    form: str, weighted: bool, kept: float, n_components: tuple[int, ...]
) -> None:
    problem = case(form, weighted, kept, n_components)
    before, whitening = problem.mixture(-problem.theta), problem.whitening

    def grad(theta: FloatArray) -> FloatArray:
        return derivatives_of_rows(problem.rows, problem.mixture(theta), before, whitening).grad

    here = derivatives_of_rows(problem.rows, problem.mixture(), before, whitening)
    assert here.missing is None
    np.testing.assert_allclose(here.curvature, -by_differences(grad, problem.theta), atol=1e-6)


@CROSSED
def test_curvature_less_missing_equals_finite_differences_of_the_observed_gradient(
    form: str, weighted: bool, kept: float, n_components: tuple[int, ...]
) -> None:
    problem = case(form, weighted, kept, n_components)
    whitening = problem.whitening

    def grad(theta: FloatArray) -> FloatArray:
        return derivatives_of_rows(problem.rows, problem.mixture(theta), None, whitening).grad

    here = derivatives_of_rows(problem.rows, problem.mixture(), None, whitening, missing=True)
    assert here.missing is not None
    np.testing.assert_allclose(
        here.curvature - here.missing, -by_differences(grad, problem.theta), atol=1e-6
    )
    assert np.abs(here.missing).max() > 0.01


@CROSSED
def test_gradient_and_curvature_are_those_of_the_paper_in_whitened_coordinates(
    form: str, weighted: bool, kept: float, n_components: tuple[int, ...]
) -> None:
    problem = case(form, weighted, kept, n_components)
    w, whitening = problem.state.w, problem.whitening
    here = derivatives_of_rows(problem.rows, problem.mixture(), None, whitening)
    # w = B theta with B = A^-1/2 Q, so d/dtheta = B' d/dw
    B = np.array([whitening.to_w(e) for e in np.eye(len(here.grad))]).T
    np.testing.assert_allclose(here.grad, B.T @ problem.grad_J(w, problem.r(w)), atol=1e-6)
    curvature = B.T @ problem.curvature(problem.P_cm(w)) @ B
    np.testing.assert_allclose(here.curvature, curvature, atol=1e-6)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), form=st.sampled_from(FORMS), size=st.floats(0.0, 20.0))
def test_complete_and_missing_information_are_symmetric_and_not_negative(
    seed: int, form: str, size: float
) -> None:
    # with s instead of sqrt(s) in U, sample weights above one make the curvature indefinite
    problem = random_problem(seed, form, size=size)
    here = derivatives_of_rows(
        problem.rows, problem.mixture(), None, problem.whitening, missing=True
    )
    for information in (here.curvature, here.missing):
        assert information is not None
        np.testing.assert_allclose(information, information.T, atol=1e-10)
        assert np.linalg.eigvalsh(information).min(initial=0.0) > -1e-8


@pytest.mark.parametrize("r_from_elsewhere", [False, True])
def test_responsibilities_to_start_from_take_the_place_of_r(r_from_elsewhere: bool) -> None:
    problem = random_problem(1)
    w = problem.state.w
    r0 = random_responsibilities(np.random.default_rng(0), problem.rows.y, (2, 1, 3))
    rows = replace(problem.rows, r0=r0)
    r_from = problem.mixture(-problem.theta) if r_from_elsewhere else None
    here = derivatives_of_rows(rows, problem.mixture(), r_from, problem.whitening)
    np.testing.assert_allclose(here.fit.J, problem.J(w, r0), rtol=1e-12)
    np.testing.assert_allclose(here.fit.r_sum, rows.s @ r0, rtol=1e-12)
    expected = problem.grad_J(w, r0) * problem.whitening.prior_std  # Q is the identity here
    np.testing.assert_allclose(here.grad, expected, atol=1e-10)


def test_mean_change_of_r_is_the_weighted_mean_over_all_rows_and_components() -> None:
    problem = random_problem(2)
    w, s = problem.state.w, problem.rows.s
    before, after = problem.mixture(), problem.mixture(-problem.theta)
    change = np.abs(problem.r(-w) - problem.r(w))  # (N, K)
    expected = np.average(change.mean(axis=1), weights=s)
    assert mean_change_of_r(problem.rows, before, after) == pytest.approx(expected, rel=1e-10)
    r0 = random_responsibilities(np.random.default_rng(0), problem.rows.y, (2, 1, 3))
    expected = np.average(np.abs(problem.r(-w) - r0).mean(axis=1), weights=s)
    started = mean_change_of_r(replace(problem.rows, r0=r0), before, after)
    assert started == pytest.approx(expected, rel=1e-10)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(FORMS),
    counts=st.lists(st.integers(0, 3), min_size=24, max_size=24).filter(any),
)
def test_row_of_weight_n_equals_the_row_n_times(seed: int, form: str, counts: list[int]) -> None:
    problem = random_problem(seed, form)
    Z, y = problem.rows.Z, problem.rows.y
    weighted = Rows(Z, y, np.array(counts, dtype=float))
    repeated = Rows(Z.repeat(counts, axis=0), y.repeat(counts), np.ones(sum(counts)))
    mixture, before = problem.mixture(), problem.mixture(-problem.theta)
    one, other = (
        derivatives_of_rows(rows, mixture, before, problem.whitening, missing=True)
        for rows in (weighted, repeated)
    )
    np.testing.assert_allclose(one.grad, other.grad, atol=1e-9)
    np.testing.assert_allclose(one.curvature, other.curvature, atol=1e-9)
    np.testing.assert_allclose(one.missing, other.missing, atol=1e-9)
    np.testing.assert_allclose(one.fit.J, other.fit.J, rtol=1e-10)
    assert one.fit.log_likelihood == pytest.approx(other.fit.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(one.fit.r_sum, other.fit.r_sum, atol=1e-9)


def test_model_without_weights_has_the_likelihood_of_its_mixture_weights() -> None:
    problem = random_problem(0)
    state = problem.state.keep_weights(np.zeros(problem.state.n_weights, dtype=bool))
    problem = replace(problem, state=state)
    here = derivatives_of_rows(problem.rows, problem.mixture(), None, problem.whitening)
    class_pi = np.bincount(state.component_class, state.pi)
    expected = problem.rows.s @ np.log(class_pi[problem.rows.y])
    assert here.fit.log_likelihood == pytest.approx(expected, rel=1e-12)
    assert here.grad.shape == (0,) and here.curvature.shape == (0, 0)
