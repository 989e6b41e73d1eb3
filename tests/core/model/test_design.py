"""Claims about the factorised design: it equals the dense matrix, whatever its rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.model.design import (
    Design,
    feature_design,
    kernel_design,
    matrix_design,
    pivoted_cholesky,
)
from sdgm.core.model.features import monomials
from sdgm.core.model.kernels import (
    CallableKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
)


def lopsided(X: FloatArray, Z: FloatArray) -> FloatArray:
    """Neither symmetric nor positive: k(x, z) = sin(x_1 - z_1 / 2) + x'z - |z|."""
    return np.sin(X[:, :1] - 0.5 * Z[:, :1].T) + X @ Z.T - np.linalg.norm(Z, axis=1)


KERNELS: list[Kernel] = [
    PolynomialKernel(),
    PolynomialKernel(degree=3, gamma=0.3, coef0=0.5),
    PolynomialKernel(coef0=0.0),  # the constant is not among its features
    LinearKernel(),
    RBFKernel(0.5),
    CallableKernel(lopsided),
]
rng = np.random.default_rng(0)
PLANE = rng.normal(size=(40, 2))
# N < D, so that the kernels with explicit features have too many of them
WIDE = rng.normal(size=(6, 9))
DATA = {
    "plane": PLANE,
    "wide": WIDE,
    "constant column": np.column_stack([PLANE, np.full(40, 3.0)]),
    "zero column": np.column_stack([PLANE, np.zeros(40)]),
    "repeated column": np.column_stack([PLANE, PLANE[:, 0]]),
    "nearly repeated column": np.column_stack([PLANE[:, 0], PLANE[:, 0] + 1e-4 * PLANE[:, 1]]),
    "repeated rows": PLANE.repeat(2, axis=0),
    "on a line": np.outer(PLANE[:, 0], [1.0, -2.0, 0.5]),
    "one row": PLANE[:1],
    "all rows equal": np.ones((5, 2)),
    "two values": rng.integers(0, 2, size=(30, 3)).astype(float),
}
EVERY_DATA = pytest.mark.parametrize("data", DATA)


def assert_equals(design: Design, Phi: FloatArray, tol: float = 1e-9) -> None:
    """Z R is Phi with its columns divided by the scale, relative to the largest entry."""
    product = (design.Z @ design.Rt.T) * design.scale
    assert product.shape == Phi.shape
    np.testing.assert_allclose(product, Phi, atol=tol * np.abs(Phi).max())
    assert design.Z.flags.f_contiguous
    assert design.Z.shape[1] == design.Rt.shape[1]


def rank(Phi: FloatArray) -> int:
    return int(np.linalg.matrix_rank(Phi / np.linalg.norm(Phi, axis=0).clip(1e-300), tol=1e-10))


# --- original form ---


@EVERY_DATA
@pytest.mark.parametrize("covariance_type", ["full", "diag", "tied", "spherical"])
def test_original_form_equals_the_features(data: str, covariance_type: str) -> None:
    X = DATA[data]
    Phi = monomials(X.shape[1], covariance_type).transform(X)
    assert_equals(feature_design(Phi), Phi)
    assert_equals(feature_design(Phi).scaled(np.ones(len(X))), Phi)


def test_original_form_with_fewer_columns_than_rows_is_the_features_themselves() -> None:
    Phi = monomials(2).transform(PLANE)
    design = feature_design(Phi)
    np.testing.assert_array_equal(design.Z, Phi)
    np.testing.assert_array_equal(design.Rt, np.eye(6))


def test_original_form_with_more_columns_than_rows_has_the_rank_of_the_rows() -> None:
    Phi = monomials(9).transform(WIDE)  # (6, 55)
    assert feature_design(Phi).Z.shape == (6, 6)
    repeated = feature_design(monomials(9).transform(WIDE.repeat(2, axis=0)))
    assert repeated.Z.shape == (12, 6)


# --- dual form ---


