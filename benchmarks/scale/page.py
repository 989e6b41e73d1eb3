"""The page, from the records."""

from __future__ import annotations

from statistics import median

import numpy as np

from benchmarks.machine import cpu_model
from benchmarks.records import MEGABYTE, Record
from benchmarks.scale import classes, cluster, cost, disk, dual, growth, pixels, sample
from benchmarks.scale.page_of_cost import cost_section
from benchmarks.scale.passes import DERIVATIVES, GRADIENTS
from benchmarks.scale.picture import exponent, series
from benchmarks.scale.tables import found, header, number, row, seconds_of, verdict

GIGABYTE = 1e9


def page(every: list[Record], *, has_picture: bool) -> str:
    """All sections that something was measured for, and what was tried and not measured."""
    records = [record for record in every if record["status"] == "done"]
    sections = {
        "growth": lambda own: growth_section(own, has_picture=has_picture),
        "sample": sample_section,
        "disk": disk_section,
        "dask": lambda own: dask_section(own, found(records, what=cost.TWO_PROCESSES)),
        "dual": dual_section,
        "classes": classes_section,
        "pixels": pixels_section,
        "cost": lambda own: cost_section(own, [r for r in records if r["topic"] == "dask"]),
    }
    lines = [
        "# Scale",
        "",
        "Written by `python -m benchmarks.scale`; do not edit by hand. The records, one per "
        "measurement, are in [benchmark-scale.jsonl](benchmark-scale.jsonl), and "
        "`python -m benchmarks.scale report` writes this page from them. Every measurement is a "
        f"process of its own, with two threads unless said otherwise; processor: {cpu_model()}. "
        "Memory is what the process allocated, Python and its packages (about 100 MB) and data in "
        "memory included; pages of mapped files are counted apart. All generated problems have "
        "known posteriors: *Bayes' rule* is the best that any classifier can do.",
        "",
    ]
    for topic, section in sections.items():
        own = [record for record in records if record["topic"] == topic]
        if own:
            sources = dict.fromkeys(record["source"] for record in own)
            others = [record["others"] for record in own]
            lines += [
                *section(own),
                "",
                f"{'; '.join(sources)}. Of the two cores, other work took "
                f"{min(others):.1f} to {max(others):.1f} on average.",
                "",
            ]
    failed = [record for record in every if record["status"] != "done"]
    if failed:
        lines += ["## Not measured", "", *(f"- {failure(record)}" for record in failed)]
    return "\n".join(lines).rstrip() + "\n"


def failure(record: Record) -> str:
    """What was tried, and how it ended."""
    about = ("topic", "problem", "model", "way", "kernel", "what", "rows", "inputs", "round")
    words = [f"{record[key]:,}" if key == "rows" else str(record[key]) for key in about
             if key in record]  # fmt: skip
    late = f" after {record['timeout']:.0f} s" if "timeout" in record else ""
    return f"{', '.join(words)}: {record['status']}{late}"


def growth_section(own: list[Record], *, has_picture: bool) -> list[str]:
    """Time, memory and losses against rows; exponents; the target."""
    lines = [
        "## Growth with the number of rows",
        "",
        'Ten inputs. `SDGMClassifier(covariance_type="full")` starts from 66 columns per component '
        'and makes them itself; `LogisticRegression(solver="newton-cholesky")` is given the same '
        "columns, 65 and its intercept, and the time to make them is in brackets; "
        "`HistGradientBoostingClassifier()` works on the inputs, with its own early stopping. "
        "Seconds are medians over rounds. Log loss and error are those of the first round, on "
        f"{growth.TEST_ROWS:,} further rows.",
        "",
    ]
    if has_picture:
        lines += ["![Fit time and memory against rows](scale.png)", ""]
    for problem in growth.COMPONENTS:
        some = [record for record in own if record["problem"] == problem]
        if not some:
            continue
        lines += [f"### {problem}, {growth.COMPONENTS[problem]} component(s) each", ""]
        lines += header(
            "rows",
            "model",
            "seconds",
            "of logistic",
            "memory, MB",
            "log loss",
            "error %",
            "weights",
        )
        for rows in sorted({record["rows"] for record in some}):
            lines += growth_rows([r for r in some if r["rows"] == rows])
        best = some[0]
        lines += [
            row(
                "",
                growth.BAYES,
                "",
                "",
                "",
                *bayes(best),
                "",
            ),
            "",
            "Exponents over the last decade of rows: " + exponents(own, problem) + ".",
            "",
        ]
    return [*lines, *growth_target(own)]


