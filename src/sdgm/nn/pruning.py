"""Pruning in two stages: weights by their noise, components by their responsibility."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from sdgm.nn.heads import L1Softmax
from sdgm.nn.layer import SDGM
from sdgm.nn.variational import sparse_modules

# share of its class's samples below which a component is not needed
MIN_SHARE = 0.005


@torch.no_grad()
def prune(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]] | None = None,
    *,
    threshold: float | None = None,
    min_share: float = MIN_SHARE,
) -> None:
    """Remove weights and components that are not needed, for good: training too leaves them out.

    First the weights whose noise outweighs them, then, if there is training data, the components of
    `SDGM` layers that hardly a sample of their class belongs to. Every class keeps one at least.
    The module keeps its size; `compact` makes a smaller one.

    Parameters
    ----------
    model : Module
    batches : iterable of (inputs, labels), optional
        Training data, such as a `DataLoader`; the model is run on it in evaluation mode.
    threshold : float, optional
        Log alpha from which a weight goes; each layer's own, 3, if not given.
    min_share : float, default=0.005
        Mean responsibility, over the samples of its class, below which a component goes.

    Examples
    --------
    >>> head = SDGM(2, 3, n_components=2)
    >>> head.log_sigma2.data[:] = -99.0
    >>> head.log_sigma2.data[:, 0] = 9.0
    >>> prune(head)
    >>> head.mask.sum(dim=0)
    tensor([0, 6, 6, 6, 6])
    """
    for _, layer in sparse_modules(model):
        if layer.log_sigma2 is not None:
            layer.mask &= layer.log_alpha < (layer.threshold if threshold is None else threshold)
    for module in model.modules():
        if isinstance(module, L1Softmax):
            module.prune()
    if batches is None:
        return
    for layer, share in component_shares(model, batches).items():
        layer.alive &= needed(share, layer.component_class, layer.n_classes, min_share)


def needed(share: Tensor, component_class: Tensor, n_classes: int, min_share: float) -> Tensor:
    """Components with at least this share, and the largest of each class: boolean, (K,)."""
    largest = share.new_zeros(n_classes).scatter_reduce(0, component_class, share, "amax")
    return (share >= min_share) | (share == largest[component_class])


@torch.no_grad()
def component_shares(
    model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]
) -> dict[SDGM, Tensor]:
    """Mean responsibility of each component over the samples of its class, per `SDGM` layer.

    Parameters
    ----------
    model : Module
    batches : iterable of (inputs, labels)

    Returns
    -------
    shares : dict from layer to (K,) tensor
        Within a class they sum to one, or to zero if it has no samples.

    Examples
    --------
    >>> head = SDGM(2, 3, n_components=2)
    >>> shares = component_shares(head, [(torch.randn(9, 2), torch.arange(9) % 3)])[head]
    >>> shares.reshape(3, 2).sum(dim=1)
    tensor([1., 1., 1.], dtype=torch.float64)
    """
    layers = [m for m in model.modules() if isinstance(m, SDGM)]
    if not layers:
        return {}
    seen: dict[SDGM, Tensor] = {}
    hooks = [
        layer.register_forward_pre_hook(lambda module, args: seen.update({module: args[0]}))
        for layer in layers
    ]
    sums = {layer: torch.zeros_like(layer.alive, dtype=torch.float64) for layer in layers}
    was_training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        for inputs, labels in batches:
            model(inputs)
            for layer, x in seen.items():
                sums[layer] += responsibilities(layer, x, labels).sum(dim=0)
    finally:
        for hook in hooks:
            hook.remove()
        for module in was_training:
            module.training = True
    return {layer: _within_class(total, layer) for layer, total in sums.items()}


def responsibilities(layer: SDGM, x: Tensor, y: Tensor) -> Tensor:
    """``P(m | c, x)`` of the rows' own classes, zero elsewhere: (N, K) in float64."""
    scores = layer.component_scores(x).reshape(-1, len(layer.component_class)).double()
    labels = y.reshape(-1, 1)
    if len(labels) != len(scores):
        raise ValueError(
            f"a batch has {len(labels)} labels for {len(scores)} feature vectors; "
            "pass batches of (inputs, labels), one label per sample."
        )
    own = layer.component_class == labels
    return scores.masked_fill(~own, -torch.inf).softmax(dim=-1)


def _within_class(total: Tensor, layer: SDGM) -> Tensor:
    sums = total.new_zeros(layer.n_classes).index_add(0, layer.component_class, total)
    return total / sums.clamp_min(torch.finfo(total.dtype).tiny)[layer.component_class]
