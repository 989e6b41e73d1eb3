"""Claims about training: it learns, and a kill does not change what comes out."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from reproduction.deep.trainer import (
    TrainingOptions,
    calibration_error,
    error,
    log_loss,
    mixed_seed,
    optimizers,
    probabilities,
    replaced,
    train,
)
from tests.reproduction.deep.toy import toy_images, toy_model

OPTIONS = TrainingOptions(epochs=4, batch_size=16, lr=0.02)
WITH_MUON = replace(OPTIONS, filter_lr=0.1)
TIMES = ("seconds", "cpu_seconds")


def untimed(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{name: row[name] for name in row if name not in TIMES} for row in rows]


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class Killed(Exception):
    """Stands for the end of the process."""


def dies_after(n_steps: int) -> Any:
    def tell(done: int, total: int) -> None:
        if done >= n_steps:
            raise Killed

    return tell


@pytest.fixture(autouse=True)
def _tell_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.deep.trainer.REPORT_EVERY", 1)


@pytest.mark.parametrize("head", ["softmax", "sdgm", "lgm", "large_margin"])
def test_training_learns(head: str) -> None:
    model = toy_model(head)
    rows = train(model, toy_images(), OPTIONS, test=toy_images(seed=1))
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert rows[-1]["test_error"] < 0.1
    assert rows[-1]["nll"] < rows[0]["nll"]


def test_muon_trains_the_filters_and_adamw_all_else() -> None:
    model = toy_model()
    adamw, muon = optimizers(model, WITH_MUON)
    filters = [parameter for group in muon.param_groups for parameter in group["params"]]
    assert [id(each) for each in filters] == [id(model.net[0].weight)]
    others = [parameter for group in adamw.param_groups for parameter in group["params"]]
    assert {id(each) for each in [*filters, *others]} == {id(each) for each in model.parameters()}
    assert len(filters) + len(others) == len(list(model.parameters()))
    rows = train(model, toy_images(), WITH_MUON, test=toy_images(seed=1))
    assert rows[-1]["test_error"] < 0.1


def test_the_learning_rate_ends_near_zero_and_never_exceeds_its_value() -> None:
    rows = train(toy_model(), toy_images(), OPTIONS)
    rates = [row["lr"] for row in rows]
    assert max(rates) <= OPTIONS.lr
    assert rates[-1] < 0.02 * OPTIONS.lr


@pytest.mark.parametrize(
    ("head", "options"), [("sdgm", OPTIONS), ("large_margin", OPTIONS), ("sdgm", WITH_MUON)]
)
@pytest.mark.parametrize("n_steps", [1, 6, 7, 17, 23])
def test_a_kill_at_any_step_changes_nothing(
    head: str, options: TrainingOptions, n_steps: int, tmp_path: Path
) -> None:
    images, test = toy_images(shift=1, flip=True), toy_images(seed=1)  # all that is random
    whole, halves = toy_model(head), toy_model(head)
    expected = train(whole, images, options, test=test)
    checkpoint = tmp_path / "run.pt"
    with pytest.raises(Killed):
        train(
            halves, images, options, test=test, checkpoint=checkpoint, progress=dies_after(n_steps)
        )
    again = toy_model(head, seed=5)  # another start, which the checkpoint must replace
    if n_steps <= 6:  # before the first checkpoint: nothing to go on from
        assert not checkpoint.exists()
        again = toy_model(head)
    torch.manual_seed(99)  # what the process draws from is of no matter
    rows = train(again, images, options, test=test, checkpoint=checkpoint)
    assert untimed(rows) == untimed(expected)
    assert same(again.state_dict(), whole.state_dict())


def test_finished_training_is_not_done_again(tmp_path: Path) -> None:
    model = toy_model()
    rows = train(model, toy_images(), OPTIONS, checkpoint=tmp_path / "run.pt")
    again = toy_model(seed=1)
    told: list[int] = []
    assert rows == train(
        again,
        toy_images(),
        OPTIONS,
        checkpoint=tmp_path / "run.pt",
        progress=lambda done, total: told.append(done),
    )
    assert told == []
    assert same(again.state_dict(), model.state_dict())


SCRIPT = """
    import sys, torch
    from pathlib import Path
    sys.path.insert(0, {root!r})
    from reproduction.deep import trainer
    from tests.reproduction.deep.toy import toy_images, toy_model
    torch.set_num_threads(1)
    trainer.REPORT_EVERY = 1
    def slow(done, total):
        print(done, flush=True)
        if len(sys.argv) > 2:
            import time; time.sleep(0.05)
    options = trainer.TrainingOptions(epochs=4, batch_size=16, lr=0.02)
    folder = Path(sys.argv[1])
    model = toy_model()
    trainer.train(model, toy_images(shift=1), options, checkpoint=folder / "run.pt", progress=slow)
    torch.save(model.state_dict(), folder / "end.pt")
