"""Claims about the outer updates: well-determined weights, alpha, pi, covariance and evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.inference.evidence import (
    laplace_covariance,
    log_evidence,
    updated_alpha,
    updated_pi,
    weight_covariance,
    well_determined,
)
from sdgm.core.objective.derivatives import derivatives_of_rows
from sdgm.core.solvers.newton import log_posterior
from sdgm.core.solvers.precision import DensePrecision
from tests.reference.problems import FORMS, Problem, random_problem

# explicit features have exact factors; rbf is factorised to 1e-8
EXACT = ["full", "diag", "tied", "poly", "callable"]

# few weights: as many coordinates as weights; many: no more coordinates than the rank of the
# design, which is 6 for the polynomial kernel of two inputs and 25 columns
FEW_AND_MANY = pytest.mark.parametrize("kept", [0.15, 0.9], ids=["few", "many"])
EVERY_FORM = pytest.mark.parametrize("form", FORMS)


def precision_of(problem: Problem) -> DensePrecision:
    here = derivatives_of_rows(problem.rows, problem.mixture(), None, problem.whitening)
    return DensePrecision(here.curvature)


def gamma_of(problem: Problem) -> FloatArray:
    return well_determined(problem.whitening, precision_of(problem))


def test_cases_cover_more_weights_than_rank_and_fewer() -> None:
    many = random_problem(0, "poly", kept=0.9)
    few = random_problem(0, "poly", kept=0.15)
    assert np.diff(many.state.starts).max() > many.Rt.shape[1]
    assert np.diff(few.state.starts).max() <= few.Rt.shape[1]


@FEW_AND_MANY
@EVERY_FORM
def test_well_determined_equals_one_less_alpha_lambda_of_the_dense_inverse(
    form: str, kept: float
) -> None:
    problem = random_problem(0, form, kept=kept)
    Lambda = np.linalg.inv(problem.precision(problem.state.w))
    expected = 1.0 - problem.state.alpha * np.diag(Lambda)
    np.testing.assert_allclose(gamma_of(problem), expected, atol=1e-7)
    assert expected.max() > 0.1


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(EXACT),
    kept=st.floats(0.1, 1.0),
    log_alpha=st.floats(-8, 8),
)
def test_well_determined_is_between_zero_and_one(
    seed: int, form: str, kept: float, log_alpha: float
) -> None:
    problem = random_problem(seed, form, kept=kept)
    state = replace(problem.state, alpha=problem.state.alpha * 10.0**log_alpha)
    gamma = gamma_of(replace(problem, state=state))
    assert ((gamma >= 0.0) & (gamma <= 1.0)).all()


def test_well_determined_is_not_negative_by_rounding() -> None:
    whitening = random_problem(0, "full").whitening
    m = whitening.L.shape[1]
    curvature = np.diag(np.linspace(-1e-17, 1e-17, m))
    gamma = well_determined(whitening, DensePrecision(curvature))
    np.testing.assert_allclose(gamma, np.diag(curvature).clip(0.0), atol=1e-30)


def test_well_determined_keeps_its_digits_for_weights_about_to_die() -> None:
    # 1 - alpha lambda is 1e-18 here: zero if computed as a difference
    problem = random_problem(0, "full", kept=1.0)
    w = problem.state.w
    state = replace(problem.state, alpha=np.full(len(w), 1e18))
    problem = replace(problem, state=state)
    # to first order in 1 / alpha
    expected = np.diag(problem.curvature(problem.P_cm(w))) / 1e18
    np.testing.assert_allclose(gamma_of(problem), expected, rtol=1e-9)


@FEW_AND_MANY
@EVERY_FORM
def test_covariance_of_the_weights_equals_the_dense_inverse(form: str, kept: float) -> None:
    problem = random_problem(1, form, kept=kept)
    Lambda = weight_covariance(problem.whitening, precision_of(problem).cholesky)
    root = np.sqrt(problem.state.alpha)  # in units of the prior's deviations
    expected = np.linalg.inv(problem.precision(problem.state.w))
    np.testing.assert_allclose(
        Lambda * np.outer(root, root), expected * np.outer(root, root), atol=1e-6
    )


def test_no_weights_have_an_empty_covariance() -> None:
    problem = random_problem(0)
    state = problem.state.keep_weights(np.zeros(problem.state.n_weights, dtype=bool))
    problem = replace(problem, state=state)
    assert weight_covariance(problem.whitening, np.empty((0, 0))).shape == (0, 0)


@FEW_AND_MANY
@EVERY_FORM
def test_log_evidence_equals_the_laplace_approximation_in_the_weights(
    form: str, kept: float
) -> None:
    problem = random_problem(2, form, kept=kept)
    # the most probable weights with these scores, so that both penalties are the same
    w = problem.whitening.to_w(problem.theta)
    here = derivatives_of_rows(problem.rows, problem.mixture(), None, problem.whitening)
    precision = DensePrecision(here.curvature)
    value = log_evidence(log_posterior(here.fit, problem.theta, complete=True), precision)
    alpha = problem.state.alpha
    # J + ln N(w | 0, A^-1) + ln N(w | w, Lambda)^-1: the powers of 2 pi cancel
    expected = (
        problem.J(w, problem.r(w))
        - 0.5 * alpha @ w**2
        + 0.5 * np.log(alpha).sum()
        - 0.5 * np.linalg.slogdet(problem.precision(w)).logabsdet
    )
    assert value == pytest.approx(expected, rel=1e-6)


@settings(deadline=None)
@given(
    w=st.floats(1e-3, 1e3),
    sign=st.sampled_from([-1.0, 1.0]),
    lam=st.floats(1e-6, 1e6),
)
def test_fixed_point_of_alpha_is_the_inverse_second_moment_of_the_weight(
    w: float, sign: float, lam: float
) -> None:
    alpha = 1.0 / (w**2 + lam)
    gamma = w**2 / (w**2 + lam)  # 1 - alpha lambda
    np.testing.assert_allclose(updated_alpha(np.array([gamma]), np.array([sign * w])), [alpha])


@pytest.mark.parametrize("form", EXACT)
def test_alpha_moves_the_way_the_evidence_rises(form: str) -> None:
    # with w and the curvature of J held, d log evidence / d log alpha = w^2 (new - old) / 2
    problem = random_problem(3, form)
    w, alpha = problem.state.w, problem.state.alpha
    curvature = problem.curvature(problem.P_cm(w))

    def evidence(log_alpha: FloatArray) -> float:
        alpha = np.exp(log_alpha)
        log_det = np.linalg.slogdet(curvature + np.diag(alpha)).logabsdet
        return float(0.5 * log_alpha.sum() - 0.5 * alpha @ w**2 - 0.5 * log_det)

    step = 1e-5
    slope = [
        (evidence(np.log(alpha) + e) - evidence(np.log(alpha) - e)) / (2 * step)
        for e in step * np.eye(len(w))
    ]
    new_alpha = updated_alpha(gamma_of(problem), w)
    np.testing.assert_allclose(0.5 * w**2 * (new_alpha - alpha), slope, atol=1e-7)
    assert np.abs(slope).max() > 1e-2


def test_alpha_is_infinite_without_a_warning_where_weight_or_data_say_nothing() -> None:
    gamma = np.array([0.5, 0.0, 0.5, 0.0])
    w = np.array([0.0, 0.0, 1e-200, 1.0])
    np.testing.assert_array_equal(updated_alpha(gamma, w), np.inf)
    assert not np.isnan(updated_alpha(np.array([1e-300, 1.0]), np.array([1e-160, 1e-154]))).any()


@settings(deadline=None)
@given(
    n_components=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    seed=st.integers(0, 10_000),
)
def test_pi_is_the_mean_responsibility_within_the_class_times_its_share(
    n_components: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    component_class = np.repeat(np.arange(len(n_components)), n_components)
    y = rng.permutation(np.arange(30) % len(n_components))
    s = rng.uniform(0.1, 2.0, size=30)
    r = rng.random((30, len(component_class))) * (component_class == y[:, None])
    r /= r.sum(axis=1, keepdims=True)
    ones = np.ones(len(n_components))
    expected = [np.average(r[y == c, k], weights=s[y == c]) for k, c in enumerate(component_class)]
    np.testing.assert_allclose(updated_pi(s @ r, component_class, ones), expected)
    share = np.bincount(y, s) / s.sum()
    pi = updated_pi(s @ r, component_class, share)
    np.testing.assert_allclose(pi, s @ r / s.sum())
    np.testing.assert_allclose(np.bincount(component_class, pi), share)


# --- the covariance of the weights of a state ---


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kept", [0.15, 0.9])
def test_covariance_of_a_state_equals_the_dense_inverse(form: str, kept: float) -> None:
    problem = random_problem(0, form, kept=kept)
    Lambda = laplace_covariance(problem.rows, problem.Rt, problem.state)
    root = np.sqrt(problem.state.alpha)
    expected = np.linalg.inv(problem.precision(problem.state.w))
    np.testing.assert_allclose(
        Lambda * np.outer(root, root), expected * np.outer(root, root), atol=1e-6
    )


def test_covariance_of_a_state_without_weights_is_empty() -> None:
    problem = random_problem(0)
    state = problem.state.keep_weights(np.zeros(problem.state.n_weights, dtype=bool))
    assert laplace_covariance(problem.rows, problem.Rt, state).shape == (0, 0)
