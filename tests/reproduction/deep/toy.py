"""A network and images small enough to train in a blink."""

from __future__ import annotations

import torch
from torch import nn

from reproduction.deep.heads import make_head
from reproduction.deep.images import StoredImages
from reproduction.deep.networks import Classifier


def toy_images(n: int = 96, seed: int = 0, **how: object) -> StoredImages:
    """Bright left or bright right halves, with noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 2, (n,), generator=generator)
    pixels = torch.randint(0, 120, (n, 1, 6, 6), generator=generator)
    pixels[labels == 0, :, :, :3] += 100
    pixels[labels == 1, :, :, 3:] += 100
    mean, std = torch.tensor([100.0]), torch.tensor([60.0])
    return StoredImages(pixels.to(torch.uint8), labels, 2, mean, std, **how)


def toy_model(head: str = "sdgm", *, batch_norm: bool = True, seed: int = 0) -> Classifier:
    """A convolution, normalisation, and a head on two features."""
    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4) if batch_norm else nn.Identity(),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 2),
    )
    return Classifier(net, make_head(head, 2, 2))
