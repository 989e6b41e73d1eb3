"""The section about cost."""

from __future__ import annotations

from statistics import median

from benchmarks.records import Record
from benchmarks.scale.cells import THREADS
from benchmarks.scale.cost import COMPONENTS
from benchmarks.scale.model_of_cost import (
    CORES,
    INPUTS,
    LEFT,
    ROWS,
    Cost,
    bytes_per_row,
    groups,
)
from benchmarks.scale.tables import found, header, row

HOUR = 3600.0


def cost_section(own: list[Record], on_dask: list[Record]) -> list[str]:
    """Passes measured, fits predicted and measured, and one that is too large to measure."""
    fits, passes = found(own, what="fit"), found(own, what="pass")
    lines = [
        "## What it costs",
        "",
        "A fit to N rows of D inputs draws a sample of some 16,000 rows, learns from it which "
        "columns matter, and then goes over all rows once per Newton step. The first part does not "
        "depend on N. In the second, a row has p columns (those that any component still uses) and "
        "the K components have m weights in all, m_k each. A pass makes 3 D + 2 p + 15 K + 6 m "
        "numbers per row and takes 4 p K + 2 p m + 2 (m² + 2 Σ m_k²) operations in products of "
        "matrices. It reads 8 bytes per input, 4 per label and, on Dask, 8 per sample weight, "
        "and hands on 2 m² + m numbers per 65,536 rows. Inputs and labels apart, nothing of length "
        "N is kept.",
        "",
    ]
    if not passes:
        return lines[:-1]
    cost = Cost.of(passes, THREADS)
    lines += [
        f"Two constants fit {len(passes)} kinds of passes with a relative error of at most "
        f"{100 * cost.error:.0f} %: {1e9 * cost.per_number:.2f} ns of one core per number, and "
        f"{1e9 * cost.per_operation:.3f} ns per operation in products.",
        "",
        *passes_table(passes, cost),
        "",
        "### Fits, predicted and measured",
        "",
        "Predicted is the time of the rest, as measured at the fewest rows, and that of as many "
        "passes as there were, each from the two constants and the weights left at the end. The "
        "first passes have more weights than the last, which the prediction leaves out.",
        "",
        *fits_table(fits, cost),
        "",
        *on_paper(fits, cost, on_dask),
    ]
    return lines


def passes_table(passes: list[Record], cost: Cost) -> list[str]:
    lines = header("D", "weights of each component", "p", "seconds per 10⁶ rows", "predicted")
    for r in passes:
        predicted = cost.pass_seconds(1e6, r["inputs"], r["columns"], r["by_component"], THREADS)
        seconds = 1e6 * r["pass_median"] / r["rows"]
        lines.append(
            row(r["inputs"], r["weights"], r["columns"], f"{seconds:.2f}", f"{predicted:.2f}")
        )
    return lines


def n_passes(record: Record) -> int:
    """With gradient and curvature."""
    return record["passes"].get("derivatives", 0)


def rest_of(record: Record) -> float:
    """Seconds outside of passes with gradient and curvature, at any number of rows."""
    return record["seconds"] - record["pass_seconds"].get("derivatives", 0.0)


def fits_table(fits: list[Record], cost: Cost) -> list[str]:
    lines = header("rows", "D", "weights", "p", "passes", "seconds per pass", "predicted",
                   "seconds of the fit", "predicted", "allocated, MB")  # fmt: skip
    for r in fits:
        least = min(found(fits, inputs=r["inputs"]), key=lambda each: each["rows"])
        each = cost.pass_seconds(r["rows"], r["inputs"], r["columns"], r["by_component"], THREADS)
        whole = rest_of(least) + n_passes(r) * each
        measured = r["pass_seconds"].get("derivatives", 0.0) / max(n_passes(r), 1)
        lines.append(
            row(f"{r['rows']:,}", r["inputs"], r["weights_left"], r["columns"], n_passes(r),
                f"{measured:.3f}", f"{each:.3f}", f"{r['seconds']:.1f}", f"{whole:.1f}",
                f"{r['allocated_bytes'] / 1e6:,.0f}")
        )  # fmt: skip
    return lines


def on_paper(fits: list[Record], cost: Cost, on_dask: list[Record]) -> list[str]:
    """The fit of 10^9 rows."""
    counts = [n_passes(r) for r in fits if n_passes(r)]
    if not counts:
        return []
    passes = max(counts)
    tasks = [r["task_seconds"] for r in on_dask if r.get("task_seconds")]
    n_tasks = 2 * groups(ROWS) - 1
    per_pass = n_tasks * median(tasks) if tasks else 0.0
    lines = [
        f"### 10⁹ rows of {INPUTS} inputs on {CORES} cores, on paper",
        "",
        f"Not measured. In memory of the workers: {bytes_per_row(INPUTS) * ROWS / 1e9:,.0f} GB, "
        f"{bytes_per_row(INPUTS) * ROWS / CORES / 1e9:.1f} GB per core, each byte read once per "
        f"pass. {passes} passes, the most of any fit above. How many weights are left decides, and "
        "nobody knows before: the sample starts from 5,151 columns per component, and a model that "
        f"kept them all could not be learned this way. So here are {COMPONENTS} components with "
        "different numbers of weights, no two of them on the same column. Of the sample itself the "
        "table says nothing: it is learned on one machine, where a larger number of inputs costs "
        "more than all else; see the fits with more inputs above.",
        "",
        *header("weights of each component", "seconds per pass", "statistics per pass, at most, GB",
                "hours for all passes"),
    ]  # fmt: skip
    for left in LEFT:
        sizes, m = [left] * COMPONENTS, left * COMPONENTS
        columns = min(1 + m, 5_151)
        seconds = cost.pass_seconds(ROWS, INPUTS, columns, sizes, CORES)
        traffic = groups(ROWS) * 8.0 * 2 * (m**2 + m) / 1e9
        lines.append(
            row(left, f"{seconds:.0f} + {per_pass:.0f}", f"{traffic:,.0f}",
                f"{passes * (seconds + per_pass) / HOUR:.1f}")
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
        + " Statistics are matrices of m² numbers, two with the missing information, one for every "
        "65,536 rows if no worker adds its own first.",
    ]
    return lines
