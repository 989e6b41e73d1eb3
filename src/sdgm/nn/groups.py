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
    lr, noise_lr : float
        Learning rates of the weights, and of the log variances of their noise; ``noise_lr`` is by
        default ten times ``lr``.
    weight_decay : float, default=0.0
        Applied to weights without a prior: not to biases, normalisation parameters and noise, nor
        to the weights of sparse layers, whose prior is in the loss.

    Returns
    -------
    groups : list of dict
        Up to three groups, named "weights" (with weight decay), "others" and "noise".

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

    def name_of(parameter: nn.Parameter) -> str:
        if id(parameter) in noise:
            return "noise"
        return "others" if id(parameter) in with_prior or parameter.ndim < 2 else "weights"

    noise_lr = NOISE_LR_FACTOR * lr if noise_lr is None else noise_lr
    settings = {"weights": (lr, weight_decay), "others": (lr, 0.0), "noise": (noise_lr, 0.0)}
    groups: dict[str, dict[str, Any]] = {
        name: {"name": name, "params": [], "lr": rate, "weight_decay": decay}
        for name, (rate, decay) in settings.items()
    }
    for parameter in model.parameters():  # each once, shared ones too
        if parameter.requires_grad:
            groups[name_of(parameter)]["params"].append(parameter)
    return [group for group in groups.values() if group["params"]]
