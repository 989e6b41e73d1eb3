"""Data-parallel training takes the steps of one process."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from sdgm.nn import SDGM, ELBOLoss, SparseLinear
from tests.nn.problems import blobs

N_STEPS = 5


def network() -> nn.Module:
    """Masks and unequal components, so that buffers of all kinds are handed round."""
    torch.manual_seed(0)
    model = nn.Sequential(SparseLinear(2, 3), nn.ReLU(), SDGM(3, 2, [1, 3])).double()
    model[2].mask[0, 0] = False
    for layer in (model[0], model[2]):  # next to no noise: it differs from process to process
        nn.init.constant_(layer.log_sigma2, -60.0)
    return model


def trained(model: nn.Module, x: torch.Tensor, y: torch.Tensor, n_train: int) -> None:
    """A few steps down the gradient."""
    loss = ELBOLoss(model, n_train, kl_scale=5.0)
    for _ in range(N_STEPS):
        model.zero_grad()
        loss(model(x), y).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.05 * parameter.grad


def train_a_half(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    x, y = blobs(40, dtype=torch.float64)
    half = slice(20 * rank, 20 * rank + 20)
    model = DistributedDataParallel(network())
    trained(model, x[half], y[half], len(x))
    torch.save(model.module.state_dict(), f"{folder}/state-{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow  # two processes that import PyTorch
@pytest.mark.skipif(not dist.is_available(), reason="PyTorch was built without distributed")
def test_two_processes_end_where_one_does(tmp_path: Path) -> None:
    x, y = blobs(40, dtype=torch.float64)
    alone = network()
    start = [parameter.clone() for parameter in alone.parameters()]
    trained(alone, x, y, len(x))
    mp.spawn(train_a_half, args=(str(tmp_path),), nprocs=2)
    for rank in range(2):
        state = torch.load(tmp_path / f"state-{rank}.pt")
        for name, value in alone.state_dict().items():
            torch.testing.assert_close(state[name], value, rtol=1e-6, atol=1e-7)
    assert any(not torch.equal(a, b) for a, b in zip(start, alone.parameters(), strict=True))
