"""Sparse variational dropout: learned noise on every weight shows which weights can go.

A weight is ``w + sigma * noise`` (additive noise). Where the noise outweighs the weight,
``alpha = sigma^2 / w^2`` is large, and the weight can be zero at no cost. During training the
noise is put on the sums instead of the weights (local reparametrisation): independent for every
row, and of lower variance. Evaluation has no noise and leaves out the weights that can go.

References
----------
D. Molchanov, A. Ashukha and D. Vetrov, "Variational Dropout Sparsifies Deep Neural Networks",
ICML 2017.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# coefficients of Molchanov et al.'s approximation of the KL divergence
K1, K2, K3 = 0.63576, 1.87320, 1.48695
# log alpha from which a weight can go; alpha = 20 is a dropout rate of 0.95
THRESHOLD = 3.0
# where log alpha starts, for a weight of the size of one standard deviation: the noise of a sum is
# a fifth of what the sum spreads
START_LOG_ALPHA = -3.0
# keeps the logarithm of a weight that is exactly zero finite
SMALLEST_WEIGHT = 1e-8
# keeps the slope of the root of a variance finite where it is zero: the square of the former
SMALLEST_VARIANCE = 1e-16


def kl_of_log_alpha(log_alpha: Tensor) -> Tensor:
    """KL divergence of each weight's posterior from the log-uniform prior, up to its constant.

    The constant is such that the divergence is zero where alpha is infinite.

    Examples
    --------
    >>> kl_of_log_alpha(torch.tensor([-10.0, 0.0, 3.0]))
    tensor([5.6358, 0.4312, 0.0254])
    """
    # k1 - k1 sigmoid(k2 + k3 log alpha) + log(1 + 1 / alpha) / 2
    return K1 * torch.sigmoid(-K2 - K3 * log_alpha) + 0.5 * F.softplus(-log_alpha)


def with_noise(mean: Tensor, variance: Tensor) -> Tensor:
    """Sums of noisy weights: normal with this mean and variance, independent for every entry."""
    noisy = mean + (variance + SMALLEST_VARIANCE).sqrt() * torch.randn_like(mean)
    return noisy.to(mean.dtype)


def at_least_single(x: Tensor) -> Tensor:
    """In single precision, or double if it is: half has no room for squares and small variances."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def without_autocast(compute: Callable[[Tensor], Tensor], x: Tensor, dtype: torch.dtype) -> Tensor:
    """``compute(x)``; where autocast would choose the precision, in this one instead."""
    kind = x.device.type
    # torch 2.4 cannot trace the first question; what is traced has no device without autocast
    available = torch.compiler.is_compiling() or torch.amp.is_autocast_available(kind)
    if available and torch.is_autocast_enabled(kind):
        with torch.autocast(kind, enabled=False):
            return compute(x.to(dtype))
    return compute(x)


class SparseModule(nn.Module):
    """What layers with sparse weights share.

    Attributes
    ----------
    weight : Parameter
        Means of the weights.
    log_sigma2 : Parameter of the same shape, or None
        Log variances of the noise; None for a layer without it.
    mask : boolean buffer of the same shape
        False for pruned weights, in training too.
    threshold : float
        Log alpha from which evaluation leaves a weight out.
    """

    weight: nn.Parameter
    log_sigma2: nn.Parameter | None
    mask: Tensor
    threshold: float

    def _add_weight(
        self,
        *shape: int,
        sparse: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Make room for the weights."""
        self.threshold = THRESHOLD
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.log_sigma2 = nn.Parameter(torch.empty_like(self.weight)) if sparse else None
        self.register_buffer("mask", torch.ones(shape, device=device, dtype=torch.bool))

    @torch.no_grad()
    def reset_noise(self, std: float | Tensor) -> None:
        """Reset the noise for weights of standard deviation ``std``; nothing is pruned."""
        self.mask.fill_(True)
        if self.log_sigma2 is not None:
            self.log_sigma2.copy_(2.0 * torch.as_tensor(std).log() + START_LOG_ALPHA)

    @property
    def log_alpha(self) -> Tensor:
        """Log ratio of noise to weight, ``log sigma^2 - log w^2``."""
        if self.log_sigma2 is None:
            raise ValueError(f"{type(self).__name__} was made with sparse=False, without noise.")
        # not clamped from below: weights above one would get no gradient of the KL divergence
        weight = at_least_single(self.weight)
        return at_least_single(self.log_sigma2) - 2.0 * (weight.abs() + SMALLEST_WEIGHT).log()

    @property
    def kept(self) -> Tensor:
        """Which weights evaluation uses: boolean, of the weights' shape."""
        if self.log_sigma2 is None:
            return self.mask
        return self.mask & (self.log_alpha < self.threshold)

    def kept_weight(self) -> Tensor:
        """The weights of evaluation, zero where they are left out."""
        return self.weight * self.kept

    def noisy_weight(self) -> tuple[Tensor, Tensor]:
        """Means and variances of the weights in training, zero where they are pruned."""
        assert self.log_sigma2 is not None
        return self.weight * self.mask, at_least_single(self.log_sigma2).exp() * self.mask

    def _sums(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """What the layer does with weights without noise."""
        return F.linear(x, weight, bias)

    def _noisy_or_kept(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """Sums over the weights: noisy in training, sparse in evaluation."""
        if not self.is_noisy:
            return self._sums(x, self.kept_weight(), bias)
        mean, variance = self.noisy_weight()

        def variance_of_sums(x: Tensor) -> Tensor:
            return self._sums(x.to(variance.dtype).square(), variance, None)

        return with_noise(
            self._sums(x, mean, bias), without_autocast(variance_of_sums, x, variance.dtype)
        )

    @property
    def is_noisy(self) -> bool:
        """Whether the forward pass has noise."""
        return self.training and self.log_sigma2 is not None

    def kl(self) -> Tensor:
        """KL divergence of the weights that are not pruned, summed; zero without noise."""
        if self.log_sigma2 is None:
            return self.weight.new_zeros(())
        return (kl_of_log_alpha(self.log_alpha) * self.mask).sum()


def sparse_modules(model: nn.Module) -> list[tuple[str, SparseModule]]:
    """The layers with sparse weights in a model, with their names."""
    return [(name, m) for name, m in model.named_modules() if isinstance(m, SparseModule)]
