"""Claims about the curvature by pairs of components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm.core.objective import pairwise as pairs_module
from sdgm.core.objective.derivatives import derivatives_by_pairs, derivatives_of_rows
from sdgm.core.objective.pairwise import pairs_pay, pairs_work, whole_work
from tests.reference.problems import Problem, random_problem


def assert_equal_derivatives(problem: Problem) -> None:
    arguments = problem.rows, problem.mixture(), None, problem.whitening
    assert not pairs_pay(len(problem.rows), problem.whitening)  # so few rows
    expected = derivatives_of_rows(*arguments, missing=True)
    by_pairs = derivatives_by_pairs(*arguments, missing=True)
    size = max(np.abs(expected.curvature).max(), 1.0)  # 1 - p is rounded to the digits of one
    np.testing.assert_allclose(by_pairs.curvature, expected.curvature, atol=1e-13 * size)
    np.testing.assert_allclose(by_pairs.missing, expected.missing, atol=1e-13 * size)
    np.testing.assert_allclose(by_pairs.grad, expected.grad, atol=1e-12)
    assert by_pairs.fit.J == expected.fit.J
    np.testing.assert_array_equal(by_pairs.curvature, by_pairs.curvature.T)
    assert derivatives_by_pairs(*arguments, missing=False).missing is None


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(["full", "diag", "tied"]),
    n_components=st.lists(st.integers(1, 3), min_size=2, max_size=4).map(tuple),
    weighted=st.booleans(),
    kept=st.sampled_from([0.1, 0.7, 1.0]),
    size=st.sampled_from([0.5, 50.0]),
)
def test_pairs_add_up_to_the_whole(seed, form, n_components, weighted, kept, size) -> None:
    problem = random_problem(
        seed, form, n_components=n_components, weighted=weighted, kept=kept, size=size
    )
    assert_equal_derivatives(problem)


@pytest.mark.parametrize("kept", [0.3, 1.0])
def test_rows_of_several_classes_are_weighed_by_frequency(kept: float) -> None:
    problem = random_problem(0, n_components=(2, 1, 3), kept=kept)
    frequency = np.random.default_rng(0).dirichlet(np.ones(3), size=len(problem.rows))
    frequency[:5] = np.eye(3)[[0, 1, 2, 0, 1]]
    assert_equal_derivatives(replace(problem, rows=replace(problem.rows, y=frequency)))


def test_a_model_of_few_weights_or_rows_and_one_in_other_coordinates_has_no_pairs() -> None:
    dense = random_problem(0, N=200, D=5, kept=1.0).whitening
    assert pairs_pay(10_000, dense)
    assert not pairs_pay(50, dense)
    assert not pairs_pay(10**9, random_problem(0, N=200, D=5, kept=0.3).whitening)
    assert not pairs_pay(10**9, random_problem(0, "poly", N=200, kept=1.0).whitening)


def test_learning_takes_pairs_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(0, N=2000, D=5, kept=1.0)
    arguments = problem.rows, problem.mixture(), None, problem.whitening
    by_pairs = derivatives_of_rows(*arguments, missing=True)
    np.testing.assert_array_equal(
        by_pairs.curvature, derivatives_by_pairs(*arguments, missing=True).curvature
    )
    monkeypatch.setattr(pairs_module, "LEAST_WORK", np.inf)
    expected = derivatives_of_rows(*arguments, missing=True)
    np.testing.assert_allclose(by_pairs.curvature, expected.curvature, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_pairs.missing, expected.missing, rtol=1e-9, atol=1e-9)
    assert (by_pairs.curvature != expected.curvature).any()  # another way to the same


def test_work_is_counted_in_multiplications() -> None:
    sizes = np.array([3.0, 2.0, 0.0, 0.0])
    # three sides: two components, and one for those without coordinates
    assert pairs_work(sizes, 5) == 3 * 5**2
    assert pairs_work(np.array([3.0, 2.0]), 5) == 5**2
    assert whole_work(sizes) == 5**2 + 3**2 + 2**2
