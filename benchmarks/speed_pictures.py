"""The two pictures of the page of speed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.figures import (
    BLUE,
    GREY,
    VERMILION,
    logarithmic,
    panels,
    save,
    slope_one,
    time_label,
)
from benchmarks.records import Record, find, median_seconds, select, values_of
from benchmarks.speed_page import IMPORT, megabytes, thread_label, threads_of

FORM_STYLES = {"dual": (BLUE, "o"), "primal": (VERMILION, "s")}


def draw_peers(records: Sequence[Record], path: Path) -> None:
    """Fit times, one panel per problem: a mark at the median, a line from minimum to maximum."""
    problems, models = values_of(records, "problem"), values_of(records, "model")
    threads = threads_of(records)
    figure, axes = panels(1, len(problems), (5.2 + 3.4 * len(problems), 5.0), sharey=True)
    for ax, problem in zip(axes[0], problems, strict=True):
        for record in select(records, problem=problem):
            row, which = models.index(record["model"]), threads.index(record["threads"])
            draw_fit_time(ax, record, row + 0.26 * (which - (len(threads) - 1) / 2), which > 0)
            text = "" if which else f"{100 * record['error']:.1f}%"
            ax.text(1.02, row, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(time_label))
        ax.set_xlabel("fit time")
        ax.set_title(f"{problem} (on the right: test error)", fontsize=10)
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
    axes[0, 0].set_yticks(range(len(models)), [model_label(records, model) for model in models])
    axes[0, 0].invert_yaxis()
    colours = {"sdgm": BLUE, "peers": VERMILION}
    handles = [Line2D([], [], color=c, lw=4, label=name) for name, c in colours.items()]
    for which, n in enumerate(threads):
        style = {"mec": GREY, "mfc": "white" if which else GREY, "mew": 1.5}
        label = f"{thread_label(n)}, median; line from min to max"
        handles.append(Line2D([], [], marker="o", ls="", ms=7, label=label, **style))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    save(figure, path)


def draw_fit_time(ax: Any, record: Record, y: float, is_open: bool) -> None:
    """One model: filled marks for the smallest number of threads, open ones for more."""
    colour = BLUE if record["library"] == "sdgm" else VERMILION
    times = record["seconds"]
    ax.plot([min(times), max(times)], [y, y], color=colour, lw=1.2, alpha=0.6)
    mark = {"mec": colour, "mfc": "white" if is_open else colour, "mew": 1.5}
    ax.plot(median_seconds(record), y, "o", ms=7, zorder=3, **mark)


def model_label(records: Sequence[Record], model: str) -> str:
    """The call, with the library below it; long argument lists on a line of their own."""
    record = find(records, model=model) or {}
    if record["library"] != "sdgm":
        return f"{record['library']}\n{model}"
    return model if model.endswith("()") else model.replace("(", "\n(")


def draw_growth(records: Sequence[Record], path: Path) -> None:
    """Fit time above, memory below; one column per quantity that grows."""
    threads, bare = threads_of(records), select(records, series=IMPORT)
    series = [name for name in ("N", "D", "M") if select(records, series=name)]
    figure, axes = panels(2, len(series), (3.9 * len(series), 7.0), sharex="col", sharey="row")
    for (above, below), name in zip(axes.T, series, strict=True):
        for form, (colour, marker) in FORM_STYLES.items():
            for which, n in enumerate(threads):
                own = select(records, series=name, form=form, threads=n)
                look = {"color": colour, "marker": marker, "ms": 5.5, "lw": 1.4,
                        "ls": "--" if which else "-",
                        "mfc": "white" if which else colour}  # fmt: skip
                x = [record[name] for record in own]
                above.plot(x, [median_seconds(record) for record in own], **look)
                below.plot(x, list(map(partial(megabytes, bare=bare), own)), **look)
        finish_column(records, name, above, below)
    axes[0, 0].set_ylabel("fit time")
    axes[1, 0].set_ylabel("peak memory above a bare import, MB")
    handles = [
        Line2D([], [], color=colour, marker=marker, ls="", label=form)
        for form, (colour, marker) in FORM_STYLES.items()
    ]
    for which, n in enumerate(threads):
        handles.append(Line2D([], [], color=GREY, ls="--" if which else "-", label=thread_label(n)))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    save(figure, path)


def finish_column(records: Sequence[Record], name: str, above: Any, below: Any) -> None:
    """Axes, titles, and in the column of N a line of slope one."""
    own = select(records, series=name)
    values = sorted(values_of(own, name))
    logarithmic(above, label=time_label)
    logarithmic(below)
    fixed = ", ".join(f"{other} = {own[0][other]:,}" for other in "NDM" if other != name)
    above.set_title(f"growth with {name} ({fixed})", fontsize=10)
    below.set_xlabel(name)
    below.set_xticks(values, [f"{value:,}" for value in values], fontsize=8)
    below.xaxis.set_minor_formatter(NullFormatter())
    below.tick_params(axis="x", which="minor", length=0)
    if name == "N":
        slope_one(above, values[:: len(values) - 1], 0.4 * min(map(median_seconds, own)))
