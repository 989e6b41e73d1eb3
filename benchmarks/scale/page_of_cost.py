"""The section about cost."""

from __future__ import annotations

from math import log
from statistics import median

from benchmarks.records import Record
from benchmarks.scale.cells import THREADS
from benchmarks.scale.cost import COMPONENTS, KINDS
from benchmarks.scale.model_of_cost import (
    CORES,
    INPUTS,
    LEFT,
    ROWS,
    Cost,
    bundles,
    bytes_per_row,
    tasks_of_pass,
)
from benchmarks.scale.passes import CROSS, DERIVATIVES, GRADIENTS, NORMS, OBSERVED, SLOPES
from benchmarks.scale.tables import found, header, row
from sdgm.scale.sampling import MIDDLE_ROWS

HOUR = 3600.0
# rows beyond which there is a second sample
TWO_SAMPLES = 2 * MIDDLE_ROWS
# passes for which all columns are made
OF_ALL_COLUMNS = (NORMS, SLOPES, CROSS)
NAMES = {GRADIENTS: "gradient", DERIVATIVES: "curvature", OBSERVED: "observed"}


def cost_section(own: list[Record], on_dask: list[Record]) -> list[str]:
    """Passes measured, fits predicted and measured, and one that is too large to measure."""
    fits, passes = found(own, what="fit"), found(own, what="pass")
    lines = [
        "## What it costs",
        "",
        "A fit to N rows of D inputs learns from a sample, beyond 131,072 rows from a second one "
        "too, and then goes over all rows. The first part does not depend on N. In the second, a "
        "row has p columns (those that any component still uses) and the K components have m "
        "weights in all, m_k each. A pass for the *gradient* makes 3 D + 2 p + 15 K numbers per "
        "row and takes 4 p K operations in products of matrices. One for the *curvature* too makes "
        "4 m numbers and takes m² + Σ m_k² operations more, and one for the *observed* curvature, "
        "with C classes, another 3 m / C and (m² / C + Σ m_k²) / C. Where that is less work, there "
        "are K (K - 1) / 2 pairs of components instead, with p numbers and p² operations each; for "
        "the observed curvature those of each class. Beyond 131,072 rows nearly all "
        "passes are for the gradient. Two or three more are for *norms* and *slopes* of all H "
        "columns there could be, by which some come back: 3 D + 3 H + 15 K numbers and 8 H K "
        "operations at most; up to 131,072 rows two also for their curvature with the weights "
        "there are, 2 H K m operations. A few that count or draw rows make next to nothing. Every "
        "pass reads 8 bytes per input, 4 "
        "per label and, on Dask, 8 per sample weight, and hands on p K numbers, m² or 2 m² per "
        "65,536 rows. Inputs and labels apart, nothing of length N is kept.",
        "",
    ]
    if not passes:
        return lines[:-1]
    cost = Cost.of(passes, THREADS)
    n_kinds = sum(len(r["pass_median"]) for r in passes)
    lines += [
        f"Two constants fit {n_kinds} kinds of passes with a relative error of at most "
        f"{100 * cost.error:.0f} %: {1e9 * cost.per_number:.2f} ns of one core per number, and "
        f"{1e9 * cost.per_operation:.3f} ns per operation in products. Seconds per 10⁶ rows, and "
        "what the constants say:",
        "",
        *passes_table(passes, cost),
        "",
        "### Fits, predicted and measured",
        "",
        "Predicted are as many passes over all rows as there were, each from the two constants and "
        "the weights left at the end (the first passes have more), those for norms and slopes "
        "among them; for the whole fit with the time of the rest, as it was at the fewest rows "
        "with as many samples.",
        "",
        *fits_table(fits, cost),
        "",
        *on_paper(fits, cost, on_dask),
    ]
    return lines


