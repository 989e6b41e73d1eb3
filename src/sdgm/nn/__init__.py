"""SDGM as the last layer of a neural network, and sparse layers for the rest (extra ``torch``)."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'sdgm.nn needs PyTorch: pip install "sdgm[torch]"', name=error.name
    ) from error

from sdgm.nn.bridge import from_classifier, to_classifier
from sdgm.nn.compact import compact
from sdgm.nn.extraction import extract_features
from sdgm.nn.fitted_head import Compression, fit_head
from sdgm.nn.groups import parameter_groups
from sdgm.nn.laplace import LaplacePosterior, laplace
from sdgm.nn.layer import SDGM
from sdgm.nn.loss import ELBOLoss
from sdgm.nn.pruning import component_shares, prune
from sdgm.nn.sparse import SparseConv2d, SparseLinear
from sdgm.nn.sparsity import LayerSparsity, Sparsity, sparsity

__all__ = [
    "SDGM",
    "Compression",
    "ELBOLoss",
    "LaplacePosterior",
    "LayerSparsity",
    "SparseConv2d",
    "SparseLinear",
    "Sparsity",
    "compact",
    "component_shares",
    "extract_features",
    "fit_head",
    "from_classifier",
    "laplace",
    "parameter_groups",
    "prune",
    "sparsity",
    "to_classifier",
]
