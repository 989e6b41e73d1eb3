"""Fit time and memory against rows, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib
import numpy as np

from benchmarks.records import MEGABYTE, Record
from benchmarks.scale.growth import BOOSTING, COMPONENTS, LOGISTIC, MODELS, SDGM

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

# colours that everyone can tell apart (Okabe and Ito)
STYLES = {SDGM: ("#0072B2", "o"), LOGISTIC: ("#D55E00", "s"), BOOSTING: ("#009E73", "^")}
GREY = "#666666"
TITLES = {
    "2 classes": "2 classes, 2 components each",
    "10 classes": "10 classes, 1 component each",
}


def series(
    records: Sequence[Record], problem: str, model: str, value: str
) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and the median of a value over the rounds at each."""
    own = [r for r in records if r["topic"] == "growth"]
    own = [r for r in own if r["problem"] == problem and r["model"] == model]
    rows = sorted({record["rows"] for record in own})
    values = [median(r[value] for r in own if r["rows"] == n) for n in rows]
    return np.array(rows, dtype=float), np.array(values, dtype=float)


def exponent(rows: np.ndarray, values: np.ndarray) -> float | None:
    """Slope on logarithmic axes over the last decade, by least squares; None for one point."""
    last = rows >= rows.max() / 10.0 if len(rows) else rows > 0
    if last.sum() < 2:
        return None
    return float(np.polyfit(np.log(rows[last]), np.log(values[last]), 1)[0])


def draw(records: Sequence[Record], path: Path) -> bool:
    """Write the picture, if anything was measured."""
    problems = [p for p in COMPONENTS if len(series(records, p, SDGM, "seconds")[0])]
    if not problems:
        return False
    fig, axes = plt.subplots(
        2, len(problems), figsize=(4.6 * len(problems), 6.6), sharex=True, sharey="row",
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for (above, below), problem in zip(axes.T, problems, strict=True):
        for model in MODELS:
            draw_curves(above, below, records, problem, model)
        above.set_title(TITLES[problem], fontsize=11)
        below.set_xlabel("rows")
        above.legend(
            loc="upper left",
            frameon=False,
            fontsize=8.5,
            title="exponent over the last decade",
            title_fontsize=8.5,
            alignment="left",
        )
        draw_slope(above, records, problem)
    axes[0, 0].set_ylabel("fit time, s")
    axes[1, 0].set_ylabel("peak memory, data included, MB")
    for ax in axes.flat:
        finish(ax)
    low, high = axes[0, 0].get_ylim()
    axes[0, 0].set_ylim(low, high * (high / low) ** 0.25)  # room for the legend
    fig.savefig(path, dpi=150)
    plt.close(fig)
    return True


def draw_curves(
    above: Any, below: Any, records: Sequence[Record], problem: str, model: str
) -> None:
    """Time above, memory below."""
    colour, marker = STYLES[model]
    style = {"color": colour, "marker": marker, "ms": 5.5, "lw": 1.5}
    rows, seconds = series(records, problem, model, "seconds")
    slope = exponent(rows, seconds)
    label = model if slope is None else f"{model}: {slope:.2f}"
    above.plot(rows, seconds, label=label, **style)
    rows, peak = series(records, problem, model, "allocated_bytes")
    below.plot(rows, peak / MEGABYTE, **style)


def draw_slope(ax: Any, records: Sequence[Record], problem: str) -> None:
    """A line of slope one below the curves."""
    curves = [series(records, problem, model, "seconds") for model in MODELS]
    rows = np.unique(np.concatenate([rows for rows, _ in curves]))
    ends = rows[[0, -1]]
    line = 0.6 * min((seconds / rows).min(initial=np.inf) for rows, seconds in curves) * ends
    ax.plot(ends, line, ":", color=GREY, lw=1.2)
    ax.annotate("slope 1", (np.sqrt(ends.prod()), np.sqrt(line.prod())), color=GREY, fontsize=8.5,
                xytext=(4, -4), textcoords="offset points", va="top")  # fmt: skip


def finish(ax: Any) -> None:
    """Logarithmic axes with plain numbers."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    low, high = ax.get_ylim()
    if high < 100.0 * low:  # a power of ten now and then is too little
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
