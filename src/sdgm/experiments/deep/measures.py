"""What is measured of a trained model: quality and size as trained, pruned, and made compact."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from sdgm.experiments.cells import Record
from sdgm.experiments.deep.images import Images
from sdgm.experiments.deep.networks import Classifier
from sdgm.experiments.deep.trainer import (
    blocks,
    calibration_error,
    error,
    log_loss,
    probabilities,
)
from sdgm.nn import compact, prune, sparsity

PRUNE_BATCH = 500


def measured(model: Classifier, images: Images, test: Images, device: torch.device) -> Record:
    """Quality and size as trained, pruned, and made compact."""
    as_trained = quality(model, test, device)
    counts = sparsity(model.head)
    record = {
        **as_trained,
        "head_weights": counts.n_weights,
        "head_nonzero": counts.n_nonzero,
        "net_weights": sum(parameter.numel() for parameter in model.net.parameters()),
        "head_bytes": file_size(model.head),
        "model_bytes": file_size(model),
    }
    pruned = copy.deepcopy(model)
    prune(pruned, batches(images, device))
    after = sparsity(pruned.head)
    layer = after.layers[0]
    small = compact(pruned)
    assert isinstance(small, Classifier)
    record |= {
        **{f"pruned_{name}": value for name, value in quality(pruned, test, device).items()},
        "pruned_nonzero": after.n_nonzero,
        "components": layer.n_components,
        "pruned_components": layer.n_used_components,
        **{f"compact_{name}": value for name, value in quality(small, test, device).items()},
        "compact_head_bytes": file_size(small.head),
        "compact_model_bytes": file_size(small),
        "compact_weights": sparsity(small.head).n_weights,
    }
    return record


def quality(model: nn.Module, test: Images, device: torch.device) -> Record:
    """Error, log loss and calibration error."""
    P, y = probabilities(model, test, device)
    return {"error": error(P, y), "nll": log_loss(P, y), "ece": calibration_error(P, y)}


def batches(images: Images, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """All training images as they are, with labels."""
    for rows in blocks(len(images.labels), PRUNE_BATCH):
        yield images.batch(rows).to(device), images.labels[rows].to(device)


def file_size(module: nn.Module) -> int:
    """Bytes of the file of a module's state."""
    buffer = io.BytesIO()
    torch.save(module.state_dict(), buffer)
    return len(buffer.getvalue())