def passes_table(passes: list[Record], cost: Cost) -> list[str]:
    columns = [word for kind in KINDS for word in (NAMES[kind], "predicted")]
    lines = header("D", "weights of each component", "p", *columns)
    for r in passes:
        cells = []
        for kind in KINDS:
            shape = r["inputs"], r["columns"], r["by_component"]
            cells.append(f"{1e6 * r['pass_median'][kind] / r['rows']:.2f}")
            cells.append(f"{cost.pass_seconds(kind, 1e6, *shape, THREADS):.2f}")
        lines.append(row(r["inputs"], r["weights"], r["columns"], *cells))
    return lines


def n_passes(record: Record, kind: str) -> int:
    """Passes over all rows."""
    return int(record["passes"].get(kind, 0))


def seconds_of_passes(record: Record) -> float:
    """Of those that the model of cost is about."""
    return sum(record["pass_seconds"].get(kind, 0.0) for kind in (*KINDS, *OF_ALL_COLUMNS))


def all_columns(inputs: int) -> int:
    """H: a constant, inputs, squares and products."""
    return (inputs + 1) * (inputs + 2) // 2


def rest_of(fits: list[Record], record: Record) -> float:
    """Seconds of a fit outside of them, at the fewest rows with as many samples."""
    alike = [
        r for r in found(fits, inputs=record["inputs"])
        if (r["rows"] > TWO_SAMPLES) == (record["rows"] > TWO_SAMPLES)
    ]  # fmt: skip
    least = min(alike, key=lambda r: r["rows"])
    return least["seconds"] - seconds_of_passes(least)


def fits_table(fits: list[Record], cost: Cost) -> list[str]:
    lines = header("rows", "D", "weights", "p", *(f"passes: {NAMES[kind]}" for kind in KINDS),
                   "of all columns", "their seconds", "predicted", "seconds of the fit",
                   "predicted", "allocated, MB")  # fmt: skip
    for r in fits:
        shape = r["rows"], r["inputs"], r["columns"], r["by_component"]
        counts = [n_passes(r, kind) for kind in KINDS]
        predicted = sum(
            n * cost.pass_seconds(kind, *shape, THREADS)
            for kind, n in zip(KINDS, counts, strict=True)
        )
        shape = r["rows"], r["inputs"], all_columns(r["inputs"]), r["by_component"]
        predicted += sum(
            n_passes(r, kind) * cost.pass_seconds(kind, *shape, THREADS) for kind in OF_ALL_COLUMNS
        )
        of_all = sum(n_passes(r, kind) for kind in OF_ALL_COLUMNS)
        lines.append(
            row(f"{r['rows']:,}", r["inputs"], r["weights_left"], r["columns"], *counts, of_all,
                f"{seconds_of_passes(r):.1f}", f"{predicted:.1f}", f"{r['seconds']:.1f}",
                f"{rest_of(fits, r) + predicted:.1f}", f"{r['allocated_bytes'] / 1e6:,.0f}")
        )  # fmt: skip
    return lines


