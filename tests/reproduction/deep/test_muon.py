"""Claims about Muon."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reproduction.deep.muon import Muon, orthogonalized


@pytest.mark.parametrize("shape", [(8, 24), (24, 8), (8, 4, 3, 3)])
def test_singular_values_are_brought_near_one_and_vectors_are_kept(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    G = torch.randn(shape, dtype=torch.float64)
    result = orthogonalized(G, steps=5).reshape(shape[0], -1)
    left, _, right = torch.linalg.svd(G.reshape(shape[0], -1), full_matrices=False)
    turned = left.T @ result @ right.T
    assert ((turned.diagonal() > 0.6) & (turned.diagonal() < 1.3)).all()
    torch.testing.assert_close(turned, turned.diagonal().diag(), atol=1e-10, rtol=0)


def test_the_size_of_a_gradient_does_not_matter_and_zero_is_no_step() -> None:
    G = torch.eye(3, 5)
    torch.testing.assert_close(orthogonalized(1e6 * G), orthogonalized(G))
    assert not orthogonalized(torch.zeros(3, 5)).any()


def test_filters_keep_their_norm_and_follow_the_gradient() -> None:
    torch.manual_seed(0)
    layer, target = nn.Conv2d(3, 4, 3), torch.randn(4, 3, 3, 3)
    optimizer = Muon([layer.weight], lr=0.02)

    def distance() -> torch.Tensor:
        return 1.0 - nn.functional.cosine_similarity(layer.weight.flatten(), target.flatten(), 0)

    first = distance().item()
    for _ in range(100):
        optimizer.zero_grad()
        distance().backward()
        optimizer.step()
    assert distance().item() < 0.2 * first
    assert layer.weight.norm().item() == pytest.approx(2.0, rel=0.05)


def test_a_parameter_without_gradient_stays() -> None:
    weight = nn.Parameter(torch.ones(2, 2))
    Muon([weight], lr=0.1).step()
    assert torch.equal(weight, torch.ones(2, 2))
