"""Training on two processes takes the steps of one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from reproduction.deep.distributed import Ranks, joined_ranks
from reproduction.deep.trainer import TrainingOptions, train
from tests.reproduction.deep.toy import toy_images, toy_model

OPTIONS = TrainingOptions(epochs=2, batch_size=16, lr=0.01)
VARIED = {"flip": True, "shift": 1}


def train_share(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    for head in ("dgmm", "softmax_l1"):
        model = toy_model(head, batch_norm=False)
        rows = train(
            model,
            toy_images(**VARIED),
            OPTIONS,
            test=toy_images(seed=1),
            checkpoint=Path(folder) / f"{head}.pt",
            ranks=Ranks(rank, 2),
        )
        assert ("test_error" in rows[-1]) == (rank == 0)
        torch.save(model.state_dict(), f"{folder}/{head}-{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available(), reason="PyTorch was built without distributed")
def test_two_processes_end_where_one_does(tmp_path: Path) -> None:
    mp.spawn(train_share, args=(str(tmp_path),), nprocs=2)
    for head in ("dgmm", "softmax_l1"):
        alone = toy_model(head, batch_norm=False)
        start = {name: value.clone() for name, value in alone.state_dict().items()}
        train(alone, toy_images(**VARIED), OPTIONS)
        end = alone.state_dict()
        assert any(not torch.equal(start[name], end[name]) for name in end)
        for rank in range(2):
            state = torch.load(tmp_path / f"{head}-{rank}.pt", weights_only=True)
            for name, value in end.items():
                torch.testing.assert_close(state[name], value, rtol=1e-3, atol=1e-5)


def test_shares_are_the_whole() -> None:
    rows = torch.arange(12)
    shares = [rows[Ranks(rank, 3).share] for rank in range(3)]
    assert sorted(torch.cat(shares).tolist()) == rows.tolist()
    assert {len(share) for share in shares} == {4}
    assert torch.equal(rows[Ranks().share], rows)


def test_a_batch_that_cannot_be_shared_evenly_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_size=16 cannot be shared evenly by 3 processes"):
        train(toy_model(), toy_images(), OPTIONS, ranks=Ranks(0, 3))


def test_one_process_alone_joins_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined_ranks() as ranks:
        assert ranks == Ranks(0, 1)
        assert ranks.is_first
        ranks.wait()
        assert not dist.is_initialized()
