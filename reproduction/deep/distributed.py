"""Training on several processes, started by ``torchrun``, that take the steps of one.

Every process works on its share of each batch, and the gradients are averaged. Batch normalisation
sees a process's share only, unless it is on GPUs, where it is made to see the whole batch; apart
from this, and from the noise of sparse layers, the result is that of one process up to rounding:
how images are varied is drawn for the whole batch, by every process alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Ranks:
    """Which process this is, of how many.

    Attributes
    ----------
    rank, n_ranks : int

    Examples
    --------
    >>> torch.arange(6)[Ranks(1, 2).share]
    tensor([1, 3, 5])
    """

    rank: int = 0
    n_ranks: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes and tells."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """The part of a batch that this process works on."""
        return slice(self.rank, None, self.n_ranks)

    def wait(self) -> None:
        """Until all processes are here."""
        if self.n_ranks > 1:
            dist.barrier()


@contextmanager
def joined_ranks(backend: str | None = None) -> Iterator[Ranks]:
    """Join the other processes if ``torchrun`` has started several, and leave them in the end.

    Parameters
    ----------
    backend : {"gloo", "nccl"}, optional
        nccl where there are GPUs if not given, else gloo.
    """
    n_ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if n_ranks == 1:
        yield Ranks()
        return
    dist.init_process_group(backend or ("nccl" if torch.cuda.is_available() else "gloo"))
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def best_device() -> torch.device:
    """The GPU of this process if there is one, else the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def data_parallel(model: nn.Module, ranks: Ranks, device: torch.device) -> nn.Module:
    """The model whose gradients are averaged over the processes; as it is if there is one."""
    if ranks.n_ranks == 1:
        return model
    if device.type == "cuda":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)  # type: ignore[no-untyped-call]
        return DistributedDataParallel(model, device_ids=[device.index])
    return DistributedDataParallel(model)
