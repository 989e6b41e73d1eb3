"""The two pictures of the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.records import Record, Run, median_seconds

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

# colours that everyone can tell apart (Okabe and Ito)
BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#666666"
FORM_STYLES = {"dual": (BLUE, "o"), "primal": (VERMILION, "s")}
DPI = 150


def draw_peers(run: Run, path: Path) -> None:
    """Fit times, one panel per problem: a mark at the median, a line from minimum to maximum."""
    problems = list(dict.fromkeys(record["problem"] for record in run.records))
    models = list(dict.fromkeys(record["model"] for record in run.records))
    fig, axes = plt.subplots(
        1, len(problems), figsize=(5.2 + 3.4 * len(problems), 5.0), sharey=True, squeeze=False
    )
    for ax, problem in zip(axes[0], problems, strict=True):
        for record in run.select(problem=problem):
            draw_fit_time(ax, record, models.index(record["model"]), run.threads())
        label_errors(ax, run, problem, models)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(time_label))
        ax.set_xlabel("fit time")
        ax.set_title(f"{problem} (on the right: test error)", fontsize=10)
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
    axes[0, 0].set_yticks(range(len(models)), [model_label(run, model) for model in models])
    axes[0, 0].invert_yaxis()
    fig.legend(handles=peer_legend(run.threads()), loc="lower center", ncols=4, frameon=False)
    fig.tight_layout(rect=(0, 0.07, 1, 1))
    save(fig, path)


def draw_fit_time(ax: Any, record: Record, row: int, threads: list[int]) -> None:
    """One model: filled marks for the smallest number of threads, open ones for more."""
    colour = library_colour(record["library"])
    which = threads.index(record["threads"])
    y = row + 0.26 * (which - (len(threads) - 1) / 2)
    times = record["seconds"]
    ax.plot([min(times), max(times)], [y, y], color=colour, lw=1.2, alpha=0.6)
    ax.plot(
        median_seconds(record),
        y,
        "o",
        ms=7,
        mec=colour,
        mfc="white" if which else colour,
        mew=1.5,
        zorder=3,
    )


def label_errors(ax: Any, run: Run, problem: str, models: list[str]) -> None:
    """The test error of each model at the right edge."""
    for row, model in enumerate(models):
        record = run.find(problem=problem, model=model)
        if record:
            text = f"{100 * record['error']:.1f} %"
            ax.text(1.02, row, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8)


def library_colour(library: str) -> str:
    return BLUE if library == "sdgm" else VERMILION


def model_label(run: Run, model: str) -> str:
    """The call, with the library below it; long argument lists on a line of their own."""
    record = run.find(model=model)
    assert record is not None
    if record["library"] != "sdgm":
        return f"{record['library']}\n{model}"
    return model if model.endswith("()") else model.replace("(", "\n(")


def peer_legend(threads: list[int]) -> list[Line2D]:
    marks = [
        Line2D([], [], marker="o", ls="", ms=7, mec=GREY, mfc="white" if which else GREY, mew=1.5)
        for which in range(len(threads))
    ]
    for mark, n in zip(marks, threads, strict=True):
        mark.set_label(f"{n} thread{'s' if n > 1 else ''}, median; line from min to max")
    colours = [
        Line2D([], [], color=BLUE, lw=4, label="sdgm"),
        Line2D([], [], color=VERMILION, lw=4, label="peers"),
    ]
    return [*colours, *marks]


def draw_growth(run: Run, path: Path) -> None:
    """Fit time above, memory below; one column per quantity that grows.

    There must be a point that came to an end.
    """
    series = [s for s in ("N", "D", "M") if run.select(series=s, status="done")]
    fig, axes = plt.subplots(
        2, len(series), figsize=(3.9 * len(series), 7.0), sharex="col", sharey="row", squeeze=False
    )
    for (time_ax, memory_ax), name in zip(axes.T, series, strict=True):
        for form, (colour, marker) in FORM_STYLES.items():
            for threads in run.threads():
                style = growth_style(colour, marker, threads == run.threads()[0])
                draw_curve(time_ax, run, name, form, threads, median_seconds, style)
                draw_curve(memory_ax, run, name, form, threads, run.megabytes, style)
        finish_growth_column(run, name, time_ax, memory_ax)
    axes[0, 0].set_ylabel("fit time")
    axes[0, 0].yaxis.set_major_formatter(FuncFormatter(time_label))
    axes[1, 0].set_ylabel("peak memory above a bare import, MB")
    axes[1, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[1, 0].yaxis.set_minor_formatter(NullFormatter())
    fig.legend(handles=growth_legend(run.threads()), loc="lower center", ncols=5, frameon=False)
    fig.tight_layout(rect=(0, 0.05, 1, 1))
    save(fig, path)


def growth_style(colour: str, marker: str, first: bool) -> dict[str, Any]:
    return {
        "color": colour,
        "marker": marker,
        "ms": 5.5,
        "lw": 1.4,
        "ls": "-" if first else "--",
        "mfc": colour if first else "white",
    }


def draw_curve(
    ax: Any,
    run: Run,
    name: str,
    form: str,
    threads: int,
    value: Callable[[Record], float],
    style: dict[str, Any],
) -> None:
    """One curve over the points that came to an end."""
    records = run.select(series=name, form=form, threads=threads, status="done")
    ax.plot([r[name] for r in records], [value(r) for r in records], **style)


def finish_growth_column(run: Run, name: str, time_ax: Any, memory_ax: Any) -> None:
    """Axes, titles, and in the column of N a line of slope one."""
    records = run.select(series=name, status="done")
    values = sorted({record[name] for record in run.select(series=name)})
    fixed = {"N": "D = 5, M = 3", "D": "N = 300, M = 1", "M": "N = 1,000, D = 5"}[name]
    for ax in (time_ax, memory_ax):
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(color="0.9")
        ax.set_axisbelow(True)
    time_ax.set_title(f"growth with {name} ({fixed})", fontsize=10)
    memory_ax.set_xlabel(name)
    memory_ax.set_xticks(values, [f"{value:,}" for value in values], fontsize=8)
    memory_ax.xaxis.set_minor_formatter(NullFormatter())
    memory_ax.tick_params(axis="x", which="minor", length=0)
    if name == "N" and records:
        x = np.array([values[0], values[-1]], dtype=float)
        low = 0.4 * min(median_seconds(record) for record in records)
        time_ax.plot(x, low * x / x[0], ":", color=GREY, lw=1.2)
        middle = np.sqrt(x[0] * x[1])
        label = {"xytext": (5, -5), "textcoords": "offset points", "ha": "left", "va": "top"}
        time_ax.annotate("slope 1", (middle, low * middle / x[0]), color=GREY, **label)


def growth_legend(threads: list[int]) -> list[Line2D]:
    forms = [
        Line2D([], [], color=colour, marker=marker, ls="", label=form)
        for form, (colour, marker) in FORM_STYLES.items()
    ]
    lines = [
        Line2D([], [], color=GREY, ls="--" if which else "-", label=f"{n} thread{'s' * (n > 1)}")
        for which, n in enumerate(threads)
    ]
    return [*forms, *lines]


def time_label(seconds: float, _: Any = None) -> str:
    """A tick of a logarithmic axis."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"


def save(fig: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=DPI)
    plt.close(fig)
