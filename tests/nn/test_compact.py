"""Compact modules are smaller and say the same."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from sdgm.nn import SDGM, SparseConv2d, SparseLinear, compact, sparsity
from tests.nn.problems import TYPES, random_layer


def file_size(module: nn.Module) -> int:
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    return len(file.getvalue())


def pruned_layer(
    covariance_type: str, n_components: int | list[int], bias: bool, share: float, seed: int
) -> SDGM:
    layer = random_layer(4, 3, n_components, covariance_type, bias=bias, seed=seed).eval()
    layer.mask &= torch.rand_like(layer.weight) < share
    layer.mask[0] = False
    first = torch.tensor([int((layer.component_class == c).nonzero()[0]) for c in range(3)])
    layer.alive &= torch.rand(len(layer.alive)) < 0.7
    layer.alive[first] = True
    return layer


@given(
    st.sampled_from(TYPES),
    st.sampled_from([1, 3, [1, 3, 2]]),
    st.booleans(),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_outputs_are_equal_whatever_was_pruned(
    covariance_type: str, n_components: int | list[int], bias: bool, share: float, seed: int
) -> None:
    layer = pruned_layer(covariance_type, n_components, bias, share, seed)
    small = compact(layer)
    x = 3.0 + 2.0 * torch.randn(20, 4, dtype=torch.float64)
    torch.testing.assert_close(small(x), layer(x), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(small.log_proba(x), layer.log_proba(x), rtol=1e-10, atol=1e-10)
    single, small_single = copy.deepcopy(layer).float(), compact(copy.deepcopy(layer).float())
    torch.testing.assert_close(
        small_single(x.float()),
        single(x.float()),
        rtol=1e-5,
        atol=1e-5 * layer(x).abs().max().item(),
    )


def test_dead_components_unused_terms_and_pruned_weights_are_gone() -> None:
    layer = random_layer(4, 3, 3, sparse=False)
    layer.mask.fill_(False)
    layer.mask[:6, :2] = True  # x1 and x2 of classes 0 and 1; class 2 has constants only
    layer.mask[5] = False
    layer.alive[0] = False
    small = compact(layer)
    assert len(small.component_class) == 2 + 3 + 1  # two, two and a constant, a constant
    assert small.terms.tolist() == [[0, -1], [1, -1]]
    assert int(small.values.count_nonzero()) == 8
    assert len(small.values) == 8  # no room for zeros
    constants = layer.bias[6:].logsumexp(dim=0)
    torch.testing.assert_close(small(torch.zeros(1, 4, dtype=torch.float64))[0, 2], constants)


@pytest.mark.parametrize(("D", "n_components"), [(2, 2), (10, 2), (10, 4)])
def test_the_file_of_a_half_pruned_head_is_smaller(D: int, n_components: int) -> None:
    head = SDGM(D, 10, n_components)
    head.mask &= torch.rand_like(head.weight) < 0.5
    small = compact(head)
    assert file_size(small) < file_size(head)
    assert file_size(small) < file_size(SDGM(D, 10, n_components, sparse=False))
    assert sparsity(small).n_bytes < 0.5 * sparsity(head).n_bytes


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        SparseConv2d(1, 4, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.ModuleDict({"inner": SparseLinear(64, 3)})["inner"],
        SDGM(3, 5, [1, 2, 1, 3, 1]),
    ).double()


@torch.no_grad()
def prune_at_random(model: nn.Module, share: float) -> None:
    for name, buffer in model.named_buffers():
        if name.endswith("mask"):
            buffer &= torch.rand(buffer.shape) < share


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_whole_networks_are_compacted_and_left_as_they_were(share: float) -> None:
    model = network().eval()
    prune_at_random(model, share)
    before = copy.deepcopy(model.state_dict())
    small = compact(model)
    x = torch.randn(3, 1, 8, 8, dtype=torch.float64)
    torch.testing.assert_close(small(x), model(x), rtol=1e-10, atol=1e-10)
    assert not small.training
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    if share < 0.5:
        assert file_size(small) < 0.5 * file_size(model)


def test_a_layer_used_twice_stays_one_layer() -> None:
    layer = SparseLinear(2, 2)
    small = compact(nn.Sequential(layer, nn.ReLU(), layer))
    assert small[0] is small[2]


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_the_state_loads_into_a_compact_copy_of_the_same_architecture(share: float) -> None:
    model = network().eval()
    model[-1].calibrate(torch.randn(9, 3).double())
    prune_at_random(model, share)
    small = compact(model)
    file = io.BytesIO()
    torch.save(small.state_dict(), file)
    file.seek(0)
    other = compact(network().eval())
    other.load_state_dict(torch.load(file))
    x = torch.randn(3, 1, 8, 8, dtype=torch.float64)
    torch.testing.assert_close(other(x), small(x), rtol=0.0, atol=0.0)


def test_a_compact_module_can_be_trained_and_copied() -> None:
    small = copy.deepcopy(compact(pruned_layer("full", 2, True, 0.3, 0)))
    small.train()(torch.randn(4, 4, dtype=torch.float64)).sum().backward()
    assert small.values.grad is not None and small.bias.grad is not None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert small(torch.randn(4, 4)).dtype == torch.float64


def test_a_layer_of_another_kind_is_refused() -> None:
    class Odd(SparseLinear.__mro__[1]):  # type: ignore[misc]
        pass

    with pytest.raises(TypeError, match="layers of type Odd"):
        compact(Odd())
