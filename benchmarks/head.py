"""The layer as a head: time and memory.

Two comparisons, each in one run on one thread, the candidates in turn and the order rotating:

- the head alone (64 features, 100 classes x 2 components, full covariances, batches of 256): the
  features by slices against the authors' way, an outer product of which a mask takes half;
- a whole training step of a small network for images of 28 x 28 pixels with the layer as its head,
  against the same with a linear head.

Times are of the processor, not of the clock: on one thread they are the same on a quiet machine,
and on a busy one the clock would count other programs. Memory is the most that PyTorch has
allocated at once beyond what was there before the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import table
from benchmarks.records import Cell, Record, results, select
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import rotated
from sdgm.nn import SDGM, ELBOLoss, parameter_groups
from sdgm.nn.variational import with_noise

D, N_CLASSES, N_COMPONENTS, BATCH = 64, 100, 2, 256
IMAGES = 128
ALONE, NETWORK = "head alone", "in a network"


class MaskedHead(SDGM):
    """The same layer with the features made as in the authors' demo, and no mask of weights."""

    def __init__(self, *args: int) -> None:
        super().__init__(*args)
        self.upper = torch.ones(self.in_features, self.in_features).triu() == 1

    def component_scores(self, x: Tensor) -> Tensor:
        outer = torch.einsum("ni,nj->nij", x, x)
        phi = torch.cat([x, outer[:, self.upper]], dim=1)
        if not self.training:
            return F.linear(phi, self.kept_weight(), self.bias)
        mean = F.linear(phi, self.weight, self.bias)
        return with_noise(mean, F.linear(phi * phi, self.log_sigma2.exp()))


def network(in_features: int) -> nn.Sequential:
    """Five convolutions, four poolings and a linear layer to few features."""
    layers: list[nn.Module] = []
    before = 1
    for width, size in ((32, 5), (32, 3), (64, 3), (64, 3)):
        layers += [
            nn.Conv2d(before, width, size, padding=size // 2),
            nn.MaxPool2d(2, ceil_mode=True),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        before = width
    layers += [nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(128, in_features))


def training_step(model: nn.Module, x: Tensor, y: Tensor) -> Callable[[], None]:
    """A whole step: forward, loss with divergence, backward, Adam."""
    loss = ELBOLoss(model, n_train=60_000, warmup=1000)
    optimizer = torch.optim.Adam(parameter_groups(model, lr=1e-4))

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def gradient_step(head: nn.Module, x: Tensor, y: Tensor) -> None:
    """Forward, cross-entropy and backward, with the gradient of the features as in a network."""
    head.zero_grad()
    F.cross_entropy(head(x.detach().requires_grad_()), y).backward()


@torch.no_grad()
def prediction(head: nn.Module, x: Tensor, y: Tensor) -> None:
    """Scores of a batch, without gradients."""
    head.eval()(x)


def cpu_seconds(steps: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Processor time of each, round by round, after three that do not count."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(-3, rounds):
        for name in rotated(list(steps), number):
            start = process_time()
            steps[name]()
            if number >= 0:
                seconds[name].append(process_time() - start)
    return seconds


def peak_bytes(step: Callable[[], None]) -> int:
    """The most memory allocated at once during a step."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


def cells(plan: Plan) -> list[Cell]:
    """The head alone and in a network, each in one process."""
    return [{"what": what, "rounds": plan.repeats} for what in (ALONE, NETWORK)]


def measure(what: str, rounds: int) -> Iterator[Record]:
    """One record per step."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    return head_alone(rounds) if what == ALONE else in_a_network(rounds)


def head_alone(rounds: int) -> Iterator[Record]:
    """Training and prediction, with features made in two ways."""
    x, y = torch.randn(BATCH, D), torch.randint(N_CLASSES, (BATCH,))
    for step, go in {"training": gradient_step, "prediction": prediction}.items():
        heads = {
            "by slices": SDGM(D, N_CLASSES, N_COMPONENTS),
            "outer product and mask": MaskedHead(D, N_CLASSES, N_COMPONENTS),
        }
        steps = {name: partial(go, head, x, y) for name, head in heads.items()}
        seconds = cpu_seconds(steps, rounds)
        ours = median(seconds["by slices"])
        for name, each in seconds.items():
            relative = median(each) / ours
            memory = peak_bytes(steps[name])
            yield {"step": step, "features": name, "seconds": median(each), "relative": relative,
                   "peak_bytes": memory}  # fmt: skip


def in_a_network(rounds: int) -> Iterator[Record]:
    """Whole training steps, beside those with a linear head."""
    x = torch.randn(IMAGES, 1, 28, 28).to(memory_format=torch.channels_last)
    y = torch.randint(10, (IMAGES,))
    for width in (2, 10):
        heads = {"linear": nn.Linear(width, 10), "SDGM": SDGM(width, 10, n_components=2)}
        steps = {}
        for name, head in heads.items():
            model = nn.Sequential(network(width), head).to(memory_format=torch.channels_last)
            steps[name] = training_step(model, x, y)
        seconds = cpu_seconds(steps, rounds)
        for name, each in seconds.items():
            # the two follow each other closely, so that the median of ratios is steadier
            ratios = [a / b for a, b in zip(each, seconds["linear"], strict=True)]
            yield {"width": width, "head": name, "seconds": median(each), "ratio": median(ratios)}


def write(output: Path) -> Path:
    """Both comparisons."""
    records = results(output, "head")
    alone, network = (select(records, what=what) for what in (ALONE, NETWORK))
    steps = [
        [r["step"], r["features"], f"{1e3 * r['seconds']:.1f}", f"{r['relative']:.2f}",
         f"{r['peak_bytes'] / 2**20:.1f}"]
        for r in alone
    ]  # fmt: skip
    heads = [
        [r["width"], r["head"], f"{1e3 * r['seconds']:.1f}", f"{r['ratio']:.3f}"] for r in network
    ]
    sizes = {"D": D, "n_classes": N_CLASSES, "n_components": N_COMPONENTS, "batch": BATCH}
    return markdown.write_filled(
        output,
        "head",
        made_by=made_by(records),
        images=IMAGES,
        alone=table(["", "features", "ms", "relative", "peak MiB"], steps),
        network=table(["features", "head", "ms", "ratio"], heads),
        **sizes,
    )


BENCHMARK = Benchmark("head", cells, measure, write, repeats=100, quick_repeats=5)
