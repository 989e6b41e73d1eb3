"""Linear and convolutional layers with sparse variational dropout, for the rest of a network."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdgm.nn.variational import SparseModule


class SparseLayer(SparseModule):
    """What `SparseLinear` and `SparseConv2d` share: a bias, and the start of `torch.nn`."""

    bias: nn.Parameter | None

    def _add_parameters(
        self,
        *shape: int,
        bias: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        self._add_weight(*shape, device=device, dtype=dtype)
        self.bias = nn.Parameter(self.weight.new_empty(shape[0])) if bias else None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Reset: weights as in `torch.nn`, nothing pruned."""
        bound = 1.0 / math.sqrt(math.prod(self.weight.shape[1:]))
        self.weight.uniform_(-bound, bound)
        if self.bias is not None:
            self.bias.uniform_(-bound, bound)
        self.reset_noise(bound / math.sqrt(3.0))  # the standard deviation of a uniform weight

    def forward(self, x: Tensor) -> Tensor:
        """Sums over the weights: noisy in training, sparse in evaluation."""
        return self._noisy_or_kept(x, self.bias)


class SparseLinear(SparseLayer):
    """`torch.nn.Linear` with sparse variational dropout.

    Parameters
    ----------
    in_features, out_features, bias, device, dtype :
        As in `torch.nn.Linear`.

    Examples
    --------
    >>> SparseLinear(784, 300)(torch.zeros(2, 784)).shape
    torch.Size([2, 300])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._add_parameters(out_features, in_features, bias=bias, device=device, dtype=dtype)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class SparseConv2d(SparseLayer):
    """`torch.nn.Conv2d` with sparse variational dropout.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype :
        As in `torch.nn.Conv2d`; padding is with zeros.

    Examples
    --------
    >>> SparseConv2d(1, 20, 5)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 20, 24, 24])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"groups={groups} does not divide in_channels={in_channels} and "
                f"out_channels={out_channels}."
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _pair(kernel_size), _pair(stride)
        self.padding = padding if isinstance(padding, str) else _pair(padding)
        self.dilation = _pair(dilation)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self._add_parameters(*shape, bias=bias, device=device, dtype=dtype)

    def _sums(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.conv2d(x, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"groups={self.groups}, bias={self.bias is not None}"
        )


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value
