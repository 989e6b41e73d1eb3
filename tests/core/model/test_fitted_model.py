"""Claims about which inputs, rows and columns a fitted model refers to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdgm.core.model.basis import Basis, positions
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials, monomials
from sdgm.core.model.fitted_model import FAR_AWAY, FittedModel, Scaler
from sdgm.core.model.kernels import KernelBasis, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.core.model.state import State

rng = np.random.default_rng(0)
X = rng.normal(size=(9, 5))
INPUTS = np.array([3, 1])  # of five
SCALER = Scaler(np.array([0.5, -1.0]), np.array([2.0, 0.25]), reach=7.0)
ZZ = SCALER.standardized(X[:4, INPUTS])
BASES: dict[str, Basis] = {
    "full": monomials(2).take(np.arange(1, 6)),
    "rbf": KernelBasis(RBFKernel(0.3), ZZ, np.arange(4), ZZ, 0.3),
    "linear": KernelBasis(LinearKernel(), ZZ, np.arange(4), ZZ, np.nan),
}


def model_of(basis: Basis, component_class: tuple[int, ...] = (0, 0, 1, 2)) -> FittedModel:
    """Weights of the constant and every column, for each component."""
    K, n = len(component_class), 1 + len(basis)
    state = State(
        w=np.random.default_rng(1).normal(size=K * n),
        alpha=np.ones(K * n),
        component=np.repeat(np.arange(K), n),
        column=np.tile(np.arange(n), K),
        pi=np.full(K, 1.0 / K),
        component_class=np.array(component_class),
    )
    return FittedModel(np.arange(state.n_classes), SCALER, basis, state)


def test_classes_are_counted_from_zero() -> None:
    state = model_of(BASES["full"]).state
    assert (state.n_classes, state.n_components) == (3, 4)


@pytest.mark.parametrize("name", ["full", "rbf", "linear"])
def test_a_model_of_some_inputs_predicts_the_same_from_all_of_them_and_back(name: str) -> None:
    model = model_of(BASES[name])
    wide = model.at_inputs(INPUTS, 5)
    expected = model.log_proba(X[:, INPUTS])
    np.testing.assert_allclose(wide.log_proba(X), expected, rtol=1e-12)
    elsewhere = X + 10.0 * ~np.isin(np.arange(5), INPUTS)
    np.testing.assert_allclose(wide.log_proba(elsewhere), expected, rtol=1e-12)
    np.testing.assert_array_equal(wide.inputs_read, np.sort(INPUTS))
    back = wide.only_inputs(INPUTS)
    np.testing.assert_array_equal(back.log_proba(X[:, INPUTS]), expected)
    np.testing.assert_array_equal(back.inputs_read, [0, 1])


def test_inputs_that_are_left_out_become_zero() -> None:
    wide = SCALER.at_inputs(INPUTS, 5)
    assert wide.center.tolist() == [0.0, -1.0, 0.0, 0.5, 0.0]
    assert wide.inverse_scale.tolist() == [0.0, 0.25, 0.0, 2.0, 0.0]
    assert wide.inputs.tolist() == [1, 3]
    assert wide.reach == SCALER.reach


def test_the_reach_is_far_beyond_the_furthest_value_of_any_row() -> None:
    scaler = Scaler.identity(2)
    assert scaler.reaching(np.array([[0.25, -8.0], [3.0, 1.0]])).reach == 8.0 * FAR_AWAY
    assert scaler.reaching(np.array([[0.25, -0.5]])).reach == FAR_AWAY


@pytest.mark.parametrize(
    ("basis", "read"),
    [
        (Monomials(np.array([2, ABSENT]), np.array([0, ABSENT])), [0, 2]),
        (Monomials(np.array([1, SQUARED_NORM]), np.array([ABSENT, ABSENT])), [0, 1, 2, 3]),
        (KernelBasis(RBFKernel(1.0), X[:2, :4], np.arange(2), X[:2, :4], 1.0), [0, 1, 2, 3]),
        (KernelBasis(PolynomialKernel(), np.eye(2, 4), np.arange(2), X[:2, :4], 1.0), [0, 1]),
        (KernelBasis(LinearKernel(), np.eye(1, 4, 2), np.arange(1), X[:1, :4], 1.0), [2]),
        (KernelBasis(RBFKernel(1.0), X[:0, :4], np.arange(0), X[:0, :4], 1.0), []),
    ],
)
def test_inputs_that_are_read_are_those_that_columns_depend_on(basis: Any, read: list[int]) -> None:
    assert basis.inputs_read(4).tolist() == read


def test_a_squared_norm_stays_one_among_fewer_inputs() -> None:
    terms = Monomials(np.array([3, SQUARED_NORM, 1]), np.array([1, ABSENT, ABSENT]))
    assert terms.only_inputs(np.array([1, 3]), 5).column_keys() == [
        (1, 0),
        (SQUARED_NORM, ABSENT),
        (0, ABSENT),
    ]


def test_stored_numbers_of_vectors_are_those_of_inputs_that_are_not_zero_in_all() -> None:
    vectors = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 3.0]])
    basis = KernelBasis(RBFKernel(1.0), vectors, np.arange(2), vectors, 1.0)
    assert basis.n_stored_numbers == 2 * 2


def test_columns_are_found_among_others_and_weights_of_those_not_there_leave() -> None:
    full = monomials(2)
    some = full.take([4, 1])
    assert positions(some, full).tolist() == [4, 1]
    assert positions(full, some).tolist() == [-1, 1, -1, -1, 0, -1]
    model = model_of(BASES["full"])
    state = model.among(some)
    assert set(state.column.tolist()) == {0, 1, 2}
    assert state.n_weights == 3 * model.state.n_components
    again = FittedModel.from_candidates(model.classes, SCALER, some, state)
    # weights by monomial: of column 4 of the monomials with a constant, then of column 1
    np.testing.assert_array_equal(again.coef, model.coef[:, [3, 0]])
    np.testing.assert_array_equal(again.intercept, model.intercept)
