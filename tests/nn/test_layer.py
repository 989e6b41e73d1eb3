"""The layer: its scores, its start, and what PyTorch expects of a module."""

from __future__ import annotations

import copy
import io
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from sdgm.core.model.features import monomials
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.nn import SDGM, ELBOLoss, parameter_groups
from tests.nn.problems import TYPES, blobs, random_layer


@given(
    st.integers(1, 5),
    st.lists(st.integers(1, 4), min_size=2, max_size=4),
    st.sampled_from(["full", "diag", "tied"]),
    st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_probabilities_are_those_of_the_core(
    D: int, n_components: list[int], covariance_type: str, bias: bool
) -> None:
    layer = random_layer(D, len(n_components), n_components, covariance_type, bias=bias).eval()
    layer.averages_noise = False
    x = np.random.default_rng(0).normal(3.0, 2.0, size=(7, D))
    scaled = (x - layer.center.numpy()) * layer.inverse_scale.numpy()
    Phi = monomials(D, covariance_type).transform(scaled)
    constant = 0.0 if layer.bias is None else layer.bias.detach().numpy()
    logits = Phi[:, 1:] @ layer.kept_weight().detach().numpy().T + constant
    log_P_cm = component_log_posterior(logits)
    component_class = np.repeat(np.arange(len(n_components)), n_components)
    log_P_c = class_log_posterior(log_P_cm, component_class, len(n_components))
    with torch.no_grad():
        ours = layer.component_log_prob(torch.as_tensor(x)).numpy()
        ours_c = layer.log_prob(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(ours, log_P_cm, atol=1e-10)
    np.testing.assert_allclose(ours_c, log_P_c, atol=1e-10)


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("n_components", [1, 2, [1, 3, 2]], ids=str)
@pytest.mark.parametrize("training", [False, True])
def test_gradients_are_those_of_finite_differences(
    covariance_type: str, n_components: int | list[int], training: bool
) -> None:
    layer = random_layer(2, 3, n_components, covariance_type).train(training)
    layer.alive[-1] = n_components == 1
    layer.mask[0, 0] = False
    names, parameters = zip(*layer.named_parameters(), strict=True)
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)

    def scores(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)  # the same noise in every call
        state = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, state, (x,))

    assert torch.autograd.gradcheck(scores, (x, *parameters))


@pytest.mark.parametrize("n_components", [1, 2, [1, 3, 2]], ids=str)
def test_any_leading_axes_are_taken(n_components: int | list[int]) -> None:
    layer = random_layer(n_components=n_components).eval()
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    scores = layer(x)
    assert scores.shape == (2, 4, 3)
    torch.testing.assert_close(scores[1, 2], layer(x[1, 2]))
    assert layer(x[:0]).shape == (0, 4, 3)


def test_a_component_that_is_not_alive_has_no_part_in_its_class() -> None:
    layer = random_layer(n_components=2).eval()
    layer.averages_noise = False
    x = torch.randn(5, 3, dtype=torch.float64)
    components = layer.component_scores(x)
    layer.alive[1] = False
    torch.testing.assert_close(layer(x)[:, 0], components[:, 0])
    assert layer.component_log_prob(x)[:, 1].exp().max() == 0.0


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("n_components", [1, 3, [1, 3, 2]], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
@torch.no_grad()
def test_it_starts_as_a_linear_layer(
    covariance_type: str, n_components: int | list[int], sparse: bool
) -> None:
    torch.manual_seed(0)
    layer = SDGM(400, 3, n_components, covariance_type, sparse=sparse).eval()
    layer.averages_noise = False
    x = torch.randn(200, 400)
    assert layer.bias is not None
    first = torch.tensor([int((layer.component_class == c).nonzero()[0]) for c in range(3)])
    counts = torch.tensor(layer.n_components).float()
    # of the components of a class one is the linear layer, up to a small distance
    linear = x @ layer.weight[first, :400].T + layer.bias[first] + counts.log()
    scores = layer(x)
    assert (scores - linear).std() < 0.15 * linear.std()
    # by the rule of nn.Linear: uniform between -1/sqrt(D) and 1/sqrt(D)
    bound = 1.0 / math.sqrt(400)
    assert float(layer.weight[:, :400].std()) == pytest.approx(bound / math.sqrt(3.0), rel=0.05)
    assert float(layer.weight[:, :400].abs().max()) <= 1.1 * bound
    assert float((layer.bias[first] + counts.log()).abs().max()) <= bound + 1e-6
    assert not bool(layer.weight[:, 400:].any())


def test_components_of_a_class_start_apart() -> None:
    layer = SDGM(4, 3, [1, 3, 2])
    assert layer.weight.unique(dim=0).shape == layer.weight.shape


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 1e4])
def test_the_first_loss_in_training_is_small_whatever_the_size_of_the_features(
    covariance_type: str, size: float
) -> None:
    torch.manual_seed(0)
    x = size * (1.0 + torch.randn(256, 64))
    layer = SDGM(64, 10, 2, covariance_type)
    y = torch.arange(256) % 10
    assert nn.functional.cross_entropy(layer(x), y) < math.log(10.0) + 0.5


