"""Training of a network, epoch by epoch, that can be killed at any time and goes on exactly.

After every epoch a checkpoint replaces the one before, in one step, so that there is always a whole
one. All that is random in an epoch - the order of the images, how they are varied, the noise of
sparse layers - depends on the seed, the epoch and the process only, so training that was killed and
goes on from a checkpoint ends with the same numbers as if it had not been.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reproduction.deep.distributed import Ranks, data_parallel
from reproduction.deep.heads import head_groups, head_penalty
from reproduction.deep.images import Images
from reproduction.deep.muon import Muon
from reproduction.deep.networks import Classifier
from sdgm.atomic import replacing
from sdgm.metrics import expected_calibration_error
from sdgm.nn import ELBOLoss, parameter_groups, sparsity

TEST_BATCH = 500
# steps between two reports of progress
REPORT_EVERY = 20
# what an epoch's random numbers are for, so that order and noise have different seeds; zeros at the
# end do not change a seed, so a model's start has that of one epoch's order, for other draws
ORDER, NOISE = 0, 1

# told how many steps are taken, of how many
StepProgress = Callable[[int, int], None]
Row = dict[str, float]


@dataclass(frozen=True)
class TrainingOptions:
    """How a network is trained: AdamW, learning rate warmed up and then down to zero by a cosine.

    Filters of convolutions can have `Muon` in place of AdamW.

    Attributes
    ----------
    epochs : int
    batch_size : int
        Of all processes together; images that do not fill a batch wait for another epoch.
    lr : float
    head_lr : float
        Factor of the learning rate for the last layer.
    filter_lr : float or None
        Learning rate of filters under Muon; AdamW trains them as all else if None.
    lr_warmup : float
        Epochs over which the learning rate rises.
    weight_decay : float
        For weights that have no prior.
    kl_scale : float
        Factor of the divergence of sparse layers; see `sdgm.nn.ELBOLoss`.
    kl_warmup : float
        Share of all steps over which the divergence comes in.
    seed : int
    """

    epochs: int
    batch_size: int = 128
    lr: float = 2e-3
    head_lr: float = 1.0
    filter_lr: float | None = None
    lr_warmup: float = 0.5
    weight_decay: float = 0.0
    kl_scale: float = 1.0
    kl_warmup: float = 0.2
    seed: int = 0


def train(
    model: Classifier,
    images: Images,
    options: TrainingOptions,
    *,
    test: Images | None = None,
    checkpoint: Path | None = None,
    log: Path | None = None,
    ranks: Ranks = Ranks(),  # noqa: B008 - frozen
    device: torch.device | None = None,
    progress: StepProgress | None = None,
) -> list[Row]:
    """Train a model in place.

    Parameters
    ----------
    model : Classifier
    images : Images
        To train on.
    options : TrainingOptions
    test : Images, optional
        To measure error and log loss on after every epoch; nothing is chosen by them.
    checkpoint : Path, optional
        File to write after every epoch, and to go on from if it is there.
    log : Path, optional
        CSV file of the epochs.
    ranks : Ranks, optional
        This process among others.
    device : torch.device, optional
        The processor if not given.
    progress : callable, optional
        Told how many steps are taken, of how many.

    Returns
    -------
    rows : list of dict
        One per epoch: ``epoch``, ``loss``, ``nll``, ``kl`` and ``penalty`` as means over the
        steps, ``lr`` at the end, ``seconds`` by the clock and ``cpu_seconds``, and of the test
        images ``test_error``, ``test_nll`` and ``test_ece``, with ``zero_weights``, the share of
        the last layer's weights that evaluation leaves out.
    """
    check_options(options, len(images.labels), ranks)
    device = torch.device("cpu") if device is None else device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        run = Run(model, images, options, ranks, device)
        if checkpoint is not None and checkpoint.is_file():
            run.load(checkpoint)
        ranks.wait()
        while run.epoch < options.epochs:
            run.train_epoch(progress)
            if test is not None and ranks.is_first:
                P, y = probabilities(model, test, device)
                run.rows[-1] |= {
                    "test_error": error(P, y),
                    "test_nll": log_loss(P, y),
                    "test_ece": calibration_error(P, y),
                    "zero_weights": sparsity(model.head).fraction_zero,
                }
            if ranks.is_first:
                if log is not None:
                    write_log(log, run.rows)
                if checkpoint is not None:
                    run.save(checkpoint)
            ranks.wait()
    return run.rows


def check_options(options: TrainingOptions, n_train: int, ranks: Ranks) -> None:
    """Say before the work what cannot be."""
    if options.batch_size % ranks.n_ranks:
        raise ValueError(
            f"batch_size={options.batch_size} cannot be shared evenly by {ranks.n_ranks} "
            "processes; choose a multiple."
        )
    if n_train < options.batch_size:
        raise ValueError(
            f"{n_train} training images do not fill a batch of {options.batch_size}; use more "
            "images or smaller batches."
        )


class Run:
    """The state of training: what a checkpoint holds."""

    def __init__(
        self,
        model: Classifier,
        images: Images,
        options: TrainingOptions,
        ranks: Ranks,
        device: torch.device,
    ) -> None:
        self.model = model.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.images = images
        self.options = options
        self.ranks = ranks
        self.device = device
        self.steps_per_epoch = len(images.labels) // options.batch_size
        self.n_steps = options.epochs * self.steps_per_epoch
        self.parallel = data_parallel(self.model, ranks, device)
        self.loss = ELBOLoss(
            self.model,
            len(images.labels),
            kl_scale=options.kl_scale,
            warmup=round(options.kl_warmup * self.n_steps),
        ).to(device)
        self.optimizers = optimizers(model, options)
        self.rates = [group["lr"] for group in self.groups]
        self.rows: list[Row] = []

    @property
    def epoch(self) -> int:
        """Epochs that are finished."""
        return len(self.rows)

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Of all optimizers."""
        return [group for each in self.optimizers for group in each.param_groups]

    def train_epoch(self, progress: StepProgress | None) -> None:
        """Take the steps of one epoch, and add its row."""
        begin, cpu_begin = perf_counter(), process_time()
        self.model.train()
        options, epoch = self.options, self.epoch
        order_generator = torch.Generator().manual_seed(mixed_seed(options.seed, epoch, ORDER))
        torch.manual_seed(mixed_seed(options.seed, epoch, NOISE, self.ranks.rank))
        order = torch.randperm(len(self.images.labels), generator=order_generator)
        sums = torch.zeros(4, device=self.device)
        for step in range(self.steps_per_epoch):
            rows = order[step * options.batch_size : (step + 1) * options.batch_size]
            done = epoch * self.steps_per_epoch + step
            sums += self.step(rows, order_generator, done)
            if progress is not None and (done + 1) % REPORT_EVERY == 0:
                progress(done + 1, self.n_steps)
        loss, nll, kl, penalty = (sums / self.steps_per_epoch).tolist()
        if not math.isfinite(loss):
            raise ValueError(
                f"the loss became {loss} in epoch {epoch + 1}; try a smaller learning rate than "
                f"{options.lr:g}."
            )
        self.rows.append(
            {
                "epoch": epoch + 1,
                "loss": loss,
                "nll": nll,
                "kl": kl,
                "penalty": penalty,
                "lr": self.groups[0]["lr"],
                "seconds": perf_counter() - begin,
                "cpu_seconds": process_time() - cpu_begin,
            }
        )

    def step(self, rows: Tensor, generator: torch.Generator, done: int) -> Tensor:
        """One step on this process's share of a batch: loss, log loss, divergence and penalty."""
        factor = self.lr_factor(done)
        for group, rate in zip(self.groups, self.rates, strict=True):
            group["lr"] = rate * factor
        share = self.ranks.share
        x = self.images.batch(rows, generator, share).to(self.device, non_blocking=True)
        y = self.images.labels[rows[share]].to(self.device, non_blocking=True)
        self.model.zero_grad()
        scores = self.parallel(x, y)
        penalty = head_penalty(self.model.head, scores, y)
        loss = self.loss(scores, y) + penalty
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return torch.stack([loss.detach(), self.loss.nll, self.loss.kl, penalty.detach()])

    def lr_factor(self, done: int) -> float:
        """Of the learning rate after so many steps: up linearly, then down by a cosine."""
        warmup = max(1, round(self.options.lr_warmup * self.steps_per_epoch))
        return min((done + 1) / warmup, 0.5 * (1.0 + math.cos(math.pi * done / self.n_steps)))

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree on to go on from it."""
        return {**asdict(self.options), "n_train": len(self.images.labels)}

    def save(self, path: Path) -> None:
        """Replace the checkpoint, in one step."""
        state = {
            "identity": self.identity(),
            "rows": self.rows,
            "model": self.model.state_dict(),
            "optimizers": [each.state_dict() for each in self.optimizers],
            "loss": self.loss.state_dict(),
        }
        with replaced(path) as file:
            torch.save(state, file)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        if state["identity"] != self.identity():
            raise ValueError(
                f"{path} is of training with other options ({state['identity']}); remove it to "
                "start anew."
            )
        self.model.load_state_dict(state["model"])
        for optimizer, kept in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)
        self.loss.load_state_dict(state["loss"])
        self.rows = state["rows"]


def optimizers(model: Classifier, options: TrainingOptions) -> list[torch.optim.Optimizer]:
    """AdamW for the parameters of network and last layer, and Muon for filters if asked for."""
    groups = [
        *parameter_groups(model.net, options.lr, options.weight_decay),
        *head_groups(model.head, options.lr * options.head_lr, options.weight_decay),
    ]
    if options.filter_lr is None:
        return [torch.optim.AdamW(groups, fused=True)]
    filters = [each for each in model.net.parameters() if each.requires_grad and is_filter(each)]
    for group in groups:
        group["params"] = [each for each in group["params"] if not is_filter(each)]
    groups = [group for group in groups if group["params"]]
    return [torch.optim.AdamW(groups, fused=True), Muon(filters, options.filter_lr)]


def is_filter(parameter: nn.Parameter) -> bool:
    """Whether it belongs to a convolution over pictures."""
    return parameter.ndim == 4


def mixed_seed(*numbers: int) -> int:
    """One seed from several numbers, far from that of others, but for zeros at the end.

    Examples
    --------
    >>> mixed_seed(0, 1) != mixed_seed(1, 0)
    True
    """
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


@torch.no_grad()
def probabilities(
    model: nn.Module, images: Images, device: torch.device | None = None
) -> tuple[Tensor, Tensor]:
    """Class probabilities in evaluation mode, (N, C) in float64, and labels; on the processor."""
    model.eval()
    parts = [
        model(images.batch(rows).to(device)).double().softmax(dim=-1).cpu()
        for rows in blocks(len(images.labels), TEST_BATCH)
    ]
    return torch.cat(parts), images.labels


def blocks(n: int, size: int) -> list[Tensor]:
    """Indices 0 to n - 1 in blocks."""
    return [torch.arange(start, min(start + size, n)) for start in range(0, n, size)]


def error(P: Tensor, y: Tensor) -> float:
    """Share of the images that are misclassified."""
    return float((P.argmax(dim=-1) != y).double().mean())


def log_loss(P: Tensor, y: Tensor) -> float:
    """Mean negative log probability of the true class."""
    own = P.gather(-1, y[:, None])
    return float(-own.clamp_min(torch.finfo(P.dtype).tiny).log().mean())


def calibration_error(P: Tensor, y: Tensor) -> float:
    """Expected calibration error of the most probable class."""
    return expected_calibration_error(y.numpy(), P.numpy(), labels=np.arange(P.shape[1]))


def write_log(path: Path, rows: list[Row]) -> None:
    """All epochs so far, as CSV; replaced in one step."""
    with replaced(path, text=True) as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@contextmanager
def replaced(path: Path, *, text: bool = False) -> Iterator[Any]:
    """As `sdgm.atomic.replacing`, in a folder that is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, text=text) as file:
        yield file
