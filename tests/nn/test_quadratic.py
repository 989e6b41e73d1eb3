"""Features without an outer product are those of the core."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm.core.model.features import monomials
from sdgm.nn.quadratic import MANY, features, n_features


@given(st.integers(1, 7), st.sampled_from(["full", "diag", "tied"]), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_features_are_the_monomials_of_the_core(D: int, covariance_type: str, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(5, D))
    phi = features(torch.as_tensor(x), covariance_type).numpy()
    expected = monomials(D, covariance_type).transform(x)[:, 1:]  # without the constant
    np.testing.assert_array_equal(phi, expected)
    assert phi.shape[1] == n_features(D, covariance_type)


def test_low_rank_features_are_products_of_the_projected_input() -> None:
    x, projection = torch.randn(4, 5), torch.randn(2, 5)
    phi = features(x, "low_rank", projection)
    z = x @ projection.T
    expected = torch.stack([z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2], dim=1)
    torch.testing.assert_close(phi[:, :5], x)
    torch.testing.assert_close(phi[:, 5:], expected)
    assert phi.shape[1] == n_features(5, "low_rank", rank=2)


def test_leading_axes_are_kept() -> None:
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(features(x, "full")[1, 2], features(x[1, 2], "full"))


@pytest.mark.parametrize("shape", [(1,), (3, 4), (2, 3, 2), (MANY,)], ids=str)
def test_the_gradient_written_out_is_right_to_second_order(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: features(x, "full"), (x,))
    assert torch.autograd.gradgradcheck(lambda x: features(x, "full"), (x,))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # of PyTorch itself
def test_jacobians_of_many_rows_at_once_are_those_of_each() -> None:
    x = torch.randn(3, MANY, dtype=torch.float64)
    jacobian = torch.func.jacrev(lambda row: features(row, "full"))
    forward = torch.func.jacfwd(lambda row: features(row, "full"))
    for rows in (torch.func.vmap(jacobian)(x), torch.func.vmap(forward)(x)):
        torch.testing.assert_close(rows, torch.stack([jacobian(row) for row in x]))


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of 'full', 'diag', 'tied', 'low_rank'"):
        features(torch.zeros(1, 2), "spherical")
