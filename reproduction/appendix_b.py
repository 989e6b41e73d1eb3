"""Appendix B of the paper: sixteen Gaussians, and how many components to start with.

The dual form, with kernel ``(x'z + 1)^2`` and inputs as they are, learns the 320 rows of
`make_checkerboard` from 2, 4, ..., 20 components in total, five times with new rows. The paper
shows curves without numbers; `appendix_b_page` holds what it says about them against ours. It
lists "2, 4, 8, ..., 20" and speaks of 6, so all even numbers are run. It defines the reduction
ratio as non-zero over initial weights but draws one that grows above 99 %: as there, it is the
share of weights that are removed. Takes a few minutes on one core; ``quick`` a few seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from reproduction.appendix_b_page import COLUMNS, NAME, as_markdown, collected, write_csv
from reproduction.cells import Key, Progress, Record, run_cells
from reproduction.environment import code_version, environment
from reproduction.figures.files import save_picture
from sdgm import KernelSDGMClassifier
from sdgm.datasets import Dataset, make_checkerboard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INITIAL = tuple(range(2, 21, 2))  # components in total, half of them per class
REPETITIONS = 5
QUICK_INITIAL = (2, 8, 20)
QUICK_REPETITIONS = 2
DRAWN_INITIAL = (2, 4, 8, 16, 20)
PICTURE_DPI = 150
SHIFT = 0.2  # of the second preset's curves, so that error bars can be told apart
ERROR_BARS: dict[str, Any] = {"markersize": 5, "elinewidth": 1.0, "capsize": 2}
PANELS = {
    "(a) error (%)": {"train_error": ", training", "test_error": ", test"},
    "(b) components left": {"components": "", "components_with_weights": ", with weights"},
    "(c) non-zero weights": {"weights": ""},
    "(d) reduction ratio: weights removed (%)": {"reduction": ""},
}


def run_appendix_b(
    folder: Path,
    *,
    seed: int = 0,
    quick: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """Run what is not in the folder yet, and write the tables and the pictures.

    Parameters
    ----------
    folder : Path
        Where to keep the cells (``appendix-b.jsonl``) and to write; made if need be.
    seed : int, default=0
        Not negative; the rows and the starts of every repetition follow from it.
    quick : bool, default=False
        Three initial numbers, two repetitions and the preset `fast` only.
    jobs : int, default=1
        Processes.
    progress : callable, optional
        Told about finished cells; see `run_cells`.

    Returns
    -------
    paths : list of Path
        ``appendix-b.md``, ``.csv``, ``.png``, ``.svg``, then the boundaries as ``.png``, ``.svg``.
    """
    import sdgm.plotting  # noqa: F401 - if matplotlib is missing, say so first

    presets = ("fast",) if quick else ("paper", "fast")
    initial = QUICK_INITIAL if quick else INITIAL
    keys: list[Key] = [
        {
            "preset": preset,
            "initial": total,
            "repetition": repetition,
            "seed": seed,
            "code": code_version(),
        }
        for preset in presets
        for total in initial
        for repetition in range(QUICK_REPETITIONS if quick else REPETITIONS)
    ]
    records = run_cells(folder / f"{NAME}.jsonl", keys, measured_cell, jobs=jobs, progress=progress)
    markdown, table = folder / f"{NAME}.md", folder / f"{NAME}.csv"
    command = f"python -m reproduction appendix-b --seed {seed}" + (" --quick" if quick else "")
    head = f"Written by `{command}`. {environment()}."
    if quick:
        head += " **A quick run: two repetitions. Not a result.**"
    markdown.write_text(as_markdown(records, head), encoding="utf-8")
    write_csv(records, table)
    curves = save_picture(draw_curves(records), folder / NAME, dpi=PICTURE_DPI, tight=True)
    boundaries = save_picture(
        draw_boundaries(presets, sorted({*DRAWN_INITIAL} & {*initial}), seed),
        folder / f"{NAME}-boundaries",
        dpi=PICTURE_DPI,
        tight=True,
    )
    return [markdown, table, *curves, *boundaries]


def rows_and_model(
    preset: str, initial: int, repetition: int, seed: int
) -> tuple[Dataset, KernelSDGMClassifier]:
    """The rows of a repetition, which all cells of it share, and a model to learn them."""
    state = int(np.random.SeedSequence((seed, repetition)).generate_state(1)[0])
    model = KernelSDGMClassifier(
        initial // 2,
        kernel="poly",
        gamma=1.0,
        standardize=False,
        preset=preset,
        random_state=state,
        teacher=None,
    )
    return make_checkerboard(random_state=state), model


def measured_cell(key: Key) -> Record:
    """Learn the rows of one cell, and measure."""
    settings = {name: value for name, value in key.items() if name != "code"}
    data, model = rows_and_model(**settings)  # type: ignore[arg-type]
    X_train, y_train, X_test, y_test = data.split()
    start = perf_counter()
    model.fit(X_train, y_train)
    seconds = perf_counter() - start
    has_weights = np.column_stack([model.intercept_, model.coef_]).any(axis=1)
    return {
        "train_error": float(np.mean(model.predict(X_train) != y_train)),
        "test_error": float(np.mean(model.predict(X_test) != y_test)),
        "log_loss": float(log_loss(y_test, model.predict_proba(X_test))),
        "components": int(model.n_components_.sum()),
        "components_with_weights": int(has_weights.sum()),
        "weights": int(model.n_active_weights_),
        "initial_weights": int(model.n_initial_weights_),
        "reduction": 1.0 - model.n_active_weights_ / model.n_initial_weights_,
        "seconds": seconds,
        "converged": bool(model.converged_),
    }


def draw_curves(records: Sequence[Record]) -> Figure:
    """Errors, components, weights and reduction against the initial number of components."""
    from matplotlib.figure import Figure

    from sdgm.plotting import DASHES, FRAME_COLOR, class_color, class_marker

    figure = Figure(figsize=(9.0, 6.8), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True).ravel()
    axes[1].plot(INITIAL, INITIAL, color=FRAME_COLOR, linestyle=":", label="as started")
    for ax, (title, fields) in zip(axes, PANELS.items(), strict=True):
        for p, (preset, curves) in enumerate(collected(records).items()):
            for (field, name), style in zip(fields.items(), ("-", DASHES), strict=False):
                curve, factor = curves[field], COLUMNS[field][1]
                bars = curve.initial + p * SHIFT, factor * curve.mean, factor * curve.deviation
                ax.errorbar(
                    *bars,
                    color=class_color(p),
                    marker=class_marker(p),
                    markerfacecolor=class_color(p) if style == "-" else "white",
                    linestyle=style,
                    label=f"preset {preset}{name}",
                    **ERROR_BARS,
                )
        ax.set_title(title, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.92")
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylim(bottom=0.0)
    axes[1].set_yticks([0, *INITIAL[1::2]])
    for ax in axes[2:]:
        ax.set(xlabel="components at the start, both classes", xticks=INITIAL)
    return figure


def draw_boundaries(presets: Sequence[str], initial: Sequence[int], seed: int) -> Figure:
    """What is learned from the rows of the first repetition, a row of panels per preset."""
    from matplotlib.figure import Figure

    from sdgm.plotting import BoundaryDisplay

    figure = Figure(figsize=(2.6 * len(initial), 3.0 * len(presets) + 0.5), layout="constrained")
    axes = figure.subplots(len(presets), len(initial), squeeze=False)
    for ax, (preset, total) in zip(axes.flat, product(presets, initial), strict=True):
        data, model = rows_and_model(preset, total, 0, seed)
        X, y, X_test, y_test = data.split()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the table says so
            model.fit(X, y)
        K, n_weights = model.n_components_.sum(), model.n_active_weights_
        error = 100.0 * (1.0 - model.score(X_test, y_test))
        title = f"{total} → {K} components\n{n_weights} weights, test error {error:.1f}%"
        shown = BoundaryDisplay.from_estimator(
            model, X, y, ax=ax, grid_resolution=250, compact=True
        )
        ax.set_title(title, fontsize="small")
        ax.set(xlabel="", ylabel=f"preset {preset}" if total == initial[0] else "")
    handles = shown.legend_handles()
    names = [handle.get_label().partition(" (")[0] for handle in handles]
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    return figure
