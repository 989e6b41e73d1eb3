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
from sdgm.nn.variational import SparseModule
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
    torch.testing.assert_close(small.log_prob(x), layer.log_prob(x), rtol=1e-10, atol=1e-10)
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
        nn.Sequential(nn.Sequential(SparseLinear(64, 3))),
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
    assert not any(isinstance(module, SparseModule) for module in small.modules())
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
    model[-1].center.uniform_()
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


@pytest.mark.parametrize("width", [3, 5, 8])
@pytest.mark.parametrize("covariance_type", TYPES)
def test_feature_vectors_of_another_length_are_refused(width: int, covariance_type: str) -> None:
    small = compact(pruned_layer(covariance_type, 2, True, 0.5, 0))
    words = f"length {width}, but the layer was made for in_features=4"
    with pytest.raises(ValueError, match=words):
        small(torch.zeros(2, width, dtype=torch.float64))


def pruned_compact(layer: nn.Module, share: float = 0.2) -> nn.Module:
    torch.manual_seed(0)
    prune_at_random(layer, share)
    return compact(layer.eval())


OTHERS = {
    "features": (lambda: SDGM(4, 3), lambda: SDGM(5, 3)),
    "fewer features": (lambda: SDGM(5, 3), lambda: SDGM(4, 3)),
    "classes": (lambda: SDGM(4, 3), lambda: SDGM(4, 4)),
    "fewer classes": (lambda: SDGM(4, 4), lambda: SDGM(4, 3)),
    "linear": (lambda: SparseLinear(6, 4), lambda: SparseLinear(8, 4)),
    "linear, as many weights": (lambda: SparseLinear(6, 4), lambda: SparseLinear(4, 6)),
    "linear, outputs": (lambda: SparseLinear(6, 3), lambda: SparseLinear(6, 5)),
    "convolution": (lambda: SparseConv2d(2, 3, 3), lambda: SparseConv2d(2, 3, 4)),
}


@pytest.mark.parametrize("names", OTHERS)
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_file_of_another_architecture_is_refused(names: str, share: float) -> None:
    file, ours = (pruned_compact(make(), share) for make in OTHERS[names])
    before = copy.deepcopy(ours.state_dict())
    with pytest.raises(RuntimeError, match="of the same architecture"):
        ours.load_state_dict(file.state_dict())
    assert list(ours.state_dict()) == list(before)
    assert all(torch.equal(before[name], value) for name, value in ours.state_dict().items())


def test_what_does_not_fit_is_seen_without_the_note_of_the_architecture() -> None:
    file = dict(pruned_compact(SDGM(4, 4)).state_dict())
    with pytest.raises(RuntimeError, match="4 classes where the layer has 3"):
        pruned_compact(SDGM(4, 3)).load_state_dict(file)
    file = dict(pruned_compact(SDGM(5, 3), 1.0).state_dict())
    with pytest.raises(RuntimeError, match="other features than the 4"):
        pruned_compact(SDGM(4, 3)).load_state_dict(file)
    file = dict(pruned_compact(SparseLinear(6, 4), 1.0).state_dict())
    with pytest.raises(RuntimeError, match="24 weights where the layer has 20"):
        pruned_compact(SparseLinear(5, 4)).load_state_dict(file)


@pytest.mark.parametrize("kind", ["mixture", "linear"])
def test_a_file_without_the_layer_leaves_it_alone(kind: str) -> None:
    small = pruned_compact(random_layer(4) if kind == "mixture" else SparseLinear(4, 3).double())
    x = torch.randn(5, 4, dtype=torch.float64)
    before = small(x)
    small.load_state_dict({}, strict=False)
    torch.testing.assert_close(small(x), before, rtol=0.0, atol=0.0)
    with pytest.raises(RuntimeError, match="Missing key"):
        small.load_state_dict({})


def test_a_file_in_double_precision_loads_into_single() -> None:
    source = pruned_compact(random_layer(4, dtype=torch.float64), 0.5)
    target = pruned_compact(SDGM(4, 3, 2))
    target.load_state_dict(source.state_dict())
    x = torch.randn(5, 4)
    assert target.center.dtype == target(x).dtype == torch.float32
    torch.testing.assert_close(target(x), source(x.double()).float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("has_products", [(True, False), (False, True)])
def test_projections_come_and_go_with_the_file(has_products: tuple[bool, bool]) -> None:
    file, ours = (random_layer(4, covariance_type="low_rank", sparse=False) for _ in range(2))
    for layer, has in zip((file, ours), has_products, strict=True):
        if not has:
            layer.mask[:, 4:] = False
    source, target = compact(file.eval()), compact(ours.eval())
    assert (source.projection is not None, target.projection is not None) == has_products
    target.load_state_dict(source.state_dict())
    x = torch.randn(5, 4, dtype=torch.float64)
    torch.testing.assert_close(target(x), source(x), rtol=0.0, atol=0.0)


def test_parameters_are_kept_where_their_shape_is_and_stay_frozen() -> None:
    source, target = (pruned_compact(SDGM(4, 3, 2, sparse=False), 0.5) for _ in range(2))
    kept = target.values, target.bias
    target.load_state_dict(source.state_dict())
    assert (target.values is kept[0]) and (target.bias is kept[1])
    frozen = pruned_compact(SDGM(4, 3, 2, sparse=False), 0.1).requires_grad_(False)
    frozen.load_state_dict(source.state_dict())
    assert frozen.values.shape == source.values.shape
    assert not any(parameter.requires_grad for parameter in frozen.parameters())


def test_a_head_without_weights_is_its_constants() -> None:
    layer = random_layer(4, 3, [1, 2, 1])
    layer.mask.fill_(False)
    small = compact(layer.eval())
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    torch.testing.assert_close(small(x), layer(x))
    assert len(small.terms) == 0
