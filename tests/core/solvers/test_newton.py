"""Claims about the innermost loop: Newton's method on the log posterior over w."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows, fit_of_rows
from sdgm.core.solvers.newton import NewtonPoint, log_posterior, maximize_over_w
from sdgm.core.solvers.precision import precision_cholesky
from tests.reference.problems import FORMS, Problem, random_problem, random_responsibilities


def climb(
    problem: Problem,
    theta: FloatArray,
    *,
    max_steps: int = 100,
    tol: float = 1e-12,
    r_from: Mixture | None = None,
    observed: bool = False,
) -> tuple[NewtonPoint, int]:
    return maximize_over_w(
        problem.rows,
        problem.whitening,
        problem.mixture(theta),
        theta,
        max_steps=max_steps,
        tol=tol,
        r_from=r_from,
        observed=observed,
    )


def objective(problem: Problem, theta: FloatArray, r_from: Mixture | None) -> float:
    """J - |theta|^2 / 2 with r held, or the log likelihood in place of J; computed densely."""
    w = problem.whitening.to_w(theta)
    penalty = 0.5 * float(theta @ theta)
    if problem.rows.r0 is not None:
        return problem.J(w, problem.rows.r0) - penalty
    if r_from is None:
        return problem.log_likelihood(w) - penalty
    r = np.asarray(problem.r(problem.state.w))  # r_from is always the state's own model here
    return problem.J(w, r) - penalty


def total_gradient(problem: Problem, theta: FloatArray, r_from: Mixture | None) -> FloatArray:
    here = derivatives_of_rows(problem.rows, problem.mixture(theta), r_from, problem.whitening)
    return here.grad - theta


# what the steps climb: J with r held, J with the r of the start, the log likelihood with steps of
# EM gradient, and the same with the observed information
KINDS = ["r held", "start", "em gradient", "observed"]


def setting(problem: Problem, kind: str) -> tuple[Problem, Mixture | None, bool]:
    if kind == "start":
        r0 = random_responsibilities(np.random.default_rng(0), problem.rows.y, (2, 1, 3))
        problem = replace(problem, rows=replace(problem.rows, r0=r0))
    return problem, problem.mixture() if kind == "r held" else None, kind == "observed"


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(FORMS),
    kind=st.sampled_from(KINDS),
    log_alpha=st.floats(-7, 3),
    far=st.floats(0.0, 30.0),
)
def test_every_step_raises_the_log_posterior(
    seed: int, form: str, kind: str, log_alpha: float, far: float
) -> None:
    # weak priors and starts far from the mode make full steps overshoot
    problem = random_problem(seed, form)
    problem = replace(
        problem, state=replace(problem.state, alpha=problem.state.alpha * 10.0**log_alpha)
    )
    problem, r_from, observed = setting(problem, kind)
    theta = far * np.random.default_rng(seed).normal(size=len(problem.theta))
    value = objective(problem, theta, r_from)
    for _ in range(6):
        end, _ = climb(problem, theta, max_steps=1, r_from=r_from, observed=observed)
        new_value = objective(problem, end.theta, r_from)
        # kernels without explicit features are factorised to 1e-8
        assert new_value >= value - 1e-6 * (1.0 + abs(value))
        complete = r_from is not None or problem.rows.r0 is not None
        assert log_posterior(end.fit, end.theta, complete=complete) == pytest.approx(
            new_value, rel=1e-6, abs=1e-6
        )
        theta, value = end.theta, new_value


@pytest.mark.parametrize("far", [4.0, 8.0, 15.0, 30.0])
def test_step_that_overshoots_is_halved(far: float) -> None:
    # a confident start in the wrong place: the curvature is nearly zero there, the step huge
    problem = random_problem(0, "tied", kept=1.0, n_components=(1, 1), weighted=False)
    problem = replace(problem, state=replace(problem.state, alpha=problem.state.alpha * 1e-4))
    right, _ = climb(problem, np.zeros(6))
    theta = -far * right.theta
    here = derivatives_of_rows(problem.rows, problem.mixture(theta), None, problem.whitening)
    full = theta + np.linalg.solve(np.eye(6) + here.curvature, here.grad - theta)
    before = objective(problem, theta, None)
    assert objective(problem, full, None) < before  # or there is nothing to test
    end, steps = climb(problem, theta, max_steps=1)
    assert steps == 1
    assert objective(problem, end.theta, None) > before
    fraction = (end.theta - theta) / (full - theta)
    halvings = -np.log2(fraction.mean())
    assert halvings == pytest.approx(round(halvings), abs=1e-6)
    np.testing.assert_allclose(fraction, 0.5 ** round(halvings), rtol=1e-6)
    longer = theta + 2.0 * (end.theta - theta)
    assert objective(problem, longer, None) < before  # the longest step that does


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_end_is_the_mode_where_the_gradient_is_zero(form: str, kind: str) -> None:
    problem, r_from, observed = setting(random_problem(1, form), kind)
    steps = 20 if kind in ("r held", "start") else 2000
    start = np.zeros(len(problem.theta))
    end, _ = climb(problem, start, max_steps=steps, r_from=r_from, observed=observed)
    grad = total_gradient(problem, end.theta, r_from)
    np.testing.assert_allclose(grad, 0.0, atol=1e-5)
    assert end.gain <= 1e-12
    # r held makes the objective concave: the mode is the same from everywhere
    if kind in ("r held", "start"):
        other, _ = climb(problem, problem.theta + 1.0, max_steps=steps, r_from=r_from)
        np.testing.assert_allclose(other.theta, end.theta, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_mode_maximises_the_dense_log_posterior_over_the_weights(form: str) -> None:
    problem = random_problem(2, form)
    r = problem.r(problem.state.w)
    end, _ = climb(problem, np.zeros(len(problem.theta)), r_from=problem.mixture())
    w = problem.whitening.to_w(end.theta)
    grad = problem.grad_J(w, r) - problem.state.alpha * w
    np.testing.assert_allclose(grad / np.sqrt(problem.state.alpha), 0.0, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_system_at_the_end_belongs_to_the_end(form: str) -> None:
    problem = random_problem(3, form)
    end, _ = climb(problem, np.zeros(len(problem.theta)), r_from=problem.mixture())
    here = derivatives_of_rows(problem.rows, end.mixture, problem.mixture(), problem.whitening)
    np.testing.assert_allclose(end.mixture.V, problem.mixture(end.theta).V, atol=1e-10)
    precision = np.eye(len(end.theta)) + here.curvature
    np.testing.assert_allclose(
        end.precision.solve(here.grad), np.linalg.solve(precision, here.grad), atol=1e-6
    )
    assert end.precision.half_log_det == pytest.approx(
        0.5 * np.linalg.slogdet(precision).logabsdet, abs=1e-6
    )
    np.testing.assert_allclose(end.fit.J, here.fit.J, rtol=1e-12)
    assert fit_of_rows(problem.rows, end.mixture, None).log_likelihood == pytest.approx(
        end.fit.log_likelihood, rel=1e-12
    )


def test_observed_information_needs_fewer_steps_than_the_complete_one() -> None:
    problem = random_problem(4, weighted=False)
    start = problem.theta
    slow, n_slow = climb(problem, start, max_steps=5000, tol=1e-10)
    quick, n_quick = climb(problem, start, max_steps=5000, tol=1e-10, observed=True)
    assert n_quick < n_slow / 2
    # both find a mode of the same objective
    for end in (slow, quick):
        np.testing.assert_allclose(total_gradient(problem, end.theta, None), 0.0, atol=1e-3)


def test_indefinite_observed_information_gives_way_to_the_complete_one() -> None:
    # two equal components at a saddle point: what is missing exceeds what is known
    problem = random_problem(0, "full", kept=1.0, n_components=(2, 2), weighted=False)
    state = replace(
        problem.state, w=np.zeros(problem.state.n_weights), alpha=problem.state.alpha * 1e-3
    )
    problem = replace(problem, state=state)
    theta = np.random.default_rng(0).normal(scale=1e-2, size=len(problem.theta))
    here = derivatives_of_rows(
        problem.rows, problem.mixture(theta), None, problem.whitening, missing=True
    )
    assert here.missing is not None
    assert precision_cholesky(here.curvature - here.missing) is None
    observed, complete = (
        climb(problem, theta, max_steps=1, observed=observed)[0] for observed in (True, False)
    )
    np.testing.assert_allclose(observed.theta, complete.theta, atol=1e-12)


@pytest.mark.parametrize("max_steps", [1, 2, 3])
def test_steps_are_counted_and_limited(max_steps: int) -> None:
    problem = random_problem(0)
    end, steps = climb(problem, np.zeros(len(problem.theta)), max_steps=max_steps, tol=0.0)
    assert steps == max_steps
    assert end.gain > 0.0


def test_one_step_is_taken_even_at_the_mode() -> None:
    problem = random_problem(0)
    end, _ = climb(problem, np.zeros(len(problem.theta)), r_from=problem.mixture())
    again, steps = climb(problem, end.theta, r_from=problem.mixture())
    assert steps <= 1
    np.testing.assert_allclose(again.theta, end.theta, atol=1e-8)
