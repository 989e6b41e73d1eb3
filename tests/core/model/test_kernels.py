"""Claims about the kernels of the dual form and their explicit features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise

from sdgm._typing import FloatArray
from sdgm.core.model.features import monomials
from sdgm.core.model.kernels import (
    CallableKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
    make_kernel,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(8, 3))
Z = rng.normal(size=(5, 3))

KERNELS: list[Kernel] = [
    PolynomialKernel(),
    PolynomialKernel(degree=3, gamma=0.5, coef0=0.0),
    RBFKernel(gamma=0.3),
    LinearKernel(),
    CallableKernel(pairwise.laplacian_kernel),
]


def assert_factors(kernel: Kernel, X: FloatArray, Z: FloatArray) -> None:
    """psi(X) psi(Z)' is the Gram matrix, up to rounding relative to |psi(x)| |psi(z)|."""
    psi_X, psi_Z = kernel.explicit(X), kernel.explicit(Z)
    assert psi_X is not None
    assert psi_Z is not None
    assert psi_X.shape == (len(X), kernel.explicit_size(X.shape[1]))
    size = np.linalg.norm(psi_X, axis=1)[:, None] * np.linalg.norm(psi_Z, axis=1)
    assert np.all(np.abs(psi_X @ psi_Z.T - kernel.gram(X, Z)) <= 1e-12 * size)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_polynomial_gram_equals_sklearn(degree: int) -> None:
    expected = pairwise.polynomial_kernel(X, Z, degree=degree, gamma=0.7, coef0=0.4)
    np.testing.assert_allclose(PolynomialKernel(degree, 0.7, 0.4).gram(X, Z), expected, rtol=1e-12)


def test_rbf_gram_equals_sklearn() -> None:
    expected = pairwise.rbf_kernel(X, Z, gamma=0.7)
    np.testing.assert_allclose(RBFKernel(0.7).gram(X, Z), expected, rtol=1e-12)


def test_rbf_gram_does_not_depend_on_the_origin() -> None:
    near = RBFKernel(0.7).gram(X, Z)
    np.testing.assert_allclose(RBFKernel(0.7).gram(X + 1e8, Z + 1e8), near, atol=1e-6)


def test_rbf_gram_is_at_most_one_and_one_on_the_diagonal() -> None:
    gram = RBFKernel(1e-3).gram(1e3 * X, 1e3 * X)
    assert gram.max() <= 1.0
    np.testing.assert_allclose(np.diag(gram), 1.0, rtol=1e-9)


def test_linear_gram_equals_sklearn() -> None:
    np.testing.assert_allclose(LinearKernel().gram(X, Z), pairwise.linear_kernel(X, Z))


@pytest.mark.parametrize("kernel", [PolynomialKernel(), PolynomialKernel(3, 0.1), LinearKernel()])
def test_gram_of_an_array_with_itself_is_exactly_symmetric(kernel: Kernel) -> None:
    many = np.random.default_rng(1).normal(size=(200, 7))
    gram = kernel.gram(many, many)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("kernel", KERNELS[:-1])
def test_gram_with_no_rows_or_no_columns_is_empty(kernel: Kernel) -> None:
    assert kernel.gram(X, Z[:0]).shape == (len(X), 0)
    assert kernel.gram(X[:0], Z).shape == (0, len(Z))


