"""Figure 5 of the paper: features of MNIST in the plane, before a softmax and before SDGM.

The paper shows a fan for softmax and ellipses for SDGM. Whether features spread depends on whether
they are normalised before the last layer, so both heads are shown both ways, each pair trained
alike: the fan and the ellipses are then judged under the same normalisation. Full training takes
some five minutes per panel on one core.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from reproduction.deep.distributed import best_device
from reproduction.deep.heads import Head, make_head
from reproduction.deep.images import Images, load_images
from reproduction.deep.networks import Classifier, small_cnn
from reproduction.deep.problems import head_settings
from reproduction.deep.table2 import computing
from reproduction.deep.trainer import (
    StepProgress,
    TrainingOptions,
    blocks,
    error,
    mixed_seed,
    probabilities,
    train,
)
from reproduction.figures.files import save_picture
from sdgm._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "features"
EPOCHS, QUICK_EPOCHS = 8, 1
QUICK_TRAIN = 512
# normalised features are small, and the last layer must grow fast to tell them apart
NORMALIZED_HEAD_LR = 25.0
FIGURE_SIZE = (8.4, 8.6)
DPI = 150
SHOWN = 5_000
# ten colours that differ in hue or lightness, dark enough on white
DIGIT_COLORS = (
    *("#4E79A7", "#F28E2B", "#E15759", "#3AA6A0", "#59A14F"),
    *("#C9A400", "#8E5EA2", "#E377A8", "#8C564B", "#555555"),
)
PANELS = ((Head.SOFTMAX, False), (Head.SDGM, False), (Head.SOFTMAX, True), (Head.SDGM, True))
HEAD_NAMES = {Head.SOFTMAX: "Softmax", Head.SDGM: "SDGM"}


@dataclass(frozen=True)
class Panel:
    """Features of the test images under one head.

    Attributes
    ----------
    head : str
    normalized : bool
        Whether they are normalised before the head.
    features : (N, 2) array
    labels : (N,) array
    error : float
        Share of the test images that are misclassified.
    """

    head: str
    normalized: bool
    features: FloatArray
    labels: IntArray
    error: float


def draw_features(
    folder: Path,
    *,
    seed: int = 0,
    quick: bool = False,
    epochs: int | None = None,
    train_size: int | None = None,
    threads: int = 1,
    progress: StepProgress | None = None,
) -> list[Path]:
    """Train the four networks, and draw ``features.png`` and ``features.svg``.

    Parameters
    ----------
    folder : Path
        Where to write, and to keep checkpoints (``features-runs``); finished ones are not trained
        again.
    seed : int, default=0
    quick : bool, default=False
        One epoch on 512 images: to see that it works.
    epochs, train_size : int, optional
        Fewer epochs or training images.
    threads : int, default=1
    progress : callable, optional
        Told about the steps of each training.

    Returns
    -------
    paths : list of Path
    """
    size = QUICK_TRAIN if quick else train_size
    options = TrainingOptions(epochs=epochs or (QUICK_EPOCHS if quick else EPOCHS), seed=seed)
    images, test = load_images("mnist", train_size=size)
    with computing(threads):
        panels = [
            trained_panel(head, normalized, images, test, options, folder, progress)
            for head, normalized in PANELS
        ]
    return save_picture(drawn(panels), folder / NAME, dpi=DPI)


def trained_panel(
    head: Head,
    normalized: bool,
    images: Images,
    test: Images,
    options: TrainingOptions,
    folder: Path,
    progress: StepProgress | None = None,
) -> Panel:
    """Train one network, or take it from its last checkpoint, and compute the features."""
    settings = head_settings("mnist-d2", head)
    changed = {"kl_scale": settings.pop("kl_scale", 1.0)}
    if normalized:
        changed["head_lr"] = NORMALIZED_HEAD_LR
    options = TrainingOptions(**(vars(options) | changed))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(mixed_seed(options.seed, 0))
        net = small_cnn(2, normalize_features=normalized)
        model = Classifier(net, make_head(head, 2, images.n_classes, **settings))
    name = f"{head}-{'normalized' if normalized else 'plain'}-seed{options.seed}"
    name += f"-{len(images.labels)}images-{options.epochs}epochs.pt"
    device = best_device()
    train(
        model,
        images,
        options,
        checkpoint=folder / f"{NAME}-runs" / name,
        device=device,
        progress=progress,
    )
    features, labels = features_of(model, test, device)
    return Panel(
        str(head), normalized, features, labels, error(*probabilities(model, test, device))
    )


@torch.no_grad()
def features_of(
    model: Classifier, test: Images, device: torch.device | None = None
) -> tuple[FloatArray, IntArray]:
    """What the network gives to its last layer for each image."""
    model.eval()
    parts = [model.net(test.batch(rows).to(device)) for rows in blocks(len(test.labels), 500)]
    return torch.cat(parts).double().cpu().numpy(), test.labels.numpy()


def drawn(panels: list[Panel]) -> Figure:
    """Four scatter plots: heads beside each other, normalisation below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=FIGURE_SIZE, layout="constrained")
    axes = figure.subplots(2, 2)
    for ax, panel in zip(axes.ravel(), panels, strict=True):
        scatter(ax, panel)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    legend = figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=10,
        frameon=False,
        markerscale=3.0,
        handletextpad=0.1,
        columnspacing=1.2,
        title="digit",
    )
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1.0)
    return figure


def scatter(ax: Axes, panel: Panel) -> None:
    """One panel, with the digits written at the medians of their features."""
    from matplotlib.patheffects import withStroke

    from sdgm.plotting.style import quiet_frame

    features, labels = panel.features[:SHOWN], panel.labels[:SHOWN]
    order = np.random.default_rng(0).permutation(len(features))
    features, labels = features[order], labels[order]
    for c, color in enumerate(DIGIT_COLORS):
        own = features[labels == c]
        ax.scatter(
            own[:, 0],
            own[:, 1],
            s=5,
            color=color,
            alpha=0.45,
            linewidths=0,
            label=str(c),
            rasterized=True,
        )
    for c, color in enumerate(DIGIT_COLORS):
        own = features[labels == c]
        if len(own):
            text = ax.annotate(
                str(c),
                np.median(own, axis=0),
                color=color,
                ha="center",
                va="center",
                fontsize=13,
                fontweight="bold",
            )
            text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    limits(ax, features)
    quiet_frame(ax)
    how = "normalised features" if panel.normalized else "features as they are"
    ax.set_title(
        f"{HEAD_NAMES[Head(panel.head)]}, {how}\n{100 * panel.error:.2f}% test error", fontsize=11
    )


def limits(ax: Axes, features: FloatArray) -> None:
    """Equal scales, and room for all but a few features."""
    low, high = np.percentile(features, [0.2, 99.8], axis=0)
    middle, side = (low + high) / 2, 1.12 * float(np.max(high - low)) / 2
    ax.set_xlim(middle[0] - side, middle[0] + side)
    ax.set_ylim(middle[1] - side, middle[1] + side)
    ax.set_aspect("equal")
