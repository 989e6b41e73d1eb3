"""Parameters in groups for an optimizer."""

from __future__ import annotations

from typing import Any

from torch import nn

from sdgm.nn.variational import sparse_modules

# the logarithm of the noise has several units to go
NOISE_LR_FACTOR = 10.0


def parameter_groups(
    model: nn.Module, lr: float, weight_decay: float = 0.0, noise_lr: float | None = None
) -> list[dict[str, Any]]:
    """Parameters in groups for an optimizer of `torch.optim`.

    Parameters
    ----------
    model : Module
    lr : float
        Learning rate of all but the noise.
    weight_decay : float, default=0.0
        For weights without a prior: not for biases and normalisation, nor for the weights of
        sparse layers, whose prior is in the loss, and never for the noise.
    noise_lr : float, optional
        Learning rate of the log variances of the noise; ten times ``lr`` if not given.

    Returns
    -------
    groups : list of dict
        Up to three, named "weights" (decayed), "others" and "noise", each parameter in one.

    Examples
    --------
    >>> import torch
    >>> from sdgm.nn import SDGM
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 2), SDGM(2, 10))
    >>> groups = parameter_groups(model, lr=2e-3, weight_decay=1e-4)
    >>> [(group["name"], group["lr"], group["weight_decay"]) for group in groups]
    [('weights', 0.002, 0.0001), ('others', 0.002, 0.0), ('noise', 0.02, 0.0)]
    >>> optimizer = torch.optim.Adam(groups)
    """
    sparse = [layer for _, layer in sparse_modules(model)]
    noise = {id(layer.log_sigma2) for layer in sparse}
    with_prior = {id(layer.weight) for layer in sparse if layer.log_sigma2 is not None}
    groups: dict[str, list[nn.Parameter]] = {"weights": [], "others": [], "noise": []}
    for parameter in model.parameters():  # each once, shared ones too
        if not parameter.requires_grad:
            continue
        if id(parameter) in noise:
            name = "noise"
        elif id(parameter) in with_prior or parameter.ndim < 2:
            name = "others"
        else:
            name = "weights"
        groups[name].append(parameter)
    rates = {"noise": NOISE_LR_FACTOR * lr if noise_lr is None else noise_lr}
    decays = {"weights": weight_decay}
    return [
        {
            "name": name,
            "params": parameters,
            "lr": rates.get(name, lr),
            "weight_decay": decays.get(name, 0.0),
        }
        for name, parameters in groups.items()
        if parameters
    ]
