"""Fit time and memory against rows, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.figures import BLUE, GREEN, VERMILION, logarithmic, panels, save, slope_one
from benchmarks.records import MEGABYTE, Record, select, values_of
from benchmarks.scale.growth import BOOSTING, COMPONENTS, LOGISTIC, MODELS, SDGM

STYLES = {SDGM: (BLUE, "o"), LOGISTIC: (VERMILION, "s"), BOOSTING: (GREEN, "^")}
TITLES = {"2 classes": "2 classes, 2 components each", "10 classes": "10 classes, 1 component each"}


def series(
    records: Sequence[Record], problem: str, model: str, value: str
) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and the median of a value over the rounds at each."""
    own = select(records, topic="growth", problem=problem, model=model)
    rows = sorted(values_of(own, "rows"))
    values = [median(r[value] for r in select(own, rows=n)) for n in rows]
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
    figure, axes = panels(2, len(problems), (4.6 * len(problems), 6.6), sharex=True, sharey="row")
    for (above, below), problem in zip(axes.T, problems, strict=True):
        curves = [draw_curves(above, below, records, problem, model) for model in MODELS]
        above.set_title(TITLES[problem], fontsize=11)
        above.legend(
            title="exponent over the last decade", fontsize=8.5, title_fontsize=8.5,
            frameon=False, loc="upper left",
        )  # fmt: skip
        ends = [f(rows) for f in (min, max) for rows in [np.concatenate([r for r, _ in curves])]]
        least = min((seconds / rows).min(initial=np.inf) for rows, seconds in curves)
        slope_one(above, ends, 0.6 * least * ends[0])
        below.set_xlabel("rows")
    axes[0, 0].set_ylabel("fit time, s")
    axes[1, 0].set_ylabel("peak memory, data included, MB")
    for ax in axes.flat:
        logarithmic(ax)
    low, high = axes[0, 0].get_ylim()
    axes[0, 0].set_ylim(low, high * (high / low) ** 0.25)  # room for the legend
    save(figure, path)
    return True


def draw_curves(
    above: Any, below: Any, records: Sequence[Record], problem: str, model: str
) -> tuple[np.ndarray, np.ndarray]:
    """Time above, memory below; the curve above."""
    colour, marker = STYLES[model]
    style = {"color": colour, "marker": marker, "ms": 5.5, "lw": 1.5}
    rows, seconds = series(records, problem, model, "seconds")
    slope = exponent(rows, seconds)
    above.plot(rows, seconds, label=model if slope is None else f"{model}: {slope:.2f}", **style)
    _, peak = series(records, problem, model, "allocated_bytes")
    below.plot(rows, peak / MEGABYTE, **style)
    return rows, seconds
