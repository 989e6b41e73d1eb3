"""Snapshots and a film of learning: components and weights leave, the boundary stays (Figure 3).

Ripley's problem with the settings of the demo: dual form, three components per class, kernel
``(x'z + 1)^2``, inputs not scaled, preset `paper`. The seed is the one given, whatever it leads to;
how many components and weights are left is written above every snapshot. Takes about 20 seconds,
most of them for the film.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.figures.files import save_picture
from sdgm import KernelSDGMClassifier
from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.state import Record, State
from sdgm.demo import paper_model, ripley
from sdgm.plotting import CLASS_COLORS, COMPONENT_DASHES, FRAME_COLOR, BoundaryDisplay
from sdgm.report.states import candidate_basis, state_model

# after sdgm.plotting, which says which extra is missing
from matplotlib.backends.backend_agg import FigureCanvasAgg  # isort: skip
from matplotlib.figure import Figure  # isort: skip
from matplotlib.layout_engine import ConstrainedLayoutEngine  # isort: skip
from matplotlib.ticker import MultipleLocator, StrMethodFormatter  # isort: skip
from PIL import Image  # isort: skip

N_SNAPSHOTS = 6
DPI = 200
FILM_FRAMES = 56
FILM_DPI = 100
FILM_COLORS = 192
# Pillow finds the nearest colour only roughly: without this the paper would be a light grey
ALMOST_WHITE = 248
# milliseconds that a frame of the film is shown, the first and the last one
FRAME_TIME, FIRST_TIME, LAST_TIME = 140, 900, 3500
MARK_COLOR = "0.8"


@dataclass(frozen=True)
class Training:
    """A fit that kept its states, and the rows it saw.

    Attributes
    ----------
    model : KernelSDGMClassifier
    X, y : training rows
    title : str
        What was learned from what, and the error on the test rows.
    """

    model: KernelSDGMClassifier
    X: FloatArray
    y: IntArray
    title: str

    @property
    def records(self) -> list[Record]:
        return self.model.history_

    @cached_property
    def states(self) -> list[State]:
        """After each iteration."""
        return [record.state for record in self.records if record.state is not None]

    @cached_property
    def candidates(self) -> Any:
        """The columns that states count."""
        return candidate_basis(self.model, self.X, self.y)

    def classifier(self, iteration: int) -> KernelSDGMClassifier:
        """The classifier after an iteration, counted from one."""
        classifier = copy(self.model)
        classifier.model_ = state_model(self.states[iteration - 1], self.candidates, self.model)
        return classifier

    @cached_property
    def components(self) -> IntArray:
        """Components of each class after each iteration: (n_iter, C)."""
        n_classes = len(self.model.classes_)
        return np.array([np.bincount(s.component_class, minlength=n_classes) for s in self.states])

    def caption(self, iteration: int) -> str:
        """Weights and components after an iteration, in words."""
        components = " + ".join(map(str, self.components[iteration - 1]))
        return f"{self.records[iteration - 1].n_weights} weights, {components} components"


def draw_training(folder: Path, *, seed: int = 0, quick: bool = False) -> list[Path]:
    """Draw how learning removes components and weights: snapshots, curves and a film.

    Parameters
    ----------
    folder : Path
        Where to write ``training.png``, ``training.svg`` and ``training.gif``; made if need be.
    seed : int, default=0
        Of the k-means start, and of the rows where they have to be drawn.
    quick : bool, default=False
        Coarser pictures and a short film.

    Returns
    -------
    paths : list of Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in draw_training(Path(folder), quick=True)]
    ['training.png', 'training.svg', 'training.gif']
    """
    training = learned(seed)
    figure = snapshots_figure(training, grid_resolution=60 if quick else 240)
    pictures = save_picture(figure, folder / "training", dpi=DPI / 2 if quick else DPI)
    film = folder / "training.gif"
    iterations = film_iterations(len(training.records), 6 if quick else FILM_FRAMES)
    write_film(film, film_frames(training, iterations, grid_resolution=60 if quick else 160))
    return [*pictures, film]


def learned(seed: int) -> Training:
    """Ripley's problem, learned with the demo's settings and all states kept."""
    data = ripley(seed)
    X, y, X_test, y_test = data.split()
    model = paper_model("paper", seed).set_params(record_states=True).fit(X, y)
    rows = "generated rows" if data.generated else "published rows"
    error = 100.0 * float(np.mean(model.predict(X_test) != y_test))
    title = f"Ripley's problem ({rows}), dual SDGM, seed {seed}: test error {error:.1f}%"
    return Training(model, X, y, title)


def snapshot_iterations(components: IntArray, n: int = N_SNAPSHOTS) -> list[int]:
    """Iterations worth a snapshot, counted from one.

    These are the first and the last, those after which components are missing, and one on the way
    to the first loss; what is left of n goes where most time would pass unseen, on a log scale.

    Parameters
    ----------
    components : (n_iter, C) array
        Components of each class after each iteration.
    n : int
        At least 3.

    Returns
    -------
    iterations : list of n int, or of n_iter if that is less

    Examples
    --------
    >>> snapshot_iterations(np.array([[3]] * 8 + [[2]] * 92), n=5)
    [1, 3, 9, 30, 100]
    """
    last = len(components)
    losses = [int(i) + 2 for i in np.flatnonzero((np.diff(components, axis=0) != 0).any(axis=1))]
    chosen = {1, last, *losses[: n - 3]}
    if losses:
        chosen.add(round(losses[0] ** 0.5))
    while len(chosen) < min(n, last):
        gaps = list(pairwise(sorted(chosen)))
        low, high = max((gap for gap in gaps if gap[1] - gap[0] > 1), key=lambda g: g[1] / g[0])
        chosen.add(min(max(round((low * high) ** 0.5), low + 1), high - 1))
    return sorted(chosen)


def film_iterations(n_iter: int, n_frames: int) -> list[int]:
    """At most so many iterations, from the first to the last, about equally far apart in log."""
    iterations = np.arange(1, n_iter + 1)
    # neighbours early on round to the same, so more than n_frames have to be asked for
    for wanted in range(4 * n_frames, 0, -1):
        if len(iterations) <= n_frames:
            break
        iterations = np.unique(np.geomspace(1, n_iter, wanted).round().astype(int))
    return iterations.tolist()


def snapshots_figure(training: Training, *, grid_resolution: int) -> Any:
    """Snapshots above, curves below."""
    iterations = snapshot_iterations(training.components)
    figure: Any = Figure((10.2, 7.9), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
    above, below = figure.subfigures(2, 1, height_ratios=(5.4, 2.5))
    figure.suptitle(training.title, fontsize=11)
    displays = []
    for place, iteration in enumerate(iterations, start=1):
        ax = above.add_subplot(2, (N_SNAPSHOTS + 1) // 2, place)
        displays.append(draw_snapshot(ax, training, iteration, grid_resolution=grid_resolution))
        ax.set_title(f"iteration {iteration}", fontsize=10, fontweight="bold", loc="left")
        ax.set_title(training.caption(iteration), fontsize=8.5, loc="right")
    # the first has boundaries between components of every class
    handles = displays[0].legend_handles()
    above.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)
    weights, components, shares = below.subplots(1, 3)
    draw_weights(weights, training)
    draw_components(components, training)
    draw_shares(shares, training)
    for ax in weights, components, shares:
        finish_curves(ax, training, iterations)
    return figure


def draw_snapshot(
    ax: Any, training: Training, iteration: int, *, grid_resolution: int
) -> BoundaryDisplay:
    """The boundaries after an iteration, with thin circles, since they are many at first."""
    display = BoundaryDisplay.from_estimator(
        training.classifier(iteration),
        training.X,
        training.y,
        grid_resolution=grid_resolution,
        ax=ax,
        compact=True,
    )
    for points in display.points_:
        points.set(sizes=[17.0], linewidth=0.4)
    if display.relevance_points_ is not None:
        display.relevance_points_.set(sizes=[46.0], linewidth=0.9, label="relevance vectors")
    return display


def draw_weights(ax: Any, training: Training) -> None:
    """Weights that are not zero, by iteration."""
    records = training.records
    n_weights = [record.n_weights for record in records]
    ax.plot(np.arange(1, len(records) + 1), n_weights, color="black", lw=1.6)
    ax.text(1.07 * len(records), n_weights[-1], n_weights[-1], va="center", fontsize=9)
    ax.set(yscale="log", ylabel="weights")
    ax.set_ylim(bottom=max(n_weights[-1] / 2, 0.5))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def draw_components(ax: Any, training: Training) -> None:
    """Components of each class, by iteration; lines that lie on each other are set apart."""
    counts = training.components
    for c, label in enumerate(training.model.classes_):
        ax.plot(
            np.arange(1, len(counts) + 1),
            counts[:, c] + 0.04 * (0.5 - c),
            color=CLASS_COLORS[c],
            lw=1.8,
            drawstyle="steps-post",
            label=f"class {label}",
        )
    ax.set(ylim=(0, counts.max() + 0.5), ylabel="components")
    ax.yaxis.set_major_locator(MultipleLocator(1))
    ax.legend(loc="lower left", frameon=False, fontsize=8.5)


def draw_shares(ax: Any, training: Training) -> None:
    """Mixture weights, stacked within each class, the classes one above the other.

    A component leaves when its layer has become thin, or when it has lost all its weights: then it
    is one with the other component of its class without weights, and their layers are joined.
    """
    states = training.states
    n_classes = len(training.model.classes_)
    iteration = 0
    # while no component leaves, the stack has the same layers
    for key, group in groupby(states, key=lambda state: tuple(state.component_class)):
        pi = np.array([state.pi for state in group])  # (n, K)
        # one iteration more, so that the next group joins without a gap
        pi = np.concatenate([pi, pi[-1:]])[: len(states) - iteration]
        x = np.arange(iteration + 1, iteration + 1 + len(pi))
        for c in range(n_classes):
            own = pi[:, np.array(key) == c]
            edges = 1.12 * c + np.cumsum(own / own.sum(axis=1, keepdims=True), axis=1)
            for edge in edges[:, :-1].T:
                ax.plot(x, edge, color=CLASS_COLORS[c], lw=1.6, ls=COMPONENT_DASHES[c])
        iteration += len(pi) - 1
    for c in range(n_classes):
        ax.axhspan(1.12 * c, 1.12 * c + 1, color=CLASS_COLORS[c], alpha=0.3, lw=0, zorder=0.4)
    ax.set(ylim=(0, 1.12 * n_classes - 0.12), ylabel=r"mixture weights $\pi_{cm}$")
    ax.set_yticks(
        [1.12 * c + 0.5 for c in range(n_classes)],
        [f"class {label}" for label in training.model.classes_],
        rotation=90,
        va="center",
    )
    ax.tick_params(axis="y", length=0)


def finish_curves(ax: Any, training: Training, iterations: Sequence[int]) -> None:
    """A logarithmic axis of iterations, with a line for every snapshot."""
    for iteration in iterations:
        ax.axvline(iteration, color=MARK_COLOR, lw=0.8, zorder=0.5)
    ax.set(xscale="log", xlabel="iteration", xlim=(1, 1.5 * len(training.records)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[:].set_color(FRAME_COLOR)
    ax.tick_params(which="both", color=FRAME_COLOR, labelsize=8)


def film_frames(
    training: Training, iterations: Sequence[int], *, grid_resolution: int
) -> Iterator[Image.Image]:
    """The boundaries on the left, where learning is on the right; one picture per iteration."""
    figure = Figure(figsize=(7.6, 3.5))
    canvas: Any = FigureCanvasAgg(figure)
    plane, weights, shares = (
        figure.add_axes(place)
        for place in ((0.02, 0.05, 0.58, 0.79), (0.73, 0.56, 0.25, 0.28), (0.73, 0.15, 0.25, 0.28))
    )
    draw_weights(weights, training)
    draw_shares(shares, training)
    for ax in weights, shares:
        finish_curves(ax, training, [])
    weights.set(xlabel="")
    now = [ax.axvline(1, color="black", lw=1.0) for ax in (weights, shares)]
    heading = figure.text(0.02, 0.91, "", fontsize=11, fontweight="bold")
    for iteration in iterations:
        plane.clear()
        plane.set_anchor("W")
        draw_snapshot(plane, training, iteration, grid_resolution=grid_resolution)
        heading.set_text(f"iteration {iteration}: {training.caption(iteration)}")
        for line in now:
            line.set_xdata([iteration, iteration])
        figure.set_dpi(FILM_DPI)
        canvas.draw()
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def write_film(path: Path, frames: Iterator[Image.Image]) -> None:
    """An endless GIF in one palette without dithering, which keeps it small and calm."""
    pictures = list(frames)
    palette = pictures[0].quantize(FILM_COLORS)
    colors = np.array(palette.getpalette()).reshape(-1, 3)
    colors[(colors >= ALMOST_WHITE).all(axis=1)] = 255
    palette.putpalette(colors.ravel().tolist())
    first, *others = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures
    )
    times = [FRAME_TIME] * len(pictures)
    times[0], times[-1] = FIRST_TIME, LAST_TIME
    first.save(path, save_all=True, append_images=others, duration=times, loop=0, optimize=True)
