"""Sparse linear and convolutional layers are PyTorch's, but for the noise."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sdgm.nn import SparseConv2d, SparseLinear


@torch.no_grad()
def copied(sparse: nn.Module, plain: nn.Module) -> None:
    plain.load_state_dict({k: v for k, v in sparse.state_dict().items() if k in ("weight", "bias")})
    sparse.threshold = float("inf")
    sparse.eval()


@pytest.mark.parametrize("bias", [True, False])
def test_evaluation_of_a_linear_layer_is_that_of_pytorch(bias: bool) -> None:
    sparse, plain = SparseLinear(5, 4, bias=bias), nn.Linear(5, 4, bias=bias)
    copied(sparse, plain)
    x = torch.randn(2, 3, 5)
    torch.testing.assert_close(sparse(x), plain(x))


@pytest.mark.parametrize(
    "settings",
    [
        {"stride": 2, "padding": 1},
        {"padding": "same", "dilation": 2},
        {"groups": 2, "bias": False},
        {"kernel_size": (1, 3), "padding": (0, 1)},
    ],
    ids=str,
)
def test_evaluation_of_a_convolution_is_that_of_pytorch(settings: dict) -> None:
    settings = {"in_channels": 4, "out_channels": 6, "kernel_size": 3, **settings}
    sparse, plain = SparseConv2d(**settings), nn.Conv2d(**settings)
    copied(sparse, plain)
    x = torch.randn(2, 4, 9, 9)
    torch.testing.assert_close(sparse(x), plain(x))
    assert sparse.train()(x).shape == plain(x).shape


def test_groups_must_divide_the_channels() -> None:
    with pytest.raises(ValueError, match="groups=3 does not divide in_channels=4"):
        SparseConv2d(4, 6, 3, groups=3)
    with pytest.raises(ValueError, match="groups=0 does not divide"):
        SparseConv2d(4, 6, 3, groups=0)
