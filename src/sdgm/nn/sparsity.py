"""Numbers of remaining weights, components and bytes of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sdgm.nn.compact import CompactSDGM
from sdgm.nn.layer import SDGM
from sdgm.nn.variational import SparseModule


@dataclass(frozen=True)
class LayerSparsity:
    """Remaining weights of one layer.

    Attributes
    ----------
    name, kind : str
        The layer's name in the model, and its class.
    n_weights, n_nonzero : int
        Number of weights and biases, and of those that are neither pruned nor zero.
    n_components, n_used_components : int or None
        For `SDGM` layers. The components of a class without weights count as one constant.
    n_bytes : int
        Size of what is stored in a file, including what is used in training only.

    Examples
    --------
    >>> layer = sparsity(nn.Linear(2, 3)).layers[0]
    >>> layer.name, layer.n_weights, layer.n_bytes
    ('Linear', 9, 36)
    """

    name: str
    kind: str
    n_weights: int
    n_nonzero: int
    n_components: int | None
    n_used_components: int | None
    n_bytes: int


@dataclass(frozen=True)
class Sparsity:
    """Remaining weights of a model by layer; printed as a table.

    Examples
    --------
    >>> print(sparsity(nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))))
    layer     weights   non-zero    used       bytes
    0              36         36                 144
    2              10         10                  40
    total          46         46                 184
    """

    layers: tuple[LayerSparsity, ...]

    @property
    def n_weights(self) -> int:
        """Weights and biases of all layers."""
        return sum(layer.n_weights for layer in self.layers)

    @property
    def n_nonzero(self) -> int:
        """Weights and biases that are neither pruned nor zero."""
        return sum(layer.n_nonzero for layer in self.layers)

    @property
    def n_bytes(self) -> int:
        """Bytes of all layers."""
        return sum(layer.n_bytes for layer in self.layers)

    @property
    def fraction_zero(self) -> float:
        """Fraction of the weights that are zero or pruned."""
        return 1.0 - self.n_nonzero / max(self.n_weights, 1)

    @property
    def compression(self) -> float:
        """Number of weights per remaining weight."""
        return self.n_weights / max(self.n_nonzero, 1)

    def __str__(self) -> str:
        rows = [("layer", "weights", "non-zero", "used", "bytes")]
        for layer in self.layers:
            used = f"{layer.n_used_components}/{layer.n_components}" if layer.n_components else ""
            numbers = f"{layer.n_weights:,}", f"{layer.n_nonzero:,}", used, f"{layer.n_bytes:,}"
            rows.append((layer.name, *numbers))
        numbers = f"{self.n_weights:,}", f"{self.n_nonzero:,}", "", f"{self.n_bytes:,}"
        rows.append(("total", *numbers))
        width = max(len(row[0]) for row in rows)
        return "\n".join(f"{a:<{width}}  {b:>10} {c:>10} {d:>7} {e:>11}" for a, b, c, d, e in rows)


@torch.no_grad()
def sparsity(model: nn.Module) -> Sparsity:
    """Count weights, components and bytes of a model.

    Examples
    --------
    Quadratic weights start at zero:

    >>> counts = sparsity(SDGM(2, 3, n_components=2, bias=False, sparse=False))
    >>> counts.n_weights, counts.n_nonzero, counts.fraction_zero
    (30, 12, 0.6)
    """
    return Sparsity(tuple(_layers(model)))


def _layers(model: nn.Module) -> Iterator[LayerSparsity]:
    for name, module in model.named_modules():
        own = list(module.parameters(recurse=False))
        if not own:
            continue
        n_weights, n_nonzero = _counts(module, own)
        n_components, n_used = _components(module)
        kind = type(module).__name__
        stored = module.state_dict()
        n_bytes = sum(stored[key].nbytes for key in stored if "." not in key)
        yield LayerSparsity(name or kind, kind, n_weights, n_nonzero, n_components, n_used, n_bytes)


def _counts(module: nn.Module, own: list[nn.Parameter]) -> tuple[int, int]:
    """Weights, and those that evaluation uses."""
    if not isinstance(module, SparseModule):
        return sum(p.numel() for p in own), sum(int(p.count_nonzero()) for p in own)
    others: list[Tensor] = [p for p in own if p is not module.log_sigma2 and p is not module.weight]
    n_weights = module.weight.numel() + sum(p.numel() for p in others)
    kept = module.kept_weight()
    if isinstance(module, SDGM):
        kept = kept[module.alive]
        others = [p[module.alive] if p is module.bias else p for p in others]
    return n_weights, sum(int(p.count_nonzero()) for p in [kept, *others])


def _components(module: nn.Module) -> tuple[int | None, int | None]:
    if isinstance(module, CompactSDGM):
        K = len(module.component_class)
        return K, K
    if not isinstance(module, SDGM):
        return None, None
    with_weights = module.kept.any(dim=1)
    constant = module.alive & ~with_weights
    n_constant = int(torch.bincount(module.component_class[constant]).count_nonzero())
    return len(with_weights), int((module.alive & with_weights).sum()) + n_constant
