"""The layer as a head: ``python -m benchmarks.head [--rounds N] [--quick]``.

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

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from benchmarks.child import ROOT
from benchmarks.machine import cpu_model
from benchmarks.timing import rotated
from sdgm.nn import SDGM, ELBOLoss, parameter_groups
from sdgm.nn.variational import with_noise

D, N_CLASSES, N_COMPONENTS, BATCH = 64, 100, 2, 256
IMAGES = 128
PAGE = ROOT / "docs" / "results" / "head.md"


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


def gradient_step(head: nn.Module, x: Tensor, y: Tensor) -> Callable[[], None]:
    """Forward, cross-entropy and backward, with the gradient of the features as in a network."""

    def step() -> None:
        head.zero_grad()
        F.cross_entropy(head(x.detach().requires_grad_()), y).backward()

    return step


def prediction(head: nn.Module, x: Tensor) -> Callable[[], None]:
    """Scores of a batch, without gradients."""
    head.eval()

    def step() -> None:
        with torch.no_grad():
            head(x)

    return step


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


def head_alone(rounds: int) -> list[str]:
    """Rows of the table of the head alone."""
    x, y = torch.randn(BATCH, D), torch.randint(N_CLASSES, (BATCH,))
    lines = []
    for what, make in (("training", gradient_step), ("prediction", None)):
        heads = {
            "by slices": SDGM(D, N_CLASSES, N_COMPONENTS),
            "outer product and mask": MaskedHead(D, N_CLASSES, N_COMPONENTS),
        }
        steps = {
            name: make(head, x, y) if make else prediction(head, x) for name, head in heads.items()
        }
        seconds = cpu_seconds(steps, rounds)
        memory = {name: peak_bytes(step) for name, step in steps.items()}
        ours = median(seconds["by slices"])
        for name in steps:
            time = median(seconds[name])
            lines.append(
                f"| {what} | {name} | {1e3 * time:.1f} | {time / ours:.2f} | "
                f"{memory[name] / 2**20:.1f} |"
            )
    return lines


def in_a_network(rounds: int) -> list[str]:
    """Rows of the table of whole training steps."""
    x = torch.randn(IMAGES, 1, 28, 28).to(memory_format=torch.channels_last)
    y = torch.randint(10, (IMAGES,))
    lines = []
    for width in (2, 10):
        heads = {"linear": nn.Linear(width, 10), "SDGM": SDGM(width, 10, n_components=2)}
        steps = {}
        for name, head in heads.items():
            model = nn.Sequential(network(width), head).to(memory_format=torch.channels_last)
            steps[name] = training_step(model, x, y)
        seconds = cpu_seconds(steps, rounds)
        linear = median(seconds["linear"])
        # the two follow each other closely, so that the median of ratios is steadier
        ratios = [a / b for a, b in zip(seconds["SDGM"], seconds["linear"], strict=True)]
        for name in steps:
            time = median(seconds[name])
            ratio = median(ratios) if name == "SDGM" else 1.0
            lines.append(f"| {width} | {name} | {1e3 * time:.1f} | {ratio:.3f} |")
        print(f"network, {width} features: {linear:.4f} s", flush=True)
    return lines


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.head", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="of timing (default: 100)")
    parser.add_argument("--quick", action="store_true", help="few rounds, no page")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    rounds = 5 if options.quick else options.rounds
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    page = "\n".join(
        [
            "# The layer as a head: time and memory",
            "",
            f"`python -m benchmarks.head --rounds {rounds}`, PyTorch {torch.__version__}, one "
            f"thread of {cpu_model()}. Medians of processor time; candidates in turn in one run.",
            "",
            f"The head alone: {D} features, {N_CLASSES} classes x {N_COMPONENTS} components, full "
            f"covariances, batches of {BATCH}. Training is forward, cross-entropy and backward, "
            "with noise. The other way is that of the authors' demo.",
            "",
            "| | features | ms | relative | peak MiB |",
            "|---|---|---|---|---|",
            *head_alone(rounds),
            "",
            f"A whole training step (forward, loss, backward, Adam) of a network of five "
            f"convolutions, {IMAGES} images of 28 x 28 pixels, 10 classes, SDGM with 2 components "
            "each. The ratio is the median over the rounds.",
            "",
            "| features | head | ms | ratio |",
            "|---|---|---|---|",
            *in_a_network(rounds),
            "",
        ]
    )
    print(page)
    if not options.quick:
        options.output.write_text(page)


if __name__ == "__main__":
    main()