def sample_section(own: list[Record]) -> list[str]:
    """What learning the structure from a sample costs."""
    lines = [
        "## What the sample costs",
        "",
        "Beyond 32,768 rows a sample of 16,384 decides what the model looks like; then columns "
        "that the sample had removed come back where all rows want them, and all rows decide on "
        "the weights. Beside it the same without columns that come back, and a fit to all rows at "
        "once.",
        "",
        *header("problem", "rows", "way", "CPU s", "memory, MB", "log loss", "error %", "weights"),
    ]
    for problem in sample.DATA:
        for record in found(own, problem=problem):
            memory = f"{record['allocated_bytes'] / MEGABYTE:,.0f}"
            lines.append(
                row(problem, f"{record['rows']:,}", record["way"], f"{record['cpu_seconds']:.0f}",
                    memory, f"{record['log_loss']:.4f}", percent(record["error"]),
                    record["weights"])
            )  # fmt: skip
    for problem in sample.DATA:
        for record in found(own, problem=problem, way=sample.DEFAULT):
            for other in found(own, problem=problem, way=sample.AT_ONCE, rows=record["rows"]):
                lines += ["", sample_verdict(problem, record, other)]
    return lines


def sample_verdict(problem: str, sampled: Record, at_once: Record) -> str:
    """Whether the sample loses something that can be measured, by the same test rows."""
    loss, error = (
        sample.difference(sampled[name], at_once[name])
        for name in ("batch_log_losses", "batch_errors")
    )
    what = (
        f"{problem}: with the sample the log loss is {abs(loss[0]):.4f} ± {loss[1]:.4f} "
        f"{'lower' if loss[0] < 0 else 'higher'} and the error {100 * abs(error[0]):.2f} ± "
        f"{100 * error[1]:.2f} % {'lower' if error[0] < 0 else 'higher'} (standard errors over the "
        "same test rows)"
    )
    good = all(mean <= 2.0 * deviation for mean, deviation in (loss, error))
    full_size = sampled["rows"] >= sample.DATA[problem][0]
    return verdict(good, what, "no loss beyond two standard errors", full_size=full_size)


def growth_rows(some: list[Record]) -> list[str]:
    """The models at one number of rows."""
    base = seconds_of(found(some, model=growth.LOGISTIC))
    lines = []
    for model in growth.MODELS:
        own = found(some, model=model)
        if not own:
            continue
        first, seconds = own[0], seconds_of(own)
        made = f" (+{first['feature_seconds']:.2f})" if "feature_seconds" in first else ""
        ratio = f"{seconds / base:.2f}" if base else ""
        memory = f"{median(r['allocated_bytes'] for r in own) / MEGABYTE:,.0f}"
        lines.append(
            row(f"{first['rows']:,}", model, f"{seconds:.2f}{made}", ratio, memory,
                f"{first['log_loss']:.4f}", percent(first["error"]), first.get("weights", ""))
        )  # fmt: skip
    return lines


def exponents(own: list[Record], problem: str) -> str:
    """Of time, and of memory above what was there before."""
    parts = []
    for model in growth.MODELS:
        time = exponent(*series(own, problem, model, "seconds"))
        rows, peak = series(own, problem, model, "allocated_bytes")
        if time is not None:
            parts.append(f"{model} {time:.2f} in time, {exponent(rows, peak):.2f} in memory")
    return "; ".join(parts)


def growth_target(own: list[Record]) -> list[str]:
    """Ten times logistic regression at the largest size."""
    some = [record for record in own if record["problem"] == "2 classes"]
    rows = max((record["rows"] for record in some), default=0)
    sdgm, base = (
        seconds_of(found(some, rows=rows, model=model)) for model in (growth.SDGM, growth.LOGISTIC)
    )
    if not sdgm or not base:
        return []
    cpu = [
        median(record["cpu_seconds"] for record in found(some, rows=rows, model=model))
        for model in (growth.SDGM, growth.LOGISTIC)
    ]
    what = (
        f"at {rows:,} rows, two classes: {sdgm / base:.1f} times the time of logistic regression "
        f"({cpu[0] / cpu[1]:.1f} times in processor time)"
    )
    return [verdict(sdgm / base <= 10.0, what, "at most 10", full_size=rows >= growth.SIZES[-1])]


