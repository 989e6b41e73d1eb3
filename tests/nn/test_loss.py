"""The loss: cross-entropy plus the divergence over N, whatever the batch."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sdgm.nn import SDGM, ELBOLoss, SparseLinear


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(SparseLinear(4, 2), nn.ReLU(), SDGM(2, 3, n_components=2))


@pytest.mark.parametrize("batch", [5, 50])
def test_the_divergence_of_all_layers_counts_one_over_n_whatever_the_batch(batch: int) -> None:
    model = network()
    loss = ELBOLoss(model, n_train=1000, kl_scale=3.0, warmup=0)
    scores, y = model(torch.randn(batch, 4)), torch.arange(batch) % 3
    value = loss(scores, y)
    kl = model[0].kl() + model[2].kl()
    torch.testing.assert_close(value, F.cross_entropy(scores, y) + 3.0 * kl / 1000)
    torch.testing.assert_close(loss.kl, kl.detach())
    torch.testing.assert_close(loss.nll, F.cross_entropy(scores, y).detach())
    assert loss.kl_weight.item() == pytest.approx(0.003)
    assert not loss.nll.requires_grad and not loss.kl.requires_grad


def test_the_divergence_comes_in_linearly_and_only_while_training() -> None:
    model = network()
    loss = ELBOLoss(model, n_train=10, warmup=4)
    scores, y = torch.zeros(2, 3), torch.zeros(2).long()
    weights = []
    for _ in range(6):
        loss(scores, y)
        weights.append(loss.kl_weight.item())
        with torch.no_grad():  # a look at the validation data does not count
            loss(scores, y)
    loss.eval()
    loss(scores, y)
    assert loss.step.item() == 6
    assert weights == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1])


@pytest.mark.parametrize("batch", [5, 20])
def test_without_a_number_the_divergence_comes_in_over_five_epochs(batch: int) -> None:
    loss = ELBOLoss(network(), n_train=100)
    weights = []
    for _ in range(600 // batch):
        loss(torch.zeros(batch, 3), torch.zeros(batch).long())
        weights.append(loss.kl_weight.item())
    assert weights[100 // batch - 1] == pytest.approx(0.2 / 100)
    assert weights[500 // batch - 1 :] == pytest.approx([0.01] * (100 // batch + 1))


def test_training_that_goes_on_goes_on_with_the_warm_up() -> None:
    model = network()
    first, second = (ELBOLoss(model, n_train=10, warmup=4) for _ in range(2))
    first(torch.zeros(2, 3), torch.zeros(2).long())
    second.load_state_dict(first.state_dict())
    assert second.step.item() == 1
    assert list(first.state_dict()) == ["step", "seen"] and not list(first.parameters())


def test_classes_are_on_the_last_axis_and_labels_may_be_probabilities() -> None:
    loss = ELBOLoss(nn.Linear(1, 1), n_train=10)
    scores, y = torch.randn(2, 5, 3), torch.randint(3, (2, 5))
    expected = F.cross_entropy(scores.reshape(10, 3), y.reshape(10))
    torch.testing.assert_close(loss(scores, y), expected)
    torch.testing.assert_close(loss(scores, F.one_hot(y, 3).float()), expected)


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="number of training samples, got 0"):
        ELBOLoss(network(), n_train=0)
    for n_train in (math.nan, math.inf, 1.5):
        with pytest.raises(ValueError, match="number of training samples"):
            ELBOLoss(network(), n_train=n_train)
    for wrong in ({"kl_scale": -1.0}, {"kl_scale": math.nan}, {"warmup": -1}):
        with pytest.raises(ValueError, match="must not be negative"):
            ELBOLoss(network(), n_train=1, **wrong)


def test_weights_that_layers_share_count_once() -> None:
    first, second = SparseLinear(2, 2), SparseLinear(2, 2)
    second.weight, second.log_sigma2 = first.weight, first.log_sigma2
    loss = ELBOLoss(nn.Sequential(first, second), n_train=10)
    loss(torch.zeros(2, 2), torch.zeros(2).long())
    torch.testing.assert_close(loss.kl, first.kl().detach())
