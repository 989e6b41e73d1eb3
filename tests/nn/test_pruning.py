"""Pruning by noise and by responsibility, and what is counted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sdgm.nn import SDGM, SparseLinear, component_shares, prune, sparsity
from sdgm.nn.pruning import needed
from tests.nn.problems import random_layer


def test_weights_that_evaluation_leaves_out_are_pruned_for_good() -> None:
    layer = random_layer()
    x = torch.randn(5, 3, dtype=torch.float64)
    before, kept = layer.eval()(x), layer.kept.clone()
    prune(layer)
    assert torch.equal(layer.mask, kept) and not bool(kept.all())
    torch.testing.assert_close(layer(x), before, rtol=0.0, atol=0.0)
    with torch.no_grad():
        layer.log_sigma2.fill_(-9.0)  # later training does not bring them back
    assert torch.equal(layer.kept, kept)


def test_a_threshold_may_be_given() -> None:
    model = nn.Sequential(SparseLinear(4, 3))
    prune(model, threshold=-50.0)
    assert not bool(model[0].mask.any())


def two_blobs() -> tuple[SDGM, torch.Tensor, torch.Tensor]:
    """Two classes of two components each; the second of class 1 is far from all samples."""
    layer = SDGM(1, 2, n_components=2, covariance_type="tied", sparse=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[9.0], [-9.0], [0.0], [1.0]]))
        layer.bias.copy_(torch.tensor([-20.0, -20.0, 0.0, -30.0]))
    x = torch.tensor([[-5.0], [-4.0], [4.0], [0.0], [0.5]])
    return layer, x, torch.tensor([0, 0, 0, 1, 1])


def test_shares_are_mean_responsibilities_within_the_class() -> None:
    layer, x, y = two_blobs()
    model = nn.Sequential(nn.Identity(), layer).train()
    shares = component_shares(model, [(x[:2], y[:2]), (x[2:], y[2:])])[layer]
    torch.testing.assert_close(
        shares, torch.tensor([1 / 3, 2 / 3, 1.0, 0.0]).double(), atol=1e-6, rtol=0.0
    )
    assert model.training and layer.training and not layer._forward_pre_hooks


def test_components_without_samples_go_and_every_class_keeps_one() -> None:
    layer, x, y = two_blobs()
    prune(layer, [(x, y)])
    assert layer.alive.tolist() == [True, True, True, False]
    layer.reset_parameters()
    prune(layer, [(x, y)], min_share=2.0)
    assert layer.alive.reshape(2, 2).sum(dim=1).tolist() == [1, 1]


def test_a_class_without_samples_keeps_its_components() -> None:
    classes = torch.tensor([0, 0, 1, 1])
    keep = needed(torch.tensor([1.0, 0.0, 0.0, 0.0]), classes, 2, 0.01)
    assert keep.tolist() == [True, False, True, True]


def test_labels_must_fit_the_feature_vectors() -> None:
    layer, x, y = two_blobs()
    with pytest.raises(ValueError, match="3 labels for 5 feature vectors"):
        prune(layer, [(x, y[:3])])


def test_what_is_left_is_counted_layer_by_layer() -> None:
    head = SDGM(2, 3, n_components=2)
    model = nn.Sequential(nn.Linear(4, 2), SparseLinear(2, 2, bias=False), head)
    with torch.no_grad():
        head.bias.fill_(1.0)
        for layer in model[1:]:
            layer.weight.fill_(1.0)
        head.mask[0] = False  # a constant
        head.mask[1] = False  # another of the same class: they count as one
        head.mask[2, :3] = False
        head.alive[3] = False
    counts = sparsity(model)
    assert [layer.name for layer in counts.layers] == ["0", "1", "2"]
    assert [layer.n_weights for layer in counts.layers] == [10, 4, 36]
    assert [layer.n_nonzero for layer in counts.layers] == [10, 4, 2 + 5 + 5 + 5]
    assert (counts.layers[2].n_components, counts.layers[2].n_used_components) == (6, 4)
    assert counts.fraction_zero == pytest.approx(1 - 31 / 50)
    assert counts.compression == pytest.approx(50 / 31)
    assert counts.layers[1].n_bytes == 2 * 4 * 4 + 4  # weights, noise and mask
    assert "4/6" in str(counts) and str(counts).splitlines()[-1].startswith("total")


@pytest.mark.parametrize("labels", [[0, 0, 0, 1, -100], [1, 1, 1, 2, 2], [0.0] * 5], ids=str)
def test_labels_that_are_no_class_are_refused_and_nothing_is_pruned(labels: list) -> None:
    layer, x, _ = two_blobs()
    with pytest.raises(ValueError, match="labels must be integers from 0 to 1"):
        prune(layer, [(x, torch.tensor(labels))])
    assert bool(layer.alive.all())


@pytest.mark.parametrize("bad", [float("nan"), 3e38], ids=["nan", "overflow"])
def test_scores_that_are_not_finite_are_refused_and_nothing_is_pruned(bad: float) -> None:
    layer, x, y = two_blobs()
    x[0] = bad
    with pytest.raises(ValueError, match="not finite"):
        prune(layer, [(x, y)])
    assert bool(layer.alive.all())


@pytest.mark.parametrize("share", [[float("nan")] * 4, [0.0] * 4, [0.2, 0.8, 1.0, 0.0]], ids=str)
def test_every_class_keeps_a_component_whatever_the_shares(share: list[float]) -> None:
    keep = needed(torch.tensor(share), torch.tensor([0, 0, 1, 1]), 2, 9.0)
    assert bool(keep.reshape(2, 2).any(dim=1).all())


def test_pruning_again_never_takes_the_last_component() -> None:
    layer, x, y = two_blobs()
    prune(layer, [(x, y)], min_share=2.0)
    with torch.no_grad():
        layer.bias.copy_(layer.bias.flip(0))
    prune(layer, [(x, y)], min_share=2.0)
    assert layer.alive.reshape(2, 2).sum(dim=1).tolist() == [1, 1]


class Calling(nn.Module):
    """Uses its head in one of several ways, and not for every batch."""

    def __init__(self, head: SDGM, way: str) -> None:
        super().__init__()
        self.head, self.way = head, way

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.way == "keyword":
            return self.head(x=x)
        if self.way == "log_prob":
            return self.head.log_prob(x)
        return self.head(x) if len(x) > 1 else x


@pytest.mark.parametrize("way", ["keyword", "log_prob"])
def test_the_head_is_seen_however_it_is_called(way: str) -> None:
    layer, x, y = two_blobs()
    expected = component_shares(layer, [(x, y)])[layer]
    found = component_shares(Calling(layer, way), [(x, y)])[layer]
    torch.testing.assert_close(found, expected)


def test_a_batch_that_does_not_reach_the_head_counts_nothing() -> None:
    layer, x, y = two_blobs()
    expected = component_shares(layer, [(x, y)])[layer]
    found = component_shares(Calling(layer, "sometimes"), [(x, y), (x[:1], y[:1])])[layer]
    torch.testing.assert_close(found, expected)


def test_pruning_by_no_data_is_refused() -> None:
    layer, x, y = two_blobs()
    with pytest.raises(ValueError, match=r"no batch reached the SDGM layer head; .*used before"):
        prune(Calling(layer, "keyword"), iter([]))
    with pytest.raises(ValueError, match="no batch reached the SDGM layer head"):
        prune(Calling(layer, "sometimes"), [(x[:1], y[:1])])
