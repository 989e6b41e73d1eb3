"""Claims about the networks."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reproduction.deep.heads import make_head
from reproduction.deep.networks import (
    Classifier,
    PatchWhitening,
    block_cnn,
    densenet,
    lenet_300_100,
    mobilenet,
    plain_cnn,
    small_cnn,
)
from sdgm.nn import SparseLinear


def count(net: nn.Module, kind: type[nn.Module]) -> int:
    return sum(isinstance(module, kind) for module in net.modules())


def n_parameters(net: nn.Module) -> int:
    return sum(parameter.numel() for parameter in net.parameters())


def test_the_small_network_is_the_papers() -> None:
    net = small_cnn(2)
    assert count(net, nn.Conv2d) == 5
    assert count(net, nn.MaxPool2d) == 4
    assert count(net, nn.Linear) == 1
    kinds = [type(layer) for layer in net if isinstance(layer, nn.Conv2d | nn.MaxPool2d)]
    assert kinds == [nn.Conv2d, nn.MaxPool2d] * 4 + [nn.Conv2d]  # pooling between convolutions


def test_the_cnn_of_few_images_has_three_blocks_of_two_convolutions() -> None:
    net = plain_cnn()
    assert count(net, nn.Conv2d) == 6
    assert count(net, nn.MaxPool2d) == 3
    assert net(torch.zeros(2, 3, 32, 32)).shape == (2, 128)


def test_without_normalisation_there_is_none() -> None:
    assert count(small_cnn(10, batch_norm=False), nn.BatchNorm2d) == 0
    assert count(small_cnn(10), nn.BatchNorm2d) == 5


def test_normalised_features_have_mean_zero_and_deviation_one() -> None:
    torch.manual_seed(0)
    features = small_cnn(2, normalize_features=True)(torch.randn(64, 1, 28, 28))
    torch.testing.assert_close(features.mean(dim=0), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(features.var(dim=0, correction=0), torch.ones(2), atol=1e-2, rtol=0)


def test_every_place_of_every_kernel_sees_something() -> None:
    """On a map of one pixel a kernel would use its middle only."""
    torch.manual_seed(0)
    net = small_cnn(2, batch_norm=False)
    net(torch.randn(16, 1, 28, 28)).sum().backward()
    for conv in (layer for layer in net if isinstance(layer, nn.Conv2d)):
        assert conv.weight.grad is not None
        assert (conv.weight.grad.abs().sum(dim=(0, 1)) > 0).all()


def test_whitened_patches_are_uncorrelated_with_variance_one_and_come_with_their_negatives() -> (
    None
):
    torch.manual_seed(0)
    mixed = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 0.5]])
    images = torch.einsum("ij,njhw->nihw", mixed, torch.randn(200, 3, 12, 12))
    layer = PatchWhitening(3)
    layer.fit(images - images.mean(dim=(0, 2, 3), keepdim=True))
    assert not layer.weight.requires_grad
    with torch.no_grad():
        maps = layer(images - images.mean(dim=(0, 2, 3), keepdim=True))
    positive, negative = maps.chunk(2, dim=1)
    torch.testing.assert_close(positive, -negative)
    covariance = torch.cov(positive.movedim(1, 0).flatten(1))
    torch.testing.assert_close(covariance, torch.eye(12), atol=0.05, rtol=0)


def test_the_network_for_cifar_starts_by_letting_channels_through() -> None:
    convolutions = [
        each
        for each in block_cnn((32, 40)).modules()
        if isinstance(each, nn.Conv2d) and not isinstance(each, PatchWhitening)
    ]
    assert [each.in_channels for each in convolutions] == [24, 32, 32, 40]
    for each in convolutions:
        x = torch.randn(1, each.in_channels, 5, 5)
        torch.testing.assert_close(each(x)[:, : each.in_channels], x)


def test_densenet_40_12_has_its_published_size() -> None:
    assert n_parameters(Classifier(densenet(), nn.Linear(448, 10))) == pytest.approx(
        1.0e6, rel=0.05
    )


def test_mobilenet_has_its_published_size() -> None:
    assert n_parameters(Classifier(mobilenet(), nn.Linear(1024, 1000))) == pytest.approx(
        4.2e6, rel=0.02
    )


def test_lenet_has_its_published_size_and_can_be_sparse_throughout() -> None:
    model = Classifier(lenet_300_100(), nn.Linear(100, 10))
    assert n_parameters(model) == 266_610
    assert count(lenet_300_100(sparse=True), SparseLinear) == 2


def test_a_depth_that_no_densenet_has_is_refused() -> None:
    with pytest.raises(ValueError, match="four more than a multiple of three, got 41"):
        densenet(depth=41)


@pytest.mark.parametrize("head", ["softmax", "large_margin", "lgm", "sdgm"])
def test_labels_go_to_heads_that_need_them_in_training_only(head: str) -> None:
    torch.manual_seed(0)
    model = Classifier(small_cnn(2), make_head(head, 2, 10)).eval()
    x, y = torch.randn(4, 1, 28, 28), torch.arange(4)
    assert torch.equal(model(x, y), model(x))
    assert model.train()(x, y).shape == (4, 10)
