"""The last layers of Table 2 by name, and how any of them is called, penalised and trained."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from torch import Tensor, nn

from reproduction.deep.baseline_heads import LGM, L1Softmax, LargeMarginSoftmax
from sdgm.nn import SDGM, parameter_groups

# scores of L-GM are distances to its means, which have several units to go
MEANS_LR_FACTOR = 10.0


class Head(StrEnum):
    """The heads by name, in the order of the paper's Table 2; L-GM is ours to add.

    Examples
    --------
    >>> print(*Head)
    softmax softmax_l1 large_margin dgmm sdgm lgm
    """

    SOFTMAX = "softmax"
    SOFTMAX_L1 = "softmax_l1"
    LARGE_MARGIN = "large_margin"
    DGMM = "dgmm"
    SDGM = "sdgm"
    LGM = "lgm"

    @classmethod
    def _missing_(cls, value: object) -> Head:
        known = ", ".join(repr(str(member)) for member in cls)
        raise ValueError(f"head must be one of {known}, got {value!r}.")


def make_head(name: str, in_features: int, n_classes: int, **settings: Any) -> nn.Module:
    """A head by its name.

    Parameters
    ----------
    name : {"softmax", "softmax_l1", "large_margin", "dgmm", "sdgm", "lgm"}
        ``dgmm`` is the discriminative Gaussian mixture: `SDGM` without sparsity.
    in_features, n_classes : int
    **settings :
        Further arguments of the head, such as ``n_components`` or ``margin``.

    Examples
    --------
    >>> make_head("dgmm", 2, 10, n_components=2)
    SDGM(in_features=2, num_classes=10, n_components=2, covariance_type=full, sparse=False)
    """
    match Head(name):
        case Head.SOFTMAX:
            return nn.Linear(in_features, n_classes, **settings)
        case Head.SOFTMAX_L1:
            return L1Softmax(in_features, n_classes, **settings)
        case Head.LARGE_MARGIN:
            return LargeMarginSoftmax(in_features, n_classes, **settings)
        case Head.DGMM:
            return SDGM(in_features, n_classes, sparse=False, **settings)
        case Head.SDGM:
            return SDGM(in_features, n_classes, **settings)
        case Head.LGM:
            return LGM(in_features, n_classes, **settings)


def head_scores(head: nn.Module, x: Tensor, y: Tensor | None = None) -> Tensor:
    """Class scores of any head; labels go to those that have a margin in training.

    Parameters
    ----------
    head : Module
    x : (..., D) tensor
    y : (...) integer tensor, optional

    Examples
    --------
    >>> import torch
    >>> head_scores(make_head("lgm", 2, 10), torch.zeros(3, 2), torch.tensor([0, 1, 2])).shape
    torch.Size([3, 10])
    """
    if y is not None and head.training and isinstance(head, LargeMarginSoftmax | LGM):
        return head(x, y)
    return head(x)


def head_penalty(head: nn.Module, scores: Tensor, y: Tensor) -> Tensor:
    """What a head adds to the loss of its scores, a scalar: nothing, for most."""
    if isinstance(head, L1Softmax | LGM):
        return head.penalty(scores, y)
    return scores.new_zeros(())


def head_groups(head: nn.Module, lr: float, weight_decay: float = 0.0) -> list[dict[str, Any]]:
    """Parameters as in `sdgm.nn.parameter_groups`, the means of L-GM in a group of their own.

    Examples
    --------
    >>> [(group["name"], group["lr"]) for group in head_groups(make_head("lgm", 2, 10), lr=2e-3)]
    [('means', 0.02)]
    """
    groups = parameter_groups(head, lr, weight_decay)
    if not isinstance(head, LGM):
        return groups
    for group in groups:
        group["params"] = [each for each in group["params"] if each is not head.mean]
    means = {
        "name": "means",
        "params": [head.mean],
        "lr": MEANS_LR_FACTOR * lr,
        "weight_decay": 0.0,
    }
    return [*(group for group in groups if group["params"]), means]
