"""Claims about the curvature from products of columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm.core.objective import products
from sdgm.core.objective.derivatives import derivatives_by_products, derivatives_of_rows
from sdgm.core.objective.products import products_pay
from tests.reference.problems import Problem, random_problem


def assert_equal_derivatives(problem: Problem) -> None:
    arguments = problem.rows, problem.mixture(), None, problem.whitening
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "MOST_COLUMNS", 0)
        assert not products_pay(len(problem.rows), problem.whitening)
        expected = derivatives_of_rows(*arguments, missing=True)
    by_products = derivatives_by_products(*arguments, missing=True)
    size = max(np.abs(expected.curvature).max(), 1.0)  # 1 - p is rounded to the digits of one
    np.testing.assert_allclose(by_products.curvature, expected.curvature, atol=1e-13 * size)
    np.testing.assert_allclose(by_products.missing, expected.missing, atol=1e-13 * size)
    np.testing.assert_allclose(by_products.grad, expected.grad, atol=1e-12)
    assert by_products.fit.J == expected.fit.J
    without = derivatives_by_products(*arguments, missing=False)
    assert without.missing is None
    np.testing.assert_allclose(without.curvature, by_products.curvature, atol=1e-14 * size)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(["full", "diag", "tied", "poly"]),
    n_components=st.lists(st.integers(1, 3), min_size=2, max_size=4).map(tuple),
    weighted=st.booleans(),
    kept=st.sampled_from([0.1, 0.7, 1.0]),
    size=st.sampled_from([0.5, 50.0]),
)
def test_products_of_columns_add_up_to_the_whole(
    seed, form, n_components, weighted, kept, size
) -> None:
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


def test_many_rows_or_columns_have_none() -> None:
    few = random_problem(0, D=2).whitening
    assert products_pay(100, few)
    assert not products_pay(10**6, few)
    assert not products_pay(100, random_problem(0, N=200, D=5).whitening)


def test_columns_are_multiplied_once() -> None:
    rows = random_problem(0, D=2).rows
    assert rows.column_products is rows.column_products
    i, j = np.triu_indices(rows.Z.shape[1])
    np.testing.assert_array_equal(rows.column_products, rows.Z[:, i] * rows.Z[:, j])