"""


def test_a_process_that_was_killed_goes_on_to_the_same_end(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    script = tmp_path / "training.py"
    script.write_text(textwrap.dedent(SCRIPT.format(root=root)))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, script, tmp_path, "slow"], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    while int(process.stdout.readline()) < 15:  # six steps an epoch: in the third
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not (tmp_path / "end.pt").exists()
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, check=True, env=environment
    )
    assert int(done.stdout.split()[0]) > 6  # it did not start anew
    whole = toy_model()
    train(whole, toy_images(shift=1), OPTIONS)
    assert same(torch.load(tmp_path / "end.pt", weights_only=True), whole.state_dict())


def test_a_checkpoint_of_other_options_is_refused(tmp_path: Path) -> None:
    train(toy_model(), toy_images(), OPTIONS, checkpoint=tmp_path / "run.pt")
    other = TrainingOptions(epochs=4, batch_size=16, lr=0.01)
    with pytest.raises(ValueError, match=r"training with other options.*remove it"):
        train(toy_model(), toy_images(), other, checkpoint=tmp_path / "run.pt")


def test_training_leaves_the_global_random_numbers_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    model = toy_model()
    torch.manual_seed(3)
    train(model, toy_images(), OPTIONS)
    assert torch.equal(torch.rand(2), expected)


def test_seeds_differ_and_repeat() -> None:
    ends = []
    for seed in (0, 0, 1):
        model = toy_model()
        train(model, toy_images(), TrainingOptions(epochs=1, batch_size=16, seed=seed))
        ends.append(model.state_dict())
    assert same(ends[0], ends[1])
    assert not same(ends[0], ends[2])


def test_the_log_has_a_line_per_epoch(tmp_path: Path) -> None:
    rows = train(
        toy_model(), toy_images(), OPTIONS, test=toy_images(seed=1), log=tmp_path / "a.csv"
    )
    with (tmp_path / "a.csv").open() as file:
        read = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert read == rows


def test_a_loss_that_is_not_finite_ends_training() -> None:
    with pytest.raises(ValueError, match=r"became (nan|inf) in epoch 1; try a smaller"):
        train(toy_model("dgmm"), toy_images(), TrainingOptions(epochs=1, batch_size=16, lr=1e30))


@pytest.mark.parametrize(
    ("n", "batch_size", "message"), [(10, 16, "10 training images do not fill a batch of 16")]
)
def test_sizes_that_cannot_be_are_refused(n: int, batch_size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(toy_model(), toy_images(n), TrainingOptions(epochs=1, batch_size=batch_size))


def test_a_file_that_is_not_finished_does_not_take_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"whole")
    with pytest.raises(Killed), replaced(path) as file:  # noqa: PT012
        file.write(b"ha")
        raise Killed
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_measures_are_the_usual_ones() -> None:
    P = torch.tensor([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]], dtype=torch.float64)
    y = torch.tensor([0, 1, 1])
    assert error(P, y) == pytest.approx(1 / 3)
    assert log_loss(P, y) == pytest.approx(-np.log([0.8, 0.6, 0.3]).mean())
    assert calibration_error(P, y) == pytest.approx((0.2 + 0.4 + 0.7) / 3)


def test_a_class_of_probability_zero_costs_much_but_not_infinity() -> None:
    assert 700 < log_loss(torch.tensor([[1.0, 0.0]], dtype=torch.float64), torch.tensor([1])) < 710


def test_probabilities_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, images = toy_model(), toy_images(23)
    P, _ = probabilities(model, images)
    monkeypatch.setattr("reproduction.deep.trainer.TEST_BATCH", 5)
    torch.testing.assert_close(probabilities(model, images)[0], P)
    torch.testing.assert_close(P.sum(dim=1), torch.ones(23, dtype=torch.float64))


def test_mixed_seeds_are_all_different_and_fit_into_63_bits() -> None:
    seeds = {mixed_seed(a, b, c) for a in range(5) for b in range(5) for c in range(2)}
    assert len(seeds) == 50
    assert all(0 <= seed < 2**63 for seed in seeds)