@EVERY_DATA
@pytest.mark.parametrize("kernel", KERNELS)
def test_dual_form_equals_the_kernel_matrix_with_a_constant_column(
    kernel: Kernel, data: str
) -> None:
    X = DATA[data]
    Phi = np.column_stack([np.ones(len(X)), kernel.gram(X, X)])
    design = kernel_design(kernel, X)
    assert_equals(design, Phi, tol=2e-8 if isinstance(kernel, RBFKernel) else 1e-9)
    assert_equals(design.scaled(np.ones(len(X))), Phi, tol=2e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", [name for name in DATA if "nearly" not in name])
def test_dual_form_is_no_larger_than_the_rank_and_the_constant(kernel: Kernel, data: str) -> None:
    X = DATA[data]
    Phi = np.column_stack([np.ones(len(X)), kernel.gram(X, X)])
    # a factor without explicit features does not look whether the constant is among its columns
    assert kernel_design(kernel, X).Z.shape[1] <= rank(Phi) + 1 + isinstance(kernel, RBFKernel)


def test_quadratic_kernel_of_two_inputs_has_rank_six_whatever_the_number_of_rows() -> None:
    for N in (10, 40):
        assert kernel_design(PolynomialKernel(), PLANE[:N]).Z.shape == (N, 6)


def test_small_directions_of_the_design_are_kept_and_rounding_errors_are_not() -> None:
    x = PLANE[:, 0]
    for share, expected in ((1e-5, 3), (1e-13, 2)):
        nearly = np.column_stack([x, x + share * PLANE[:, 1]])
        assert kernel_design(LinearKernel(), nearly).Z.shape[1] == expected
        gram = LinearKernel().gram(nearly, nearly)
        assert matrix_design(gram * np.linspace(1, 2, 40)).Z.shape[1] <= 3


def test_homogeneous_kernel_gets_the_constant_besides_its_features() -> None:
    assert kernel_design(PolynomialKernel(coef0=0.0), PLANE).Z.shape == (40, 4)
    assert kernel_design(LinearKernel(), PLANE).Z.shape == (40, 3)


@EVERY_DATA
@pytest.mark.parametrize("kernel", KERNELS)
def test_column_zero_of_the_dual_form_is_the_constant(kernel: Kernel, data: str) -> None:
    design = kernel_design(kernel, DATA[data])
    np.testing.assert_allclose(design.Z @ design.Rt[0], 1.0, atol=1e-9)


def test_columns_of_an_asymmetric_kernel_belong_to_its_second_argument() -> None:
    design = matrix_design(lopsided(PLANE, PLANE))
    expected = lopsided(PLANE, PLANE[[7]])[:, 0]  # k(x_n, z_7)
    np.testing.assert_allclose(design.Z @ design.Rt[8], expected, atol=1e-10)
    assert not np.allclose(expected, lopsided(PLANE[[7]], PLANE)[0])


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    N=st.integers(1, 20),
    D=st.integers(1, 4),
    log_unit=st.floats(-6, 6),
    degree=st.integers(1, 3),
)
def test_dual_form_equals_the_kernel_matrix_in_any_unit(
    seed: int, N: int, D: int, log_unit: float, degree: int
) -> None:
    X = 10.0**log_unit * np.random.default_rng(seed).normal(size=(N, D))
    for kernel in (PolynomialKernel(degree), LinearKernel(), RBFKernel(10.0 ** (-2 * log_unit))):
        gram = kernel.gram(X, X)
        design = kernel_design(kernel, X)
        np.testing.assert_allclose(design.Z @ design.Rt[1:].T, gram, atol=2e-8 * gram.max())
        np.testing.assert_allclose(design.Z @ design.Rt[0], 1.0, atol=1e-8)


def test_explicit_design_equals_the_pivoted_cholesky_one() -> None:
    kernel = PolynomialKernel()
    factor, _ = pivoted_cholesky(kernel, PLANE, kernel.diagonal(PLANE))
    gram = kernel.gram(PLANE, PLANE)
    np.testing.assert_allclose(factor @ factor.T, gram, atol=1e-7 * gram.max())
    design = kernel_design(kernel, PLANE)
    np.testing.assert_allclose(design.Z @ design.Rt[1:].T, gram, atol=1e-10 * gram.max())


def test_pivoted_cholesky_stops_at_the_rank() -> None:
    kernel = RBFKernel(0.5)
    X = np.concatenate([PLANE, PLANE[:20]])
    factor, _ = pivoted_cholesky(kernel, X, kernel.diagonal(X))
    assert factor.shape[1] <= 40
    np.testing.assert_allclose(factor @ factor.T, kernel.gram(X, X), atol=2e-8)
    # a wide kernel is nearly of low rank
    flat, _ = pivoted_cholesky(RBFKernel(1e-3), PLANE, np.ones(40))
    assert flat.shape[1] < 12


# --- scale and rows ---


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), index=st.integers(0, len(KERNELS) - 1))
def test_scaled_columns_have_unit_mean_square_under_the_weights(seed: int, index: int) -> None:
    rng = np.random.default_rng(seed)
    X, s = 3.0 * rng.normal(size=(20, 2)), rng.uniform(0.1, 4.0, size=20)
    design = kernel_design(KERNELS[index], X).scaled(s)
    columns = design.Z @ design.Rt.T
    np.testing.assert_allclose(np.average(columns**2, axis=0, weights=s), 1.0, rtol=1e-6)
    Phi = np.column_stack([np.ones(20), KERNELS[index].gram(X, X)])
    assert_equals(design, Phi, tol=1e-7)


def test_scaling_twice_is_scaling_once() -> None:
    s = np.linspace(1, 2, 40)
    once = feature_design(monomials(2).transform(PLANE)).scaled(s)
    twice = once.scaled(s)
    np.testing.assert_allclose(twice.scale, once.scale)
    np.testing.assert_allclose(twice.Rt, once.Rt)


def test_column_of_zeros_is_left_alone_by_scaling() -> None:
    Phi = monomials(3).transform(DATA["zero column"])
    design = feature_design(Phi).scaled(np.ones(40))
    assert np.isfinite(design.Rt).all()
    np.testing.assert_array_equal(design.scale[~Phi.any(axis=0)], 1.0)


def test_design_at_chosen_rows_has_the_rows_of_the_whole() -> None:
    design = kernel_design(PolynomialKernel(), PLANE).scaled(np.ones(40))
    index = np.array([5, 0, 5, 39])
    part = design.at_rows(index)
    np.testing.assert_array_equal(part.Z @ part.Rt.T, design.Z[index] @ design.Rt.T)
    assert part.Z.flags.f_contiguous
    np.testing.assert_array_equal(part.scale, design.scale)


def test_a_square_matrix_is_its_own_design_and_zeros_have_rank_one() -> None:
    square = rng.normal(size=(4, 4))
    np.testing.assert_array_equal(feature_design(square).Z, square)
    assert feature_design(np.zeros((3, 5))).Z.shape == (3, 1)
