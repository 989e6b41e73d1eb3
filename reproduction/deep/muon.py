"""Muon: steps along the nearest orthogonal matrix to the momentum, for filters of convolutions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

# Jordan's quintic: it brings singular values between 0.01 and 1 near one in few steps, not to it
QUINTIC = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 3
MOMENTUM = 0.6


class Muon(torch.optim.Optimizer):
    """Nesterov momentum whose singular values are made about equal before the step.

    Filters that a normalisation follows may have any norm; theirs is kept at the square root of
    their number, so that the learning rate alone says by what angle a step turns them.

    Parameters
    ----------
    params : iterable of Parameter or dict
        With two axes or more; all but the first count as one.
    lr : float

    References
    ----------
    K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.

    Examples
    --------
    >>> filters = nn.Parameter(torch.eye(4))
    >>> optimizer = Muon([filters], lr=0.1)
    >>> filters.diagonal().sum().backward()
    >>> optimizer.step()
    >>> bool((filters.diagonal() < 1.0).all())
    True
    """

    def __init__(self, params: Iterable[nn.Parameter] | Iterable[dict[str, Any]], lr: float):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Turn every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter.grad)
                momentum = state["momentum"].mul_(MOMENTUM).add_(parameter.grad)
                direction = parameter.grad.add(momentum, alpha=MOMENTUM)
                parameter.mul_(len(parameter) ** 0.5 / parameter.norm())
                parameter.sub_(orthogonalized(direction), alpha=group["lr"])


def orthogonalized(G: Tensor, steps: int = NEWTON_SCHULZ_STEPS) -> Tensor:
    """Nearly the orthogonal factor of a polar decomposition, all axes but the first as one.

    Examples
    --------
    >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
    <...>
    >>> singular = torch.linalg.svdvals(orthogonalized(torch.randn(8, 32), steps=5))
    >>> bool(((singular > 0.6) & (singular < 1.3)).all())
    True
    """
    first, second, third = QUINTIC
    X = G.reshape(len(G), -1)
    is_tall = X.shape[0] > X.shape[1]
    X = X.T if is_tall else X
    X = X / X.norm().clamp_min(torch.finfo(X.dtype).tiny)
    for _ in range(steps):
        A = X @ X.T
        X = first * X + (second * A + third * A @ A) @ X
    return (X.T if is_tall else X).reshape(G.shape)