def test_only_the_first_batch_in_training_sets_the_scale() -> None:
    torch.manual_seed(0)
    x = torch.randn(1000, 4)
    layer = SDGM(4, 3).eval()
    layer(5.0 * x)
    assert layer.scales_itself and bool((layer.inverse_scale == 1.0).all())
    layer.train()
    layer(x[:0])  # nothing to see yet
    layer(5.0 * x)
    torch.testing.assert_close(layer.inverse_scale, torch.full((4,), 0.25), rtol=0.0, atol=0.0)
    layer(50.0 * x)
    torch.testing.assert_close(layer.inverse_scale, torch.full((4,), 0.25), rtol=0.0, atol=0.0)
    other = SDGM(4, 3)
    other.load_state_dict(layer.state_dict())
    other(50.0 * x)
    assert torch.equal(other.inverse_scale, layer.inverse_scale)


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e30, 0.0])
def test_a_first_batch_of_absurd_numbers_leaves_a_scale(number: float) -> None:
    layer = SDGM(2, 2)
    layer.scale_to(torch.full((3, 2), number))
    assert bool(layer.inverse_scale.isfinite().all()) and bool((layer.inverse_scale > 0.0).all())


def test_reset_forgets_scale_and_pruning() -> None:
    layer = random_layer(n_components=2)
    layer.mask[0] = False
    layer.alive[0] = False
    layer.reset_parameters()
    assert bool(layer.mask.all()) and bool(layer.alive.all())
    assert bool((layer.center == 0).all()) and bool((layer.inverse_scale == 1).all())


@pytest.mark.parametrize("kl_scale", [0.0, 1.0, 100.0])
def test_training_with_huge_features_stays_finite(kl_scale: float) -> None:
    torch.manual_seed(0)
    x, y = blobs()
    model = SDGM(2, 2, n_components=2)
    loss = ELBOLoss(model, len(x), kl_scale=kl_scale)
    optimizer = torch.optim.Adam(parameter_groups(model, lr=1e-2))
    for _ in range(40):
        optimizer.zero_grad()
        value = loss(model(1e4 * x), y)
        value.backward()
        optimizer.step()
        assert bool(value.isfinite())
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def test_it_learns_a_ring_around_a_blob() -> None:
    torch.manual_seed(0)
    x, y = blobs()
    model = SDGM(2, 2)
    loss = ELBOLoss(model, len(x), warmup=50)
    optimizer = torch.optim.Adam(parameter_groups(model, lr=5e-2))
    for _ in range(200):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    model.eval()
    assert (model(x).argmax(dim=1) == y).float().mean() > 0.98


@pytest.mark.parametrize("n_components", [2, [1, 3, 2]], ids=str)
def test_the_state_goes_through_a_file(n_components: int | list[int]) -> None:
    layer = random_layer(n_components=n_components, covariance_type="low_rank").eval()
    layer.mask[1, 1] = False
    layer.alive[-1] = False
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = random_layer(n_components=n_components, covariance_type="low_rank", seed=1).eval()
    assert not other.load_state_dict(torch.load(file)).missing_keys
    x = torch.randn(4, 3, dtype=torch.float64)
    torch.testing.assert_close(other(x), layer(x), rtol=0.0, atol=0.0)


def test_a_copy_is_equal_and_independent() -> None:
    layer = random_layer(n_components=[1, 3, 2])
    layer(torch.randn(4, 3, dtype=torch.float64)).sum().backward()
    other = copy.deepcopy(layer).eval()
    layer.eval()
    x = torch.randn(4, 3, dtype=torch.float64)
    torch.testing.assert_close(other(x), layer(x))
    with torch.no_grad():
        layer.weight.zero_()
    assert bool(other.weight.any())


def test_indices_and_masks_move_with_the_module() -> None:
    layer = SDGM(3, 3, [1, 2, 1])
    layer.to("meta")
    assert {tensor.device.type for tensor in layer.state_dict().values()} == {"meta"}
    assert layer.class_index is not None and layer.class_index.device.type == "meta"
    doubled = SDGM(3, 3, [1, 2, 1]).double()
    assert doubled(torch.zeros(2, 3, dtype=torch.float64)).dtype == torch.float64
    assert doubled.mask.dtype == torch.bool and doubled.component_class.dtype == torch.int64


