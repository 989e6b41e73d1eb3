"""Claims about the feature maps of the original form."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures

from sdgm.core.model import features
from sdgm.core.model.features import CovarianceType, column_products, monomials, n_monomials

X = np.random.default_rng(0).normal(size=(7, 4))


def test_full_quadratic_features_follow_the_order_of_the_paper() -> None:
    phi = monomials(3, "full").transform(np.array([[2.0, 3.0, 5.0]]))
    #                               1  x1 x2 x3 x1^2 x1x2 x1x3 x2^2 x2x3 x3^2
    np.testing.assert_array_equal(phi, [[1, 2, 3, 5, 4, 6, 10, 9, 15, 25]])


def test_full_quadratic_features_equal_polynomial_features_of_sklearn() -> None:
    np.testing.assert_allclose(
        monomials(4, "full").transform(X), PolynomialFeatures(2).fit_transform(X), rtol=1e-15
    )


def test_diagonal_spherical_and_tied_features_are_sums_or_subsets_of_the_full_ones() -> None:
    ones_and_x = np.column_stack([np.ones(len(X)), X])
    np.testing.assert_allclose(
        monomials(4, "diag").transform(X), np.column_stack([ones_and_x, X**2])
    )
    np.testing.assert_allclose(
        monomials(4, "spherical").transform(X), np.column_stack([ones_and_x, (X**2).sum(axis=1)])
    )
    np.testing.assert_array_equal(monomials(4, "tied").transform(X), ones_and_x)


@given(n_features=st.integers(1, 30), covariance_type=st.sampled_from(CovarianceType))
def test_count_without_building_equals_the_number_built(
    n_features: int, covariance_type: CovarianceType
) -> None:
    terms = monomials(n_features, covariance_type)
    assert len(terms) == n_monomials(n_features, covariance_type)
    assert np.all((terms.first <= terms.second) | (terms.second == -1))


@pytest.mark.parametrize("covariance_type", CovarianceType)
def test_surviving_monomials_are_the_chosen_columns(covariance_type: CovarianceType) -> None:
    terms = monomials(4, covariance_type)
    Phi = terms.transform(X)
    chosen = [len(terms) - 1, 0, 2]
    np.testing.assert_array_equal(terms.take(chosen).transform(X), Phi[:, chosen])
    mask = np.arange(len(terms)) % 2 == 1
    np.testing.assert_array_equal(terms.take(mask).transform(X), Phi[:, mask])
    assert terms.take([]).transform(X).shape == (len(X), 0)


@pytest.mark.parametrize("block_numbers", [1, 15, 1 << 16])
def test_blocks_do_not_change_the_products(
    block_numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "GATHERED_NUMBERS", block_numbers)
    index = np.array([[0, 1, 3, 2], [0, 2, 3, 2], [1, 2, 0, 2]])
    expected = X[:, index[0]] * X[:, index[1]] * X[:, index[2]]
    np.testing.assert_array_equal(column_products(X.T.copy(), index), expected)


def test_features_are_column_major_doubles() -> None:
    Phi = monomials(4).transform(X[::2].astype(np.float32))
    assert Phi.flags.f_contiguous
    assert Phi.dtype == np.float64


@pytest.mark.parametrize("covariance_type", CovarianceType)
def test_no_rows_give_no_rows(covariance_type: CovarianceType) -> None:
    assert monomials(4, covariance_type).transform(X[:0]).shape == (
        0,
        n_monomials(4, covariance_type),
    )


def test_huge_inputs_overflow_only_where_they_are_squared() -> None:
    assert np.isfinite(monomials(2, "tied").transform(np.full((1, 2), 1e200))).all()
    with np.errstate(over="ignore"):
        Phi = monomials(2, "full").transform(np.full((1, 2), 1e200))
    np.testing.assert_array_equal(np.isinf(Phi), [[False, False, False, True, True, True]])


def test_names_are_built_from_the_names_of_the_variables() -> None:
    columns = ["age", "x2"]
    assert monomials(2, "full").names(columns) == ["1", "age", "x2", "age^2", "age*x2", "x2^2"]
    assert monomials(2, "diag").names(columns) == ["1", "age", "x2", "age^2", "x2^2"]
    assert monomials(2, "spherical").names(columns) == ["1", "age", "x2", "|x|^2"]
    assert monomials(2, "tied").names(columns) == ["1", "age", "x2"]


@pytest.mark.parametrize("covariance_type", CovarianceType)
def test_too_few_columns_are_named_in_the_error(covariance_type: CovarianceType) -> None:
    with pytest.raises(ValueError, match=r"X has 3 columns.*index 3"):
        monomials(4, covariance_type).transform(X[:, :3])


def test_unknown_covariance_type_is_named_in_the_error() -> None:
    with pytest.raises(ValueError, match="'full', 'diag', 'spherical', 'tied', got 'round'"):
        monomials(2, "round")
    with pytest.raises(ValueError, match="got 'round'"):
        n_monomials(2, "round")


def test_monomials_survive_pickling() -> None:
    terms = monomials(4, "spherical")
    copy = pickle.loads(pickle.dumps(terms))
    np.testing.assert_array_equal(copy.transform(X), terms.transform(X))


def test_an_input_that_only_the_second_factor_needs_must_be_there() -> None:
    terms = monomials(3).take([6])  # x1 x3
    with pytest.raises(ValueError, match=r"X has 2 columns, .* index 2"):
        terms.transform(X[:, :2])
