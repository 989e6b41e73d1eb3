"""Probabilities averaged over the noise: against sums over draws and against integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from torch import Tensor

from sdgm.nn import SDGM, compact
from sdgm.nn.averaging import averaged_log_prob, normal_points
from tests.nn.problems import TYPES, random_layer


def noisy_layer(covariance_type: str = "full", n_components: int | list[int] = 2) -> SDGM:
    """A layer whose scores have noise of about their own size."""
    layer = random_layer(3, 3, n_components, covariance_type).eval()
    layer.averages_noise = False
    with torch.no_grad():
        layer.log_sigma2.fill_(0.0)
        layer.threshold = 99.0
    return layer


def divergence(P: Tensor, Q: Tensor) -> float:
    """Mean KL divergence of Q from P."""
    return float(torch.nn.functional.kl_div(Q.log(), P, reduction="batchmean"))


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("n_components", [1, 2, [1, 3, 2]], ids=str)
@torch.no_grad()
def test_it_is_close_to_the_average_over_draws(
    covariance_type: str, n_components: int | list[int]
) -> None:
    layer = noisy_layer(covariance_type, n_components)
    x = 3.0 + torch.randn(60, 3, dtype=torch.float64)
    plain, averaged = layer.log_prob(x).exp(), layer.averaged_log_prob(x).exp()
    layer.train()
    drawn = torch.stack([layer.log_prob(x).exp() for _ in range(2000)]).mean(dim=0)
    layer.eval()
    torch.testing.assert_close(averaged.sum(dim=1), torch.ones(60, dtype=torch.float64))
    assert divergence(drawn, averaged) < 0.2 * divergence(drawn, plain)
    assert (averaged - drawn).abs().max() < 0.1


@pytest.mark.parametrize("mean", [-4.0, -1.0, 0.0, 0.5, 3.0])
@pytest.mark.parametrize("variance", [0.1, 1.0, 9.0])
def test_two_classes_are_those_of_integration(mean: float, variance: float) -> None:
    std = math.sqrt(2.0 * variance)  # of the difference of two scores

    def integrand(s: float) -> float:
        return float(expit(s) * norm.pdf(s, mean, std))

    exact = quad(integrand, mean - 12.0 * std, mean + 12.0 * std, limit=200)[0]
    scores = torch.tensor([mean, 0.0], dtype=torch.float64)
    P = averaged_log_prob(scores, torch.full_like(scores, variance), normal_points(2)).exp()
    assert float(P[0]) == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("mean", [6.0, 10.0, 16.0])
@pytest.mark.parametrize("variance", [0.1, 1.0, 2.0])
def test_classes_beyond_doubt_are_those_of_integration(mean: float, variance: float) -> None:
    std = math.sqrt(2.0 * variance)

    def integrand(s: float) -> float:
        return float(expit(-s) * norm.pdf(s, mean, std))

    wrong = quad(integrand, mean - 12.0 * std, mean + 12.0 * std, limit=200, epsabs=0.0)[0]
    scores = torch.tensor([0.0, mean], dtype=torch.float64)
    log_P = averaged_log_prob(scores, torch.full_like(scores, variance), normal_points(2))
    assert float(log_P[0]) == pytest.approx(math.log(wrong), abs=0.4)


def test_gradients_are_finite_without_noise() -> None:
    scores = torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64, requires_grad=True)
    variances = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    averaged_log_prob(scores, variances, normal_points(3))[0].backward()
    expected = torch.tensor([1.0, 0.0, 0.0]) - scores.detach().softmax(dim=0)
    torch.testing.assert_close(scores.grad, expected)
    assert variances.grad is not None
    assert bool(variances.grad.isfinite().all())


@pytest.mark.parametrize("n_components", [1, 2, [1, 3, 2]], ids=str)
@torch.no_grad()
def test_without_noise_it_is_the_plain_probability(n_components: int | list[int]) -> None:
    layer = noisy_layer(n_components=n_components)
    layer.alive[-1] = n_components == 1  # components that are gone have no part
    layer.log_sigma2.fill_(-80.0)
    x = 3.0 + torch.randn(9, 3, dtype=torch.float64)
    torch.testing.assert_close(layer.averaged_log_prob(x), layer.log_prob(x))
    dense = random_layer(n_components=n_components, sparse=False).eval()
    torch.testing.assert_close(dense.averaged_log_prob(x), dense.log_prob(x))


def test_a_constant_added_to_all_scores_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    scores, variances = (torch.as_tensor(rng.gamma(2.0, size=(7, 5))) for _ in range(2))
    before = averaged_log_prob(scores, variances, normal_points(5))
    after = averaged_log_prob(scores + 40.0, variances, normal_points(5))
    torch.testing.assert_close(after, before)


def test_many_classes_are_averaged_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    scores, variances = (torch.as_tensor(rng.gamma(2.0, size=(7, 2, 4))) for _ in range(2))
    whole = averaged_log_prob(scores, variances, normal_points(4))
    monkeypatch.setattr("sdgm.nn.averaging.BLOCK", 800)  # three of the rows
    torch.testing.assert_close(averaged_log_prob(scores, variances, normal_points(4)), whole)


@torch.no_grad()
def test_weights_that_evaluation_leaves_out_have_no_noise() -> None:
    layer = noisy_layer()
    x = 3.0 + torch.randn(9, 3, dtype=torch.float64)
    layer.log_sigma2.fill_(300.0)  # all weights can go
    torch.testing.assert_close(layer.averaged_log_prob(x), layer.log_prob(x))


@torch.no_grad()
def test_evaluation_averages_unless_told_not_to_and_training_never() -> None:
    layer = noisy_layer()
    x: Tensor = 3.0 + torch.randn(9, 3, dtype=torch.float64)
    plain = layer(x)
    assert SDGM(3, 3).averages_noise
    layer.averages_noise = True
    torch.testing.assert_close(layer(x), layer.averaged_log_prob(x))
    torch.testing.assert_close(layer.log_prob(x), layer.averaged_log_prob(x))
    assert not torch.allclose(layer(x).softmax(dim=1), plain.softmax(dim=1))
    layer.train()
    torch.manual_seed(0)
    noisy = layer(x)
    layer.averages_noise = False
    torch.manual_seed(0)
    assert torch.equal(layer(x), noisy)


@pytest.mark.parametrize("covariance_type", TYPES)
@torch.no_grad()
def test_a_compact_layer_averages_as_its_layer_does(covariance_type: str) -> None:
    layer = random_layer(3, 3, [1, 4, 2], covariance_type).eval()
    layer.mask[1] = False  # a constant
    layer.alive[3] = False
    few = layer.log_sigma2 < 0.0
    layer.log_sigma2[few] = 2.0 * layer.weight[few].abs().log()  # noise as large as the weights
    x = 3.0 + torch.randn(40, 3, dtype=torch.float64)
    averaged, small = layer(x), compact(layer)
    torch.testing.assert_close(small(x), averaged)
    layer.averages_noise = False
    plain = compact(layer)
    torch.testing.assert_close(plain(x), layer(x))
    assert (plain(x).softmax(dim=1) - averaged.exp()).abs().max() > 0.01
    assert plain.variance is None
    plain.load_state_dict(small.state_dict())
    torch.testing.assert_close(plain(x), averaged)


@torch.no_grad()
def test_a_graph_averages_any_number_of_rows() -> None:
    layer = noisy_layer("diag").float()
    layer.averages_noise = True
    x = 3.0 + torch.randn(9, 3)
    rows = torch.export.Dim("rows", min=1, max=4096)
    for module in (layer, compact(layer)):
        program = torch.export.export(module, (x,), dynamic_shapes=({0: rows},)).module()
        many = x.repeat(200, 1)
        torch.testing.assert_close(program(many), module(many))
