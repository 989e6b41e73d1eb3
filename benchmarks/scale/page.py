"""The page of scale: a section for every topic that something was measured for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import markdown, scale
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, GREEN, VERMILION, logarithmic, panels, save, slope_one
from benchmarks.markdown import number, percent, table
from benchmarks.records import GIGABYTE, MEGABYTE, Record, failures, results, select, values_of

TEXT = markdown.texts("scale")
BAYES = "Bayes' rule"
STYLES = {scale.SDGM: (BLUE, "o"), scale.LOGISTIC: (VERMILION, "s"), scale.BOOSTING: (GREEN, "^")}
TITLES = {"2 classes": "2 classes, 2 components each", "10 classes": "10 classes, 1 component each"}


def write(output: Path) -> Path:
    """The page and its picture."""
    records = results(output, "scale")
    has_picture = draw(records, output / "results" / "scale.png")
    parts = page(records, failures(output, "scale"), has_picture=has_picture)
    return markdown.write(output / "results" / "scale.md", parts)


def page(records: list[Record], failed: list[Record], *, has_picture: bool) -> list[str]:
    """All sections, and what was tried and not measured."""
    sections = {
        "growth": lambda own: growth_section(own, has_picture=has_picture),
        "sample": sample_section,
        "dual": dual_section,
    }
    parts = [TEXT["introduction"]]
    for topic, section in sections.items():
        own = select(records, topic=topic)
        if own:
            others = [record["others"] for record in own]
            busy = f"other work took {min(others):.1f} to {max(others):.1f} on average."
            parts += [*section(own), f"{made_by(own)} Of the two cores, {busy}"]
    if failed:
        parts += ["## Not measured", "\n".join(f"- {failure(record)}" for record in failed)]
    return parts


def failure(record: Record) -> str:
    """What was tried, and how it ended."""
    cell = record["cell"]
    words = [f"{value:,}" if field == "rows" else str(value) for field, value in cell.items()]
    late = f" after {record['timeout']:.0f} s" if "timeout" in record else ""
    return f"{', '.join(words)}: {record['status']}{late}"


def verdict(good: bool, what: str, target: str, *, full_size: bool) -> str:
    """A line about a target, which says nothing about smaller problems than its own."""
    word = ("Met" if good else "Not met") if full_size else "Smaller than the target's problem"
    return f"**{word}**: {what}; the target is {target}."


def seconds_of(records: list[Record], field: str = "seconds") -> float:
    """Median over rounds; zero if there are none."""
    return median(record[field] for record in records) if records else 0.0


def megabytes(record: Record, kind: str = "allocated") -> str:
    return f"{record[f'{kind}_bytes'] / MEGABYTE:,.0f}"


def quality(record: Record, prefix: str = "") -> tuple[str, str]:
    """Log loss, where there are probabilities, and error in percent."""
    loss, error = record.get(f"{prefix}log_loss"), record[f"{prefix}error"]
    return number(loss, ".4f"), percent(error)


def growth_section(own: list[Record], *, has_picture: bool) -> list[str]:
    """Time, memory and losses against rows; exponents; the target."""
    parts = [TEXT["growth"].format(test_rows=scale.TEST_ROWS)]
    if has_picture:
        parts += ["![Fit time and memory against rows](scale.png)"]
    head = ["rows", "model", "seconds", "of logistic", "memory, MB", "log loss", "error %"]
    for problem, n_components in scale.COMPONENTS.items():
        some = select(own, problem=problem)
        if some:
            rows = [
                row
                for n in sorted(values_of(some, "rows"))
                for row in growth_rows(select(some, rows=n))
            ]
            rows.append(["", BAYES, "", "", "", *quality(some[0], "bayes_"), ""])
            parts += [
                f"### {problem}, {n_components} component(s) each",
                table([*head, "weights"], rows),
                f"Exponents over the last decade of rows: {exponents(own, problem)}.",
            ]
    return [*parts, *growth_target(select(own, problem="2 classes"))]


def growth_rows(some: list[Record]) -> list[list[str]]:
    """The models at one number of rows."""
    base = seconds_of(select(some, model=scale.LOGISTIC))
    rows = []
    for model in scale.MODELS:
        own = select(some, model=model)
        if own:
            first, seconds = own[0], seconds_of(own)
            made = f" (+{first['feature_seconds']:.2f})" if "feature_seconds" in first else ""
            ratio = f"{seconds / base:.2f}" if base else ""
            memory = f"{seconds_of(own, 'allocated_bytes') / MEGABYTE:,.0f}"
            times = f"{seconds:.2f}{made}", ratio, memory
            weights = first.get("weights", "")
            rows.append([f"{first['rows']:,}", model, *times, *quality(first), weights])
    return rows


def exponents(own: list[Record], problem: str) -> str:
    """Of time, and of memory."""
    words = []
    for model in scale.MODELS:
        time = exponent(*series(own, problem, model, "seconds"))
        memory = exponent(*series(own, problem, model, "allocated_bytes"))
        if time is not None:
            words.append(f"{model} {time:.2f} in time, {memory:.2f} in memory")
    return "; ".join(words)


def growth_target(some: list[Record]) -> list[str]:
    """Ten times logistic regression at the largest size."""
    rows = max((record["rows"] for record in some), default=0)
    pair = [select(some, rows=rows, model=model) for model in (scale.SDGM, scale.LOGISTIC)]
    if not all(pair):
        return []
    wall, cpu = (
        seconds_of(pair[0], field) / seconds_of(pair[1], field)
        for field in ("seconds", "cpu_seconds")
    )
    what = (
        f"at {rows:,} rows, two classes: {wall:.1f} times the time of logistic regression "
        f"({cpu:.1f} times in processor time)"
    )
    return [verdict(wall <= 10.0, what, "at most 10", full_size=rows >= scale.SIZES[-1])]


def sample_section(own: list[Record]) -> list[str]:
    """What learning the structure from a sample costs."""
    head = ["problem", "rows", "way", "CPU s", "memory, MB", "log loss", "error %", "weights"]
    rows = [
        [r["problem"], f"{r['rows']:,}", r["way"], f"{r['cpu_seconds']:.0f}", megabytes(r),
         *quality(r), r["weights"]]
        for problem in scale.SAMPLED
        for r in select(own, problem=problem)
    ]  # fmt: skip
    return [
        TEXT["sample"],
        table(head, rows),
        *(
            sample_verdict(problem, record, other)
            for problem in scale.SAMPLED
            for record in select(own, problem=problem, way=scale.DEFAULT)
            for other in select(own, problem=problem, way=scale.AT_ONCE, rows=record["rows"])
        ),
    ]


def sample_verdict(problem: str, sampled: Record, at_once: Record) -> str:
    """Whether the sample loses something that can be measured, by the same test rows."""
    loss, error = (
        scale.difference(sampled[name], at_once[name])
        for name in ("batch_log_losses", "batch_errors")
    )
    what = (
        f"{problem}: with the sample the log loss is {abs(loss[0]):.4f} ± {loss[1]:.4f} "
        f"{'lower' if loss[0] < 0 else 'higher'} and the error {100 * abs(error[0]):.2f} ± "
        f"{100 * error[1]:.2f}% {'lower' if error[0] < 0 else 'higher'} (standard errors over the "
        "same test rows)"
    )
    good = all(mean <= 2.0 * deviation for mean, deviation in (loss, error))
    full_size = sampled["rows"] >= scale.SAMPLED[problem][0]
    return verdict(good, what, "no loss beyond two standard errors", full_size=full_size)


def dual_section(own: list[Record]) -> list[str]:
    """Kernels on many rows."""
    head = ["kernel", "seconds", "memory, MB", "weights", "vectors", "log loss", "error %"]
    rows = [
        [r["kernel"], f"{r['seconds']:.1f}", megabytes(r), r["weights"], r["vectors"], *quality(r)]
        for r in own
    ]
    return [
        TEXT["dual"].format(rows=own[0]["rows"]),
        table(head, [*rows, [BAYES, "", "", "", "", *quality(own[0], "bayes_")]]),
        *(within(r, r["kernel"], 300, 4, scale.DUAL_ROWS) for r in own),
    ]


def within(record: Record, name: str, seconds: float, gigabytes: float, rows: int) -> str:
    """A verdict on time and memory."""
    size = record["peak_bytes"] / GIGABYTE
    good = record["seconds"] < seconds and size < gigabytes
    what = f"{name}: {record['seconds']:.0f} s, {size:.2f} GB"
    target = f"under {seconds:g} s and {gigabytes:g} GB at {rows:,} rows"
    return verdict(good, what, target, full_size=record["rows"] >= rows)


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
    problems = [p for p in scale.COMPONENTS if len(series(records, p, scale.SDGM, "seconds")[0])]
    if not problems:
        return False
    figure, axes = panels(2, len(problems), (4.6 * len(problems), 6.6), sharex=True, sharey="row")
    for (above, below), problem in zip(axes.T, problems, strict=True):
        curves = [draw_curves(above, below, records, problem, model) for model in scale.MODELS]
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
