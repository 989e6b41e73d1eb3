"""What a backbone makes of the inputs of a loader, computed once."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


@torch.no_grad()
def extract_features(
    backbone: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]
) -> tuple[Tensor, Tensor]:
    """Features and labels of all batches, for `fit_head`.

    The backbone is run once on every batch, in evaluation mode and without gradients; its mode is
    restored afterwards. Only the features are kept in memory.

    Parameters
    ----------
    backbone : Module
        Maps inputs to feature vectors. Outputs with more axes, such as feature maps, are flattened.
    batches : iterable of (inputs, labels)
        For example a `DataLoader`. Inputs are moved to the device of the backbone's weights.

    Returns
    -------
    features : (N, D) tensor
        On the CPU.
    labels : (N,) tensor

    Examples
    --------
    >>> backbone = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    >>> batches = [(torch.randn(16, 8), torch.arange(16) % 3) for _ in range(5)]
    >>> features, labels = extract_features(backbone, batches)
    >>> features.shape, labels.shape
    (torch.Size([80, 4]), torch.Size([80]))
    """
    first = next(backbone.parameters(), None)
    features, labels = [], []
    was_training = [module for module in backbone.modules() if module.training]
    backbone.eval()
    try:
        for inputs, y in batches:
            x = backbone(inputs if first is None else inputs.to(first.device))
            if len(x) != len(y):
                raise ValueError(
                    f"a batch has {len(y)} labels for {len(x)} feature vectors; pass batches of "
                    "(inputs, labels), one label per sample."
                )
            features.append(x.flatten(1).cpu())
            labels.append(y.cpu())
    finally:
        for module in was_training:
            module.training = True
    if not features:
        raise ValueError(
            "the loader yields no batch; pass at least one, not an iterator that was used before."
        )
    return torch.cat(features), torch.cat(labels)