@pytest.mark.parametrize("kernel", KERNELS)
def test_gram_leaves_its_arguments_alone(kernel: Kernel) -> None:
    x, z = X.copy(), Z.copy()
    kernel.gram(x, z)
    kernel.explicit(x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(z, Z)


def test_scaled_quadratic_features_reproduce_the_kernel_of_the_paper() -> None:
    terms = monomials(3, "full")
    scale = np.sqrt([1, 2, 2, 2, 1, 2, 2, 1, 2, 1])  # sqrt(2) on linear and cross terms
    np.testing.assert_allclose(PolynomialKernel().explicit(X), scale * terms.transform(X))
    psi_X, psi_Z = scale * terms.transform(X), scale * terms.transform(Z)
    np.testing.assert_allclose(psi_X @ psi_Z.T, (X @ Z.T + 1) ** 2)


@settings(deadline=None)
@given(
    degree=st.integers(1, 6),
    gamma=st.floats(1e-3, 1e3),
    coef0=st.one_of(st.just(0.0), st.floats(1e-3, 1e3)),
    n_features=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_explicit_features_reproduce_every_polynomial_gram(
    degree: int, gamma: float, coef0: float, n_features: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(4, n_features)), rng.normal(size=(3, n_features))
    assert_factors(PolynomialKernel(degree, gamma, coef0), x, z)


def test_explicit_features_reproduce_the_linear_gram() -> None:
    assert_factors(LinearKernel(), X, Z)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_explicit_size_counts_all_monomials_or_the_homogeneous_ones(degree: int) -> None:
    assert PolynomialKernel(degree).explicit_size(3) == math.comb(3 + degree, degree)
    assert PolynomialKernel(degree, coef0=0.0).explicit_size(3) == math.comb(2 + degree, degree)
    assert PolynomialKernel(2).explicit_size(10**6) == (10**6 + 1) * (10**6 + 2) // 2


@pytest.mark.parametrize("kernel", [RBFKernel(), CallableKernel(pairwise.cosine_similarity)])
def test_other_kernels_have_no_explicit_features(kernel: Kernel) -> None:
    assert kernel.explicit(X) is None
    assert kernel.explicit_size(3) is None


def test_callable_is_called_with_two_matrices_as_by_svc() -> None:
    kernel = make_kernel(pairwise.laplacian_kernel)
    np.testing.assert_array_equal(kernel.gram(X, Z), pairwise.laplacian_kernel(X, Z))


def test_callable_of_two_vectors_is_told_how_to_become_a_gram_matrix() -> None:
    def first_product(x: FloatArray, z: FloatArray) -> Any:
        return x[0] @ z[0]

    with pytest.raises(ValueError, match=r"first_product .* \(\) instead of \(8, 5\).*pairwise_k"):
        make_kernel(first_product).gram(X, Z)
    gram = make_kernel(lambda X, Z: pairwise.pairwise_kernels(X, Z, metric=np.dot)).gram(X, Z)
    np.testing.assert_allclose(gram, X @ Z.T)


def test_callable_that_returns_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        make_kernel(lambda X, Z: np.full((len(X), len(Z)), np.nan)).gram(X, Z)


def test_factory_makes_the_kernel_of_the_name() -> None:
    assert make_kernel("poly", gamma=0.5, degree=3, coef0=2.0) == PolynomialKernel(3, 0.5, 2.0)
    assert make_kernel("rbf", gamma=0.5) == RBFKernel(0.5)
    assert make_kernel("linear") == LinearKernel()


@pytest.mark.parametrize("kernel", ["precomputed", "sigmoid", None])
def test_unknown_kernel_is_named_in_the_error(kernel: Any) -> None:
    with pytest.raises(ValueError, match=f"'poly', 'rbf', 'linear' or a callable, got {kernel!r}"):
        make_kernel(kernel)


@pytest.mark.parametrize(
    ("name", "value"),
    [("degree", v) for v in (0, -1, 2.0, True, "2")]
    + [("gamma", v) for v in (0.0, -1.0, math.nan, math.inf, "scale")]
    + [("coef0", v) for v in (-1.0, math.nan, math.inf, None)],
)
def test_bad_parameters_are_named_in_the_error(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*got {value!r}"):
        make_kernel("poly", **{name: value})


@pytest.mark.parametrize("gamma", [0.0, math.nan])
def test_rbf_needs_a_positive_gamma(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        make_kernel("rbf", gamma=gamma)


def test_numpy_scalars_are_good_parameters() -> None:
    parameters: dict[str, Any] = {"degree": np.int64(3), "gamma": np.float32(0.5)}
    assert_factors(make_kernel("poly", **parameters), X, Z)