def on_paper(fits: list[Record], cost: Cost, on_dask: list[Record]) -> list[str]:
    """The fit of 10^9 rows."""
    many = [r for r in fits if r["rows"] > TWO_SAMPLES]
    if not many:
        return []
    kinds = (GRADIENTS, DERIVATIVES, *OF_ALL_COLUMNS)
    counts = {kind: max(n_passes(r, kind) for r in many) for kind in kinds}
    n_all = max(sum(r["passes"].values()) for r in many)
    tasks = [r["task_seconds"] for r in on_dask if r.get("task_seconds")]
    n_tasks = tasks_of_pass(bundles(ROWS, INPUTS, CORES))
    overhead = n_tasks * median(tasks) if tasks else 0.0
    samples = seconds_of_samples(fits, all_columns(INPUTS))
    lines = [
        f"### 10⁹ rows of {INPUTS} inputs on {CORES} cores, on paper",
        "",
        f"Not measured. In memory of the workers: {bytes_per_row(INPUTS) * ROWS / 1e9:,.0f} GB, "
        f"{bytes_per_row(INPUTS) * ROWS / CORES / 1e9:.1f} GB per core, each byte read once per "
        f"pass. Of all kinds as many passes as any fit above had beyond {TWO_SAMPLES:,} rows: "
        f"{counts[GRADIENTS]} for the gradient, {counts[DERIVATIVES]} for the curvature, "
        f"{counts[NORMS] + counts[SLOPES]} for norms and slopes of all "
        f"{all_columns(INPUTS):,} columns, {n_all} with those that count or draw rows, which take "
        "Dask's own time only. How many weights are left decides, and nobody knows before; a model "
        "that kept all columns could not be learned this way. So here are "
        f"{COMPONENTS} components with different numbers of weights, no two of them on the same "
        "column.",
        "",
        *header("weights of each component", "seconds for a gradient", "for a curvature",
                "for norms and slopes", "statistics for a curvature, at most, GB",
                "hours for all passes"),
    ]  # fmt: skip
    for left in LEFT:
        sizes, m = [left] * COMPONENTS, left * COMPONENTS
        columns = {kind: min(1 + m, all_columns(INPUTS)) for kind in kinds}
        columns |= dict.fromkeys(OF_ALL_COLUMNS, all_columns(INPUTS))
        seconds = {
            kind: cost.pass_seconds(kind, ROWS, INPUTS, columns[kind], sizes, CORES)
            for kind in kinds
        }
        of_all = sum(counts[kind] * seconds[kind] for kind in OF_ALL_COLUMNS)
        traffic = bundles(ROWS, INPUTS, CORES) * 8.0 * (m**2 + m) / 1e9
        hours = (n_all * overhead + sum(counts[kind] * seconds[kind] for kind in kinds)) / HOUR
        lines.append(
            row(left, f"{seconds[GRADIENTS]:.0f} + {overhead:.0f}",
                f"{seconds[DERIVATIVES]:.0f} + {overhead:.0f}", f"{of_all:.0f} in all",
                f"{traffic:,.0f}", f"{hours:.1f}")
        )  # fmt: skip
    lines += [
        "",
        f"The second summand is Dask's own time for {n_tasks:,} tasks of a pass, "
        + (
            f"{1e3 * median(tasks):.1f} ms each as measured here with nothing to compute and one "
            "scheduler; it does not shrink with more cores."
            if tasks
            else "which was not measured."
        )
        + " Statistics are matrices of m² numbers, one for every 65,536 rows if no worker adds its "
        "own first.",
    ]
    if samples is not None:
        lines += [
            "",
            "Before that the client learns from the samples, on one machine. Their time in the "
            "fits above with most inputs grows with the number of columns to the power "
            f"{samples[1]:.1f}; for {all_columns(INPUTS):,} columns that makes "
            f"**{samples[0] / HOUR:.1f} hours** with two cores, which come on top of the passes. "
            "It is an extrapolation from two fits, no more than the order of magnitude: with so "
            "many columns the first sample has a quarter of the rows that it had there, and a "
            "second one follows.",
        ]
    return lines


def seconds_of_samples(fits: list[Record], n_columns: int) -> tuple[float, float] | None:
    """Seconds to learn from the samples with so many columns, and the exponent it comes from.

    From the two fits with most inputs, at the same number of rows.
    """
    rows = min(r["rows"] for r in fits)
    by_inputs = {r["inputs"]: r for r in fits if r["rows"] == rows}
    if len(by_inputs) < 2:
        return None
    few, many = (by_inputs[inputs] for inputs in sorted(by_inputs)[-2:])
    rests = [r["seconds"] - seconds_of_passes(r) for r in (few, many)]
    columns = [all_columns(r["inputs"]) for r in (few, many)]
    power = log(rests[1] / rests[0]) / log(columns[1] / columns[0])
    return rests[1] * (n_columns / columns[1]) ** power, power
