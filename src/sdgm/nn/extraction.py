"""What a backbone makes of the inputs of a loader, computed once, in memory or in a file."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor, nn

from sdgm.atomic import checked_path, replacing

Batches = Iterable[tuple[Tensor, Tensor]]


@overload
def extract_features(
    backbone: nn.Module, batches: Batches, path: None = None
) -> tuple[Tensor, Tensor]: ...


@overload
def extract_features(
    backbone: nn.Module, batches: Batches, path: str | os.PathLike[str]
) -> tuple[np.memmap[Any, Any], Tensor]: ...


def extract_features(
    backbone: nn.Module, batches: Batches, path: str | os.PathLike[str] | None = None
) -> tuple[Tensor | np.memmap[Any, Any], Tensor]:
    """Features and labels of all batches, for `fit_head`.

    The backbone is run once on every batch, in evaluation mode and without gradients; its mode is
    restored afterwards.

    Parameters
    ----------
    backbone : Module
        Maps inputs to feature vectors. Outputs with more axes, such as feature maps, are flattened.
    batches : iterable of (inputs, labels)
        For example a `DataLoader`. Inputs are moved to the device of the backbone's weights.
    path : path, optional
        File for the features, in numpy's ``.npy`` format, when they are too many for the memory; an
        existing file is replaced.

    Returns
    -------
    features : (N, D) tensor, or memory-mapped array if a path is given
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
    with closing(pairs_of(backbone, batches)) as pairs:
        if path is None:
            features, labels = zip(*pairs, strict=True)
            return torch.cat(features), torch.cat(labels)
        y = written(pairs, checked_path(path))
        return np.load(path, mmap_mode="r"), y


@torch.no_grad()
def pairs_of(backbone: nn.Module, batches: Batches) -> Generator[tuple[Tensor, Tensor], None, None]:
    """Features and labels, batch by batch; at least one batch."""
    first = next(backbone.parameters(), None)
    was_training = [module for module in backbone.modules() if module.training]
    backbone.eval()
    n_batches = 0
    try:
        for inputs, y in batches:
            x = backbone(inputs if first is None else inputs.to(first.device))
            if len(x) != len(y):
                raise ValueError(
                    f"a batch has {len(y)} labels for {len(x)} feature vectors; pass batches of "
                    "(inputs, labels), one label per sample."
                )
            n_batches += 1
            yield x.flatten(1).cpu(), y.cpu()
    finally:
        for module in was_training:
            module.training = True
    if not n_batches:
        raise ValueError(
            "the loader yields no batch; pass at least one, not an iterator that was used before."
        )


def written(pairs: Iterable[tuple[Tensor, Tensor]], path: str | os.PathLike[str]) -> Tensor:
    """Features written to a file; the labels."""
    labels: list[Tensor] = []
    n_rows, width = 0, 0
    with replacing(path) as file:
        for features, y in pairs:
            x = as_array(features)
            if not labels:
                width = x.shape[1]
                write_header(file, 0, x)
            if x.shape[1] != width:
                raise ValueError(
                    f"a batch has feature vectors of length {x.shape[1]} after ones of length "
                    f"{width}; bring all inputs to one size."
                )
            file.write(np.ascontiguousarray(x).data)
            labels.append(y)
            n_rows += len(x)
        file.seek(0)
        write_header(file, n_rows, x)  # as long as before: numpy leaves room for the number of rows
    return torch.cat(labels)


def write_header(file: Any, n_rows: int, like: np.ndarray[Any, Any]) -> None:
    """The header of a ``.npy`` file of rows."""
    descr, shape = np.lib.format.dtype_to_descr(like.dtype), (n_rows, *like.shape[1:])
    np.lib.format.write_array_header_1_0(
        file, {"descr": descr, "fortran_order": False, "shape": shape}
    )


def as_array(values: Any) -> np.ndarray[Any, Any]:
    """A tensor or array-like as an array; one that is mapped to a file stays so."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        if values.dtype == torch.bfloat16:  # numpy has none
            values = values.float()
    return values if isinstance(values, np.memmap) else np.asarray(values)
