"""Layers and data that several tests use."""

from __future__ import annotations

import torch
from torch import Tensor

from sdgm.nn import SDGM

TYPES = ("full", "diag", "tied", "low_rank")


def random_layer(
    in_features: int = 3,
    num_classes: int = 3,
    n_components: int | list[int] = 2,
    covariance_type: str = "full",
    *,
    sparse: bool = True,
    bias: bool = True,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> SDGM:
    """A layer with weights of size one, about half of them noise, and scaled inputs."""
    torch.manual_seed(seed)
    layer = SDGM(
        in_features,
        num_classes,
        n_components,
        covariance_type,
        sparse=sparse,
        bias=bias,
        dtype=dtype,
    )
    with torch.no_grad():
        layer.center.uniform_(2.0, 4.0)
        layer.inverse_scale.uniform_(0.3, 1.0)
        layer.scales_itself = False
        layer.weight.normal_()
        if layer.bias is not None:
            layer.bias.normal_()
        if layer.log_sigma2 is not None:
            layer.log_sigma2.copy_(torch.where(torch.rand_like(layer.weight) < 0.5, -4.0, 9.0))
    return layer


def blobs(n: int = 200, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Two classes in the plane: one around the origin, one in a ring around it."""
    generator = torch.Generator().manual_seed(seed)
    angle = 6.283 * torch.rand(n, generator=generator, dtype=dtype)
    y = torch.arange(n) % 2
    radius = 2.0 * y + 0.3 * torch.randn(n, generator=generator, dtype=dtype)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), y
