"""What is measured of a trained model: quality and size as trained, pruned, and made compact."""

from __future__ import annotations

import copy
import io

import torch
from torch import Tensor, nn

from reproduction.cells import Record
from reproduction.deep.baseline_heads import L1Softmax
from reproduction.deep.heads import head_scores
from reproduction.deep.images import Images
from reproduction.deep.networks import Classifier
from reproduction.deep.trainer import (
    TEST_BATCH,
    blocks,
    calibration_error,
    error,
    log_loss,
)
from sdgm.nn import SDGM, compact, prune, sparsity


def measured(model: Classifier, images: Images, test: Images, device: torch.device) -> Record:
    """Quality and size as trained, with the head pruned, and with it made compact."""
    model.eval()
    features = features_of(model.net, test, device)
    counts = sparsity(model.head)
    record: Record = {
        **quality(model.head, features),
        "head_weights": counts.n_weights,
        "head_nonzero": counts.n_nonzero,
        "net_weights": sum(parameter.numel() for parameter in model.net.parameters()),
        "head_bytes": file_size(model.head),
        "model_bytes": file_size(model),
    }
    means = copy.deepcopy(model.head)
    if isinstance(means, SDGM) and means.log_sigma2 is not None:
        means.averages_noise = False
        record |= {f"means_{k}": value for k, value in quality(means, features).items()}
    pruned = copy.deepcopy(model.head)
    prune(pruned, features_of(model.net, images, device) if has_components(pruned) else None)
    if isinstance(pruned, L1Softmax):
        pruned.prune()
    after = sparsity(pruned)
    layer = after.layers[0]
    small = compact(pruned)
    record |= {
        **{f"pruned_{name}": value for name, value in quality(pruned, features).items()},
        "pruned_nonzero": after.n_nonzero,
        "components": layer.n_components,
        "pruned_components": layer.n_used_components,
        **{f"compact_{name}": value for name, value in quality(small, features).items()},
        "compact_head_bytes": file_size(small),
        "compact_model_bytes": file_size(Classifier(model.net, small)),
        "compact_weights": sparsity(small).n_weights,
    }
    return record


# features and labels of images, in blocks
Features = list[tuple[Tensor, Tensor]]


@torch.no_grad()
def features_of(net: nn.Module, images: Images, device: torch.device) -> Features:
    """What the network makes of images; it is run once, and its heads often."""
    return [
        (net(images.batch(rows).to(device)), images.labels[rows].to(device))
        for rows in blocks(len(images.labels), TEST_BATCH)
    ]


def has_components(head: nn.Module) -> bool:
    """Whether a head has components that may turn out to be needless."""
    return any(isinstance(module, SDGM) for module in head.modules())


@torch.no_grad()
def quality(head: nn.Module, features: Features) -> Record:
    """Error, log loss and calibration error."""
    head.eval()
    P = torch.cat([head_scores(head, x).double().softmax(dim=-1).cpu() for x, _ in features])
    y = torch.cat([labels.cpu() for _, labels in features])
    return {"error": error(P, y), "nll": log_loss(P, y), "ece": calibration_error(P, y)}


def file_size(module: nn.Module) -> int:
    """Bytes of the file of a module's state."""
    buffer = io.BytesIO()
    torch.save(module.state_dict(), buffer)
    return len(buffer.getvalue())
