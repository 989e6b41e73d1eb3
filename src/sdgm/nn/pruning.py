"""Pruning in two stages: weights by their noise, components by their responsibility."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from sdgm.nn.layer import SDGM
from sdgm.nn.variational import sparse_modules

Model = TypeVar("Model", bound=nn.Module)

# share of its class's samples below which a component is not needed
MIN_SHARE = 0.005


@torch.no_grad()
def prune(
    model: Model,
    batches: Iterable[tuple[Tensor, Tensor]] | None = None,
    *,
    threshold: float | None = None,
    min_share: float = MIN_SHARE,
) -> Model:
    """Remove unnecessary weights and components permanently, in place.

    First, weights whose noise exceeds their size are pruned; then, if data is given, components of
    `SDGM` layers with almost no samples of their class. Every class keeps at least one component.
    The module keeps its size, and further training keeps pruned weights at zero; `compact` makes a
    smaller copy.

    Parameters
    ----------
    model : Module
    batches : iterable of (inputs, labels), optional
        Data such as a `DataLoader`, on which the model is run in evaluation mode.
    threshold : float, optional
        Weights with at least this log alpha are removed; by default each layer's own value, 3.
    min_share : float, default=0.005
        Mean responsibility, over the samples of its class, below which a component is removed.

    Returns
    -------
    model : Module
        The same module.

    Examples
    --------
    >>> head = SDGM(2, 3, n_components=2)
    >>> head.log_sigma2.data[:] = -99.0
    >>> head.log_sigma2.data[:, 0] = 9.0
    >>> prune(head).mask.sum(dim=0)
    tensor([0, 6, 6, 6, 6])
    """
    for _, layer in sparse_modules(model):
        if layer.log_sigma2 is not None:
            layer.mask &= layer.log_alpha < (layer.threshold if threshold is None else threshold)
    shares = {} if batches is None else component_shares(model, batches)
    for layer, share in shares.items():
        share = share.masked_fill(~layer.alive, -1.0)  # what is gone cannot be what a class keeps
        layer.alive &= needed(share, layer.component_class, layer.num_classes, min_share)
    return model


def needed(share: Tensor, component_class: Tensor, num_classes: int, min_share: float) -> Tensor:
    """Components with at least this share, and the largest of each class: boolean, (K,).

    All of a class that has no samples.
    """
    keep = share >= min_share
    for c in range(num_classes):
        own = (component_class == c).nonzero()[:, 0]
        has_samples = bool((share[own] > 0.0).any())
        keep[own[share[own].argmax()] if has_samples else own] = True
    return keep


@torch.no_grad()
def component_shares(
    model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]
) -> dict[SDGM, Tensor]:
    """Mean responsibility of each component over the samples of its class, per `SDGM` layer.

    Parameters
    ----------
    model, batches :
        As in `prune`.

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
    seen: list[tuple[SDGM, Tensor]] = []

    def see(layer: SDGM, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        seen.append((layer, args[0] if args else named["x"]))

    hooks = [layer.register_forward_pre_hook(see, with_kwargs=True) for layer in layers]
    without = set(layers)
    sums = {layer: torch.zeros_like(layer.alive, dtype=torch.float64) for layer in layers}
    was_training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        for inputs, labels in batches:
            seen.clear()
            model(inputs)
            for layer, x in seen:
                sums[layer] += responsibilities(layer, x, labels).sum(dim=0)
                without.discard(layer)
    finally:
        for hook in hooks:
            hook.remove()
        for module in was_training:
            module.training = True
    if without:
        names = [name or "the model" for name, m in model.named_modules() if m in without]
        raise ValueError(
            f"no batch reached the SDGM layer {', '.join(names)}; pass at least one, not an "
            "iterator that was used before, and call the layer, or its log_prob, in forward."
        )
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
    if labels.is_floating_point() or bool(((labels < 0) | (labels >= layer.num_classes)).any()):
        raise ValueError(
            f"labels must be integers from 0 to {layer.num_classes - 1}, got {labels.dtype} from "
            f"{labels.min().item()} to {labels.max().item()}; leave samples without a class out."
        )
    if not bool(scores.isfinite().all()):
        raise ValueError(
            "the scores of a batch are not finite, so that no component can be said to be needed; "
            "look for NaN or huge numbers in its inputs and in the weights, and leave them out."
        )
    own = layer.component_class == labels
    return scores.masked_fill(~own, -torch.inf).softmax(dim=-1)


def _within_class(total: Tensor, layer: SDGM) -> Tensor:
    sums = total.new_zeros(layer.num_classes).index_add(0, layer.component_class, total)
    return total / sums.clamp_min(torch.finfo(total.dtype).tiny)[layer.component_class]
