"""The posterior of a trained layer's weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from sdgm.nn import SDGM, laplace
from tests.nn.problems import blobs, random_layer


def test_with_one_component_per_class_the_covariance_is_the_inverse_hessian() -> None:
    layer = random_layer(2, 3, 1, "diag", sparse=False).eval()
    layer.mask[0, 1] = False
    x = torch.randn(40, 2, dtype=torch.float64)
    y = torch.arange(40) % 3
    alpha = 0.7
    posterior = laplace(layer, x, y, alpha=alpha)
    kept = layer.mask.clone()

    def loss(flat: torch.Tensor) -> torch.Tensor:
        bias_and_weight = torch.zeros(3, 5, dtype=torch.float64)
        used = torch.cat([torch.ones(3, 1, dtype=torch.bool), kept], dim=1)
        full = bias_and_weight.masked_scatter(used, flat)
        state = {"weight": full[:, 1:], "bias": full[:, 0]}
        scores = torch.func.functional_call(layer, state, (x,))
        return nn.functional.cross_entropy(scores, y, reduction="sum") + alpha / 2 * (flat @ flat)

    flat = torch.cat([layer.bias[:, None], layer.weight], dim=1)
    used = torch.cat([torch.ones(3, 1, dtype=torch.bool), kept], dim=1)
    hessian = torch.autograd.functional.hessian(loss, flat[used].detach())
    np.testing.assert_allclose(posterior.covariance, np.linalg.inv(hessian), atol=1e-8)


def trained() -> tuple[SDGM, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    x, y = blobs(60, dtype=torch.float64)
    layer = SDGM(2, 2, sparse=False, dtype=torch.float64)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        nn.functional.cross_entropy(layer(x), y).backward()
        optimizer.step()
    return layer.eval(), x, y


def test_averaging_takes_confidence_back_where_there_are_no_samples() -> None:
    layer, x, y = trained()
    posterior = laplace(layer, x, y)
    assert 1e-6 < posterior.alpha < 1e6
    P = posterior.predict_proba(x)
    torch.testing.assert_close(P.sum(dim=1), torch.ones(60, dtype=torch.float64))
    assert (P.argmax(dim=1) == y).double().mean() > 0.95
    trusting = layer.log_prob(x).exp().max(dim=1).values
    assert P.max(dim=1).values.mean() < trusting.mean()
    assert posterior.predict_proba(x[:6].reshape(2, 3, 2)).shape == (2, 3, 2)


def test_validation_chooses_the_precision_that_suits_it_best() -> None:
    layer, x, y = trained()
    unseen, classes = blobs(40, seed=1, dtype=torch.float64)
    chosen = laplace(layer, x, y, validation=(unseen, classes))

    def nll(alpha: float) -> float:
        P = laplace(layer, x, y, alpha=alpha).predict_proba(unseen)
        return nn.functional.nll_loss(P.log(), classes).item()

    assert nll(chosen.alpha) <= min(nll(0.1), nll(1.0), nll(100.0), nll(1e5)) + 1e-12
    # what was compared on the way is not what is returned
    assert np.array_equal(chosen.classifier.covariance_, chosen.covariance)


def test_a_stronger_prior_means_less_doubt() -> None:
    layer, x, y = trained()
    traces = [np.trace(laplace(layer, x, y, alpha=alpha).covariance) for alpha in (0.1, 1.0, 10.0)]
    assert traces[0] > traces[1] > traces[2] > 0.0


def test_what_cannot_be_computed_is_refused() -> None:
    layer = SDGM(64, 10, sparse=False)
    with pytest.raises(ValueError, match="prune the layer to 4000 weights or fewer"):
        laplace(layer, torch.zeros(5, 64), torch.zeros(5).long())
    with pytest.raises(ValueError, match="one feature vector and one class index per sample"):
        laplace(SDGM(2, 2), torch.zeros(5, 2), torch.zeros(4).long())
    with pytest.raises(ValueError, match=r"class indices from 0 to 1, got .* from 1 to 2"):
        laplace(SDGM(2, 2), torch.zeros(2, 2), torch.tensor([1, 2]))
    for alpha in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="alpha must be a positive number"):
            laplace(SDGM(2, 2), torch.zeros(2, 2), torch.tensor([0, 1]), alpha=alpha)