@pytest.mark.parametrize("training", [False, True])
def test_autocast_leaves_the_quadratic_in_single_precision(training: bool) -> None:
    torch.manual_seed(0)
    layer = SDGM(4, 3, 2).train(training)
    x = 300.0 * torch.randn(8, 4)
    torch.manual_seed(1)
    plain = layer(x.bfloat16().float())
    torch.manual_seed(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x.T).dtype == torch.bfloat16
        scores = layer(x.bfloat16())
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, plain, rtol=0.0, atol=0.0)


def test_absurd_sizes_are_refused_with_the_number_of_weights() -> None:
    with pytest.raises(ValueError, match=r"525,824,000 weights.*use covariance_type='low_rank'"):
        SDGM(1024, 1000)
    # the way out that the error names
    layer = SDGM(1024, 1000, covariance_type="low_rank", device="meta")
    assert layer.weight.shape == (1000, 1024 + 36)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"in_features": 0}, "in_features must be an integer of at least 1"),
        ({"num_classes": 1}, "num_classes must be an integer of at least 2"),
        ({"n_components": 0}, "n_components must be an integer of at least 1"),
        ({"n_components": [1, 2]}, "2 numbers for 3 classes"),
        ({"covariance_type": "round"}, "must be one of"),
        ({"covariance_type": "low_rank", "rank": 0}, "rank must be an integer of at least 1"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SDGM(**{"in_features": 2, "num_classes": 3, **arguments})


def test_feature_vectors_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="length 3, but the layer was made for in_features=2"):
        SDGM(2, 2)(torch.zeros(1, 3))


@pytest.mark.parametrize(
    ("file", "ours"), [((2, 2, [1, 2]), (2, 2, [2, 1])), ((2, 3, 2), (2, 2, 3))], ids=str
)
def test_a_file_with_components_grouped_otherwise_is_refused(file: tuple, ours: tuple) -> None:
    layer = nn.Sequential(SDGM(*ours))
    before = copy.deepcopy(layer.state_dict())
    with pytest.raises(RuntimeError, match=r"0\.component_class has .* components per class"):
        layer.load_state_dict(nn.Sequential(SDGM(*file)).state_dict())
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())


@pytest.mark.parametrize("n_components", [2, [1, 3, 2]], ids=str)
@pytest.mark.parametrize("training", [False, True])
def test_shapes_can_be_had_without_memory(n_components: int | list[int], training: bool) -> None:
    layer = SDGM(4, 3, n_components, device="meta").train(training)
    assert layer(torch.zeros(5, 4, device="meta")).shape == (5, 3)


@pytest.mark.parametrize("n_components", [2, [1, 3, 2]], ids=str)
def test_a_layer_made_without_memory_can_be_started_or_loaded(
    n_components: int | list[int],
) -> None:
    source = random_layer(n_components=n_components).eval()
    x = torch.randn(5, 3, dtype=torch.float64)
    made = SDGM(3, 3, n_components, device="meta", dtype=torch.float64).eval()
    started = made.to_empty(device="cpu")
    started.component_class.fill_(99)  # as memory that was only reserved may be
    if started.class_index is not None:
        started.class_index.fill_(99)
    started.reset_parameters()
    started.load_state_dict(
        {k: v for k, v in source.state_dict().items() if "class" not in k}, strict=False
    )
    torch.testing.assert_close(started(x), source(x), rtol=0.0, atol=0.0)
    assigned = SDGM(3, 3, n_components, device="meta", dtype=torch.float64).eval()
    assigned.load_state_dict(source.state_dict(), assign=True)
    torch.testing.assert_close(assigned(x), source(x), rtol=0.0, atol=0.0)


def test_buffers_that_others_hold_stay_the_same_ones() -> None:
    layer = SDGM(2, 3, [1, 2, 1])
    held = layer.component_class, layer.class_index
    layer.reset_parameters()
    layer.load_state_dict(SDGM(2, 3, [1, 2, 1]).state_dict())
    assert layer.component_class is held[0] and layer.class_index is held[1]


def test_integers_of_numpy_are_taken_and_fractions_are_not() -> None:
    layer = SDGM(np.int64(2), np.int32(3), np.int64(2))
    assert layer.n_components == (2, 2, 2)
    assert SDGM(2, 3, np.array([1, 2, 1])).n_components == (1, 2, 1)
    for wrong in (1.9, [1.9, 2, 1], True, "2"):
        with pytest.raises(ValueError, match="n_components must be an integer"):
            SDGM(2, 3, wrong)


def test_log_probabilities_are_seen_by_hooks() -> None:
    layer, seen = SDGM(2, 2), []
    layer.register_forward_hook(lambda *_: seen.append(1))
    layer.log_prob(torch.zeros(1, 2))
    assert seen == [1]
