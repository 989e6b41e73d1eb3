"""Quadratic features of a batch: the monomials of Eq. 2, without the constant.

They are built from slices, ``x_i * (x_i, ..., x_D)``, so that no D x D outer product is formed and
no mask is needed to take half of it. The order is that of `sdgm.core.model.features.monomials`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import torch
from torch import Tensor

from sdgm._choice import choice

# variables from which a gradient written out is faster than one by autograd
MANY = 32


class CovarianceType(StrEnum):
    """What the Gaussians of a layer may look like, and with it which features there are."""

    FULL = "full"
    DIAG = "diag"
    TIED = "tied"
    LOW_RANK = "low_rank"


def with_products(x: Tensor, z: Tensor) -> Tensor:
    """x, then all products ``z_i z_j`` with i <= j, side by side."""
    if z.shape[-1] >= MANY and torch.is_grad_enabled() and z.requires_grad:
        products: Tensor = _Products.apply(z)  # type: ignore[no-untyped-call]
        return torch.cat([x, products], dim=-1)
    return torch.cat([x, *_slices(z)], dim=-1)


def _slices(z: Tensor) -> list[Tensor]:
    return [z[..., i : i + 1] * z[..., i:] for i in range(z.shape[-1])]


class _Products(torch.autograd.Function):
    """The products with their gradient written out: one sum in place of one tensor per slice."""

    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor) -> Tensor:
        return torch.cat(_slices(z), dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (z,) = ctx.saved_tensors
        D = z.shape[-1]
        result = torch.zeros_like(grad[..., :D])  # like grad, which vmap may have made larger
        for i, part in enumerate(torch.split(grad, list(range(D, 0, -1)), dim=-1)):
            # z_i z_j pulls at z_j by z_i and at z_i by z_j
            result[..., i:] += part * z[..., i : i + 1]
            result[..., i] += (part * z[..., i:]).sum(dim=-1)
        return result


def features(x: Tensor, covariance_type: str, projection: Tensor | None = None) -> Tensor:
    """Features of x (..., D) for Gaussians of a given form, without the constant: (..., H).

    After x itself follow: ``full``, all products; ``diag``, the squares; ``tied``, nothing, since a
    shared quadratic term cancels; ``low_rank``, all products of x under a projection (rank, D).

    Examples
    --------
    >>> features(torch.tensor([2.0, 3.0]), "full")
    tensor([2., 3., 4., 6., 9.])
    """
    match choice("covariance_type", covariance_type, CovarianceType):
        case CovarianceType.FULL:
            return with_products(x, x)
        case CovarianceType.DIAG:
            return torch.cat([x, x * x], dim=-1)
        case CovarianceType.TIED:
            return x
        case CovarianceType.LOW_RANK:
            assert projection is not None
            return with_products(x, x @ projection.T)


def n_features(in_features: int, covariance_type: str, rank: int = 0) -> int:
    """The number of features, without building them.

    Examples
    --------
    >>> n_features(64, "full"), n_features(64, "diag"), n_features(64, "low_rank", rank=8)
    (2144, 128, 100)
    """
    kind, D = CovarianceType(covariance_type), in_features
    if kind in (CovarianceType.FULL, CovarianceType.LOW_RANK):
        n = D if kind is CovarianceType.FULL else rank
        return D + n * (n + 1) // 2
    return 2 * D if kind is CovarianceType.DIAG else D
