"""Parameter groups: noise apart, decay only where there is no prior."""

from __future__ import annotations

import torch
from torch import nn

from sdgm.nn import SDGM, SparseLinear, parameter_groups


def test_every_parameter_is_in_one_group_and_the_noise_has_its_own_rate() -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), shared, shared, SparseLinear(4, 2), SDGM(2, 3)
    )
    groups = {g["name"]: g for g in parameter_groups(model, 1e-3, weight_decay=0.1, noise_lr=0.5)}
    listed = [id(p) for g in groups.values() for p in g["params"]]
    assert sorted(listed) == sorted({id(p) for p in model.parameters()})
    noise = groups["noise"]
    assert {id(p) for p in noise["params"]} == {id(model[4].log_sigma2), id(model[5].log_sigma2)}
    assert noise["lr"] == 0.5 and noise["weight_decay"] == 0.0
    assert {id(p) for p in groups["weights"]["params"]} == {id(model[0].weight), id(shared.weight)}
    assert groups["weights"]["weight_decay"] == 0.1 and groups["others"]["weight_decay"] == 0.0


def test_without_sparse_layers_and_frozen_ones_fewer_groups_are_left() -> None:
    model = nn.Linear(2, 2)
    assert [g["name"] for g in parameter_groups(model, 1e-3)] == ["weights", "others"]
    model.weight.requires_grad_(False)
    assert [g["name"] for g in parameter_groups(model, 1e-3)] == ["others"]
    torch.optim.SGD(parameter_groups(model, 1e-3))


def test_weights_without_a_prior_are_decayed_in_the_mixture_too() -> None:
    dense = SDGM(4, 3, covariance_type="low_rank", sparse=False)
    groups = {g["name"]: g["params"] for g in parameter_groups(dense, 1e-3, weight_decay=0.1)}
    assert {id(p) for p in groups["weights"]} == {id(dense.weight), id(dense.projection)}
    assert {id(p) for p in groups["others"]} == {id(dense.bias)}
    sparse = SDGM(4, 3, covariance_type="low_rank")
    groups = {g["name"]: g["params"] for g in parameter_groups(sparse, 1e-3, weight_decay=0.1)}
    assert {id(p) for p in groups["weights"]} == {id(sparse.projection)}
    assert {id(p) for p in groups["others"]} == {id(sparse.weight), id(sparse.bias)}
