"""Sparse variational dropout: its divergence, its noise and its mask."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from torch import Tensor

from sdgm.nn import SDGM, SparseConv2d, SparseLinear
from sdgm.nn.variational import SparseModule, kl_of_log_alpha

# E log|e| of a standard normal e, the limit of the divergence up to its sign
LIMIT = -(np.euler_gamma + math.log(2.0)) / 2.0


def exact_kl(log_alpha: float) -> float:
    """Divergence from the log-uniform prior by integration, zero where alpha is infinite."""
    std = math.exp(0.5 * log_alpha)

    def integrand(e: float) -> float:
        return math.log(abs(e)) * norm.pdf(e, 1.0, std)

    far = 1.0 + 12.0 * std
    pieces = [(1.0 - 12.0 * std, 0.0), (0.0, 1.0), (1.0, far)]
    if std < 1 / 12:
        pieces = [(1.0 - 12.0 * std, 1.0), (1.0, far)]
    mean_log = sum(quad(integrand, a, b, limit=500)[0] for a, b in pieces)
    # -KL = log(alpha) / 2 - E log|e| + constant, with e ~ N(1, alpha)
    return mean_log - 0.5 * log_alpha - LIMIT


@pytest.mark.parametrize("log_alpha", [-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
def test_the_divergence_is_that_of_numerical_integration(log_alpha: float) -> None:
    value = kl_of_log_alpha(torch.tensor(log_alpha, dtype=torch.float64)).item()
    assert value == pytest.approx(exact_kl(log_alpha), abs=0.015)


def test_the_divergence_falls_to_zero_without_overflow() -> None:
    kl = kl_of_log_alpha(torch.linspace(-90.0, 90.0, 500))
    assert bool(kl.isfinite().all()) and bool((kl.diff() <= 0.0).all()) and kl[-1] < 1e-6


LAYERS = {
    "linear": lambda: SparseLinear(4, 3, dtype=torch.float64),
    "convolution": lambda: SparseConv2d(2, 3, 2, padding=1, dtype=torch.float64),
    "mixture": lambda: SDGM(2, 3, dtype=torch.float64),
}
INPUTS = {"linear": (1, 4), "convolution": (1, 2, 3, 3), "mixture": (1, 2)}


def noisy(kind: str) -> tuple[SparseModule, Tensor]:
    """A layer with much noise, and one input."""
    torch.manual_seed(0)
    layer = LAYERS[kind]()
    with torch.no_grad():
        layer.weight.normal_()
        layer.log_sigma2.uniform_(-2.0, 1.0)
        layer.mask[0].fill_(False)  # pruned: neither mean nor noise
    return layer, torch.randn(INPUTS[kind], dtype=torch.float64)


def sampled_weights(layer: SparseModule, n: int) -> Tensor:
    """Weights drawn directly, one set after the other."""
    assert layer.log_sigma2 is not None
    std = (0.5 * layer.log_sigma2).exp()
    return (layer.weight + std * torch.randn(n, *layer.weight.shape).double()) * layer.mask


@pytest.mark.parametrize("kind", LAYERS)
@torch.no_grad()
def test_local_reparametrisation_has_the_mean_and_variance_of_noisy_weights(kind: str) -> None:
    layer, x = noisy(kind)
    n = 40_000
    out = layer(x.expand(n, *x.shape[1:]))
    layer.eval()
    layer.threshold = math.inf
    layer.averages_noise = False
    mean = layer(x)[0]
    weight = sampled_weights(layer, 4_000)
    outs = []
    for w in weight:
        layer.weight.copy_(w)
        outs.append(layer(x)[0])
    direct = torch.stack(outs)
    std = direct.std(dim=0)
    torch.testing.assert_close(out.mean(dim=0), mean, rtol=0.0, atol=4.5 * float(std.max()) / 200)
    torch.testing.assert_close(out.std(dim=0), std, rtol=0.06, atol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_noise_differs_from_row_to_row_and_evaluation_has_none(kind: str) -> None:
    layer, x = noisy(kind)
    batch = x.expand(2, *x.shape[1:])
    first, second = layer(batch)
    assert not torch.equal(first, second)
    layer.eval()
    torch.testing.assert_close(layer(batch)[0], layer(batch)[1], rtol=0.0, atol=0.0)


@pytest.mark.parametrize("kind", LAYERS)
@torch.no_grad()
def test_evaluation_leaves_out_weights_that_are_mostly_noise(kind: str) -> None:
    layer, x = noisy(kind)
    layer.eval()
    before = layer(x)
    layer.log_sigma2[1] = 30.0
    expected = layer.weight.clone()
    expected[:2] = 0.0  # the pruned ones and these
    torch.testing.assert_close(layer.kept_weight(), expected * layer.kept)
    assert not bool(layer.kept[1].any()) and not torch.equal(layer(x), before)


def test_large_weights_feel_the_divergence() -> None:
    layer = SparseLinear(1, 1)
    with torch.no_grad():
        layer.weight.fill_(50.0)
    layer.kl().backward()
    # d KL / d w is 1 / w for small alpha: log alpha is not clamped from below
    assert layer.weight.grad is not None
    assert layer.weight.grad.item() == pytest.approx(1 / 50, rel=1e-3)


def test_the_divergence_counts_weights_that_are_not_pruned() -> None:
    layer = SparseLinear(3, 2)
    each = kl_of_log_alpha(layer.log_alpha)
    layer.mask[0, 1] = False
    torch.testing.assert_close(layer.kl(), each.sum() - each[0, 1])
    layer.kl().backward()
    assert layer.weight.grad is not None and layer.weight.grad[0, 1] == 0.0


def test_a_weight_of_exactly_zero_has_finite_divergence_and_gradient() -> None:
    layer = SparseLinear(2, 2)
    torch.nn.init.zeros_(layer.weight)
    layer.kl().backward()
    assert layer.weight.grad is not None and layer.log_sigma2 is not None
    assert bool(layer.weight.grad.isfinite().all())
    assert not bool(layer.kept.any())


def test_without_noise_there_is_no_divergence_and_no_log_alpha() -> None:
    layer = SDGM(2, 2, sparse=False)
    assert layer.kl().item() == 0.0
    with pytest.raises(ValueError, match="sparse=False"):
        _ = layer.log_alpha


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["linear", "convolution"])
def test_the_noise_does_not_overflow_in_mixed_precision(kind: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = LAYERS[kind]().float()
    x = torch.full(INPUTS[kind], 1000.0)  # whose squares half precision does not have
    with torch.autocast("cpu", dtype=dtype):
        out = layer(x)
        assert out.dtype == dtype
        assert bool(out.isfinite().all())
        assert layer.kl().dtype == torch.float32
    out.float().sum().backward()
    assert bool(layer.log_sigma2.grad.isfinite().all())


def test_the_divergence_of_half_precision_weights_is_that_of_single() -> None:
    torch.manual_seed(0)
    layer = SparseLinear(300, 300)
    single = layer.kl().item()
    half = layer.half().kl()
    assert half.dtype == torch.float32 and half.item() == pytest.approx(single, rel=1e-2)
    with torch.no_grad():
        layer.weight.zero_()
    assert bool(layer.kl().isfinite())