def disk_section(own: list[Record]) -> list[str]:
    """Memory of a fit to a file."""
    lines = [
        "## From a file",
        "",
        f"Two classes, two components each, {own[0]['rows']:,} rows of ten inputs in a `.npy` file "
        f"of {own[0]['file_bytes'] / GIGABYTE:.2f} GB; labels in another. *Allocated* is memory "
        "that only this process can use. *Mapped* is what of files is mapped into it, the file of "
        "rows among them; `fit` hands the pages of a block back once it was copied.",
        "",
        *header(
            "read by",
            "seconds",
            "before, MB",
            "allocated, MB",
            "mapped, MB",
            "resident, MB",
            "weights",
            "error %",
        ),
    ]
    for r in own:
        lines.append(
            row(r["way"], f"{r['seconds']:.1f}", *(f"{r[k] / MEGABYTE:,.0f}" for k in
                ("before_bytes", "allocated_bytes", "mapped_bytes", "peak_bytes")),
                r["weights"], percent(r["error"]))
        )  # fmt: skip
    for r in own:
        for kind in "allocated", "peak":
            size = r[f"{kind}_bytes"] / GIGABYTE
            what = f"{r['way']}, {'resident' if kind == 'peak' else kind}: {size:.2f} GB"
            lines += [
                "",
                verdict(
                    size < 1.0,
                    what,
                    "less than 1 GB with a file of 2 GB",
                    full_size=r["rows"] >= disk.ROWS,
                ),
            ]
    return lines


def dask_section(own: list[Record], two_processes: list[Record]) -> list[str]:
    """Workers, spills, kills; the same model; what two cores give to work that shares nothing."""
    lines = [
        "## On Dask",
        "",
        f"Two classes, two components each, {own[0]['rows']:,} rows of ten inputs, drawn on the "
        "workers; `LocalCluster` with workers of one thread; the client and the fit in memory have "
        "two. *Passes* are the sums over all rows; the rest of the time are the samples that the "
        "client learns from, which no worker makes shorter. *Spilled* is what the workers wrote to "
        "disk: those that spill may keep "
        f"{cluster.SPILL_BYTES_PER_ROW * own[0]['rows'] / MEGABYTE:.0f} MB of "
        f"rows in memory each, by `distributed.worker.memory.target` and a limit of "
        f"{cluster.SPILL_LIMIT / GIGABYTE:g} GB.",
        "",
        *header(
            "",
            "seconds",
            "of it passes",
            "number of passes",
            "spilled, MB",
            "workers replaced",
            "weights",
            "error %",
        ),
    ]
    for way in (cluster.MEMORY, *cluster.WORKERS):
        some = found(own, way=way)
        if some:
            lines.append(dask_row(way, some))
    one, two = (found(own, way=way) for way in (cluster.ONE, cluster.TWO))
    same = len({record["active"] for record in own}) == 1
    lines += [
        "",
        f"Largest difference of a probability to any other run: {largest_difference(own):.1g}; "
        f"surviving weights: {'the same in all runs' if same else 'NOT the same in all runs'}.",
    ]
    if one and two:
        ratio = seconds_of(one) / seconds_of(two)
        passes = passes_of(one) / passes_of(two)
        what = f"two workers are {ratio:.2f} times as fast as one (passes alone: {passes:.2f})"
        lines += [
            "",
            verdict(ratio >= 1.5, what, "at least 1.5", full_size=one[0]["rows"] >= cluster.ROWS),
        ]
    for record in two_processes:
        gradient, curvature = (record["gain"][kind] for kind in (GRADIENTS, DERIVATIVES))
        lines += [
            "",
            "Two processes of one thread that go over rows in their own memory, without Dask, go "
            f"over {gradient:.2f} times as many as one for the gradient and {curvature:.2f} times "
            "as many for the curvature: the cores share what is around them, and no two workers "
            "can do better here.",
        ]
    return lines


def dask_row(way: str, some: list[Record]) -> str:
    first = some[0]
    n_passes = sum(first["passes"].values()) if "passes" in first else ""
    spilled = f"{first['spilled_bytes'] / MEGABYTE:,.0f}" if "spilled_bytes" in first else ""
    passes = f"{passes_of(some):.1f}" if "passes" in first else ""
    return row(
        way,
        f"{seconds_of(some):.1f}",
        passes,
        n_passes,
        spilled,
        first.get("workers_replaced", ""),
        first["weights"],
        percent(first["error"]),
    )


def passes_of(some: list[Record]) -> float:
    """Median seconds of all passes of a fit."""
    return median(sum(record["pass_seconds"].values()) for record in some)


