"""The loss that sparse layers are trained with."""

from __future__ import annotations

import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from sdgm.nn.variational import sparse_modules

# times that every sample is seen until the divergence has all its weight: at full weight from the
# start it removes what has not had time to become useful
WARMUP_EPOCHS = 5


class ELBOLoss(nn.Module):
    """Negative evidence lower bound per sample: cross-entropy plus KL divergence over N.

    The KL divergence of the weights counts once for the whole training set, so its factor relative
    to the mean cross-entropy of a batch is one over the number of training samples, for any batch
    size and on each process of data-parallel training. Without sparse layers, the loss is the
    cross-entropy.

    Parameters
    ----------
    model : Module
        Its sparse layers are found in every call; it may be wrapped for data-parallel training.
    n_train : int
        N, the number of training samples, not of batches.
    kl_scale : float, default=1.0
        Factor of the KL divergence; larger values prune more weights.
    warmup : int, optional
        Number of steps over which the KL divergence is phased in linearly; by default five epochs
        of ``n_train`` samples. A step is a call with gradients while the loss is in training mode.

    Attributes
    ----------
    nll, kl, kl_weight : tensors
        Cross-entropy, KL divergence and its factor in the last call, detached.
    step, seen : buffers
        Steps and samples so far on all processes; part of the state_dict, to resume training.

    Examples
    --------
    >>> from sdgm.nn import SDGM
    >>> head = SDGM(2, 10, n_components=2)
    >>> loss = ELBOLoss(head, n_train=60_000)
    >>> value = loss(head(torch.zeros(32, 2)), torch.zeros(32, dtype=torch.long))
    >>> torch.isclose(value, loss.nll + loss.kl_weight * loss.kl)
    tensor(True)
    """

    step: Tensor
    seen: Tensor

    def __init__(
        self, model: nn.Module, n_train: int, kl_scale: float = 1.0, warmup: int | None = None
    ) -> None:
        super().__init__()
        if not (1 <= n_train < math.inf and n_train == int(n_train)):
            raise ValueError(
                f"n_train must be the number of training samples, got {n_train!r}; "
                "pass len(dataset)."
            )
        if not (0.0 <= kl_scale < math.inf and 0 <= (warmup or 0) < math.inf):
            raise ValueError(
                f"kl_scale and warmup must be numbers and must not be negative, got {kl_scale!r} "
                f"and {warmup!r}."
            )
        # in a list, so that the model's parameters do not become parameters of the loss
        self._models = [model]
        self.n_train, self.kl_scale, self.warmup = n_train, kl_scale, warmup
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.nll = self.kl = self.kl_weight = torch.zeros(())

    def forward(self, scores: Tensor, y: Tensor) -> Tensor:
        """The loss of a batch, from the model's scores (..., C) and labels.

        Labels are an integer tensor (...) or a tensor (..., C) of class probabilities.
        """
        nll = cross_entropy(scores, y)
        # layers that share their weights, not themselves, count once
        sparse = {
            (id(layer.weight), id(layer.log_sigma2)): layer
            for _, layer in sparse_modules(self._models[0])
        }
        kl = sum((layer.kl() for layer in sparse.values()), start=nll.new_zeros(()))
        if self.training and torch.is_grad_enabled():
            self.step += 1
            n_processes = dist.get_world_size() if _is_distributed() else 1
            self.seen += n_processes * scores.shape[:-1].numel()
        kl_weight = (self.kl_scale / self.n_train * self._share()).to(nll)
        self.nll, self.kl, self.kl_weight = nll.detach(), kl.detach(), kl_weight
        return nll + kl_weight * kl

    def _share(self) -> Tensor:
        """How much of the divergence has come in."""
        if self.warmup is None:
            return (self.seen / (WARMUP_EPOCHS * self.n_train)).clamp(max=1.0)
        return (self.step / self.warmup).clamp(max=1.0) if self.warmup else torch.ones(())

    def extra_repr(self) -> str:
        text = f"n_train={self.n_train}, kl_scale={self.kl_scale:g}"
        return text if self.warmup is None else f"{text}, warmup={self.warmup}"


def _is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()


def cross_entropy(scores: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy with the classes on the last axis, whatever axes come before."""
    n_classes = scores.shape[-1]
    rows = scores.reshape(-1, n_classes)
    labels = y.reshape(-1, n_classes) if y.is_floating_point() else y.reshape(-1)
    return F.cross_entropy(rows, labels)