def largest_difference(own: list[Record]) -> float:
    """Between the probabilities of any two runs."""
    P = np.array([record["probabilities"] for record in own])
    return float((P.max(axis=0) - P.min(axis=0)).max())


def dual_section(own: list[Record]) -> list[str]:
    """Kernels on many rows."""
    lines = [
        "## The dual form",
        "",
        f"`KernelSDGMClassifier`, two classes, two components each, {own[0]['rows']:,} rows of ten "
        "inputs.",
        "",
        *header("kernel", "seconds", "memory, MB", "weights", "vectors", "log loss", "error %"),
        *(
            row(
                r["kernel"],
                f"{r['seconds']:.1f}",
                megabytes(r),
                r["weights"],
                r["vectors"],
                *judged(r),
            )
            for r in own
        ),
        row("Bayes' rule", "", "", "", "", *bayes(own[0])),
    ]
    for r in own:
        what = f"{r['kernel']}: {r['seconds']:.0f} s, {r['peak_bytes'] / GIGABYTE:.2f} GB"
        good = r["seconds"] < 300 and r["peak_bytes"] < 4 * GIGABYTE
        lines += [
            "",
            verdict(
                good, what, "under 300 s and 4 GB at 100,000 rows", full_size=r["rows"] >= dual.ROWS
            ),
        ]
    return lines


def classes_section(own: list[Record]) -> list[str]:
    """26 generated classes, and digits."""
    lines = ["## Many classes"]
    for problem in (classes.LETTERS, classes.DIGITS):
        some = found(own, problem=problem)
        if not some:
            continue
        about = f"{some[0]['rows']:,} rows to learn from"
        if problem == classes.LETTERS:
            about += f", {classes.TEST_ROWS:,} to test on, 16 inputs, two modes per class"
        lines += [
            "", f"### {problem}", "",
            f"{about}. Peers are tuned on a fifth of the rows, and their time includes that.", "",
            *model_table(some),
        ]  # fmt: skip
        if "bayes_error" in some[0]:
            lines.append(row("Bayes' rule", "", "", "", *bayes(some[0])))
            for r in found(some, model="SDGM"):
                what = f"SDGM: {r['seconds']:.0f} s, {r['peak_bytes'] / GIGABYTE:.2f} GB"
                good = r["seconds"] < 600 and r["peak_bytes"] < 2 * GIGABYTE
                lines += [
                    "",
                    verdict(
                        good,
                        what,
                        "under 600 s and 2 GB at 15,000 rows",
                        full_size=r["rows"] >= classes.TRAIN_ROWS,
                    ),
                ]
    return lines


def pixels_section(own: list[Record]) -> list[str]:
    """MNIST's pixels."""
    lines = [
        "## Many inputs",
        "",
        f"MNIST, {own[0]['rows']:,} images of 784 pixels to learn from, the 10,000 test images. "
        "One component per class, linear and squared terms.",
        "",
        *model_table(own),
    ]
    for r in found(own, model=pixels.SDGM):
        what = f"{r['model']}: {r['seconds'] / 60:.1f} minutes"
        lines += [
            "",
            verdict(
                r["seconds"] < 1800,
                what,
                "under 30 minutes with 60,000 images",
                full_size=r["rows"] >= pixels.ROWS,
            ),
        ]
    return lines


def model_table(some: list[Record]) -> list[str]:
    """Models of one problem."""
    return [
        *header("model", "seconds", "memory, MB", "weights", "log loss", "error %"),
        *(
            row(r["model"], f"{r['seconds']:.1f}", megabytes(r), size_of(r), *judged(r))
            for r in some
        ),
    ]


def size_of(record: Record) -> str:
    """Weights left of how many, or vectors."""
    if "vectors" in record:
        return f"{record['vectors']:,} vectors"
    if "initial_weights" in record:
        return f"{record['weights']:,} of {record['initial_weights']:,}"
    return f"{record['weights']:,}"


def percent(share: float) -> str:
    return f"{100 * share:.2f}"


def megabytes(record: Record) -> str:
    return f"{record['allocated_bytes'] / MEGABYTE:,.0f}"


def judged(record: Record) -> tuple[str, str]:
    """Log loss, where there are probabilities, and error."""
    return number(record.get("log_loss"), 4), percent(record["error"])


def bayes(record: Record) -> tuple[str, str]:
    """The same of Bayes' rule."""
    return number(record["bayes_log_loss"], 4), percent(record["bayes_error"])
