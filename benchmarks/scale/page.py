"""The page of scale: a section for every topic that something was measured for."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import number, percent, table
from benchmarks.records import GIGABYTE, MEGABYTE, Record, failures, results, select, values_of
from benchmarks.scale import classes, cluster, disk, dual, growth, pixels, sample
from benchmarks.scale.picture import draw, exponent, series

TEXT = markdown.texts("scale")


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
        "disk": disk_section,
        "dask": dask_section,
        "dual": dual_section,
        "classes": classes_section,
        "pixels": pixels_section,
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
    parts = [TEXT["growth"].format(test_rows=growth.TEST_ROWS)]
    if has_picture:
        parts += ["![Fit time and memory against rows](scale.png)"]
    head = ["rows", "model", "seconds", "of logistic", "memory, MB", "log loss", "error %"]
    for problem, n_components in growth.COMPONENTS.items():
        some = select(own, problem=problem)
        if some:
            rows = [
                row
                for n in sorted(values_of(some, "rows"))
                for row in growth_rows(select(some, rows=n))
            ]
            rows.append(["", growth.BAYES, "", "", "", *quality(some[0], "bayes_"), ""])
            parts += [
                f"### {problem}, {n_components} component(s) each",
                table([*head, "weights"], rows),
                f"Exponents over the last decade of rows: {exponents(own, problem)}.",
            ]
    return [*parts, *growth_target(select(own, problem="2 classes"))]


def growth_rows(some: list[Record]) -> list[list[str]]:
    """The models at one number of rows."""
    base = seconds_of(select(some, model=growth.LOGISTIC))
    rows = []
    for model in growth.MODELS:
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
    for model in growth.MODELS:
        time = exponent(*series(own, problem, model, "seconds"))
        memory = exponent(*series(own, problem, model, "allocated_bytes"))
        if time is not None:
            words.append(f"{model} {time:.2f} in time, {memory:.2f} in memory")
    return "; ".join(words)


def growth_target(some: list[Record]) -> list[str]:
    """Ten times logistic regression at the largest size."""
    rows = max((record["rows"] for record in some), default=0)
    pair = [select(some, rows=rows, model=model) for model in (growth.SDGM, growth.LOGISTIC)]
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
    return [verdict(wall <= 10.0, what, "at most 10", full_size=rows >= growth.SIZES[-1])]


def sample_section(own: list[Record]) -> list[str]:
    """What learning the structure from a sample costs."""
    head = ["problem", "rows", "way", "CPU s", "memory, MB", "log loss", "error %", "weights"]
    rows = [
        [r["problem"], f"{r['rows']:,}", r["way"], f"{r['cpu_seconds']:.0f}", megabytes(r),
         *quality(r), r["weights"]]
        for problem in sample.DATA
        for r in select(own, problem=problem)
    ]  # fmt: skip
    return [
        TEXT["sample"],
        table(head, rows),
        *(
            sample_verdict(problem, record, other)
            for problem in sample.DATA
            for record in select(own, problem=problem, way=sample.DEFAULT)
            for other in select(own, problem=problem, way=sample.AT_ONCE, rows=record["rows"])
        ),
    ]


def sample_verdict(problem: str, sampled: Record, at_once: Record) -> str:
    """Whether the sample loses something that can be measured, by the same test rows."""
    loss, error = (
        sample.difference(sampled[name], at_once[name])
        for name in ("batch_log_losses", "batch_errors")
    )
    what = (
        f"{problem}: with the sample the log loss is {abs(loss[0]):.4f} ± {loss[1]:.4f} "
        f"{'lower' if loss[0] < 0 else 'higher'} and the error {100 * abs(error[0]):.2f} ± "
        f"{100 * error[1]:.2f}% {'lower' if error[0] < 0 else 'higher'} (standard errors over the "
        "same test rows)"
    )
    good = all(mean <= 2.0 * deviation for mean, deviation in (loss, error))
    full_size = sampled["rows"] >= sample.DATA[problem][0]
    return verdict(good, what, "no loss beyond two standard errors", full_size=full_size)


def disk_section(own: list[Record]) -> list[str]:
    """Memory of a fit to a file."""
    kinds = ("before", "allocated", "mapped", "peak")
    head = ["read by", "seconds", "before, MB", "allocated, MB", "mapped, MB", "resident, MB"]
    rows = [
        [r["way"], f"{r['seconds']:.1f}", *(megabytes(r, kind) for kind in kinds), r["weights"],
         percent(r["error"])]
        for r in own
    ]  # fmt: skip
    parts = [
        TEXT["disk"].format(rows=own[0]["rows"], gigabytes=own[0]["file_bytes"] / GIGABYTE),
        table([*head, "weights", "error %"], rows),
    ]
    for r in own:
        for name, kind in ("allocated", "allocated"), ("resident", "peak"):
            size = r[f"{kind}_bytes"] / GIGABYTE
            what, target = (
                f"{r['way']}, {name}: {size:.2f} GB",
                "less than 1 GB with a file of 2 GB",
            )
            parts.append(verdict(size < 1.0, what, target, full_size=r["rows"] >= disk.ROWS))
    return parts


def dask_section(own: list[Record]) -> list[str]:
    """Workers, spills, kills; the same model."""
    may_keep = cluster.SPILL_BYTES_PER_ROW * own[0]["rows"] / MEGABYTE
    head = ["", "seconds", "of it passes", "number of passes", "spilled, MB", "workers replaced"]
    ways = [some for way in (cluster.MEMORY, *cluster.WORKERS) if (some := select(own, way=way))]
    same = len({record["active"] for record in own}) == 1
    P = np.array([record["probabilities"] for record in own])
    parts = [
        TEXT["dask"].format(
            rows=own[0]["rows"], may_keep=may_keep, limit=cluster.SPILL_LIMIT / GIGABYTE
        ),
        table([*head, "weights", "error %"], [dask_row(some) for some in ways]),
        f"Largest difference of a probability to any other run: {np.ptp(P, axis=0).max():.1g}; "
        f"surviving weights: {'the same in all runs' if same else 'NOT the same in all runs'}.",
    ]
    one, two = (select(own, way=way) for way in (cluster.ONE, cluster.TWO))
    if one and two:
        ratio, passes = seconds_of(one) / seconds_of(two), passes_of(one) / passes_of(two)
        what = f"two workers are {ratio:.2f} times as fast as one (passes alone: {passes:.2f})"
        full_size = one[0]["rows"] >= cluster.ROWS
        parts.append(verdict(ratio >= 1.5, what, "at least 1.5", full_size=full_size))
    return parts


def dask_row(some: list[Record]) -> list[str]:
    """One way; the fit in memory has no workers."""
    first = some[0]
    cells = ["", "", "", ""]
    if "passes" in first:
        cells = [f"{passes_of(some):.1f}", str(sum(first["passes"].values()))]
        cells += [megabytes(first, "spilled"), str(first["workers_replaced"])]
    size, error = first["weights"], percent(first["error"])
    return [first["way"], f"{seconds_of(some):.1f}", *cells, size, error]


def passes_of(some: list[Record]) -> float:
    """Median seconds of all passes of a fit."""
    return median(sum(record["pass_seconds"].values()) for record in some)


def dual_section(own: list[Record]) -> list[str]:
    """Kernels on many rows."""
    head = ["kernel", "seconds", "memory, MB", "weights", "vectors", "log loss", "error %"]
    rows = [
        [r["kernel"], f"{r['seconds']:.1f}", megabytes(r), r["weights"], r["vectors"], *quality(r)]
        for r in own
    ]
    return [
        TEXT["dual"].format(rows=own[0]["rows"]),
        table(head, [*rows, [growth.BAYES, "", "", "", "", *quality(own[0], "bayes_")]]),
        *(within(r, r["kernel"], 300, 4, dual.ROWS) for r in own),
    ]


def within(record: Record, name: str, seconds: float, gigabytes: float, rows: int) -> str:
    """A verdict on time and memory."""
    size = record["peak_bytes"] / GIGABYTE
    good = record["seconds"] < seconds and size < gigabytes
    what = f"{name}: {record['seconds']:.0f} s, {size:.2f} GB"
    target = f"under {seconds:g} s and {gigabytes:g} GB at {rows:,} rows"
    return verdict(good, what, target, full_size=record["rows"] >= rows)


def classes_section(own: list[Record]) -> list[str]:
    """26 generated classes, and digits."""
    parts = ["## Many classes"]
    for problem in (classes.LETTERS, classes.DIGITS):
        some = select(own, problem=problem)
        if not some:
            continue
        about = f"{some[0]['rows']:,} rows to learn from"
        if problem == classes.LETTERS:
            about += f", {classes.TEST_ROWS:,} to test on, 16 inputs, two modes per class"
        parts += [
            f"### {problem}",
            f"{about}. Peers are tuned on a fifth of the rows, and their time includes that.",
            model_table(some),
        ]
        if problem == classes.LETTERS:
            sdgm = select(some, model="SDGM")
            parts += [within(r, "SDGM", 600, 2, classes.TRAIN_ROWS) for r in sdgm]
    return parts


def pixels_section(own: list[Record]) -> list[str]:
    """MNIST's pixels."""
    parts = [TEXT["pixels"].format(rows=own[0]["rows"]), model_table(own)]
    for r in select(own, model=pixels.SDGM):
        what = f"{r['model']}: {r['seconds'] / 60:.1f} minutes"
        target, full_size = "under 30 minutes with 60,000 images", r["rows"] >= pixels.ROWS
        parts.append(verdict(r["seconds"] < 1800, what, target, full_size=full_size))
    return parts


def model_table(some: list[Record]) -> str:
    """Models of one problem, and Bayes' rule where it is known."""
    rows = [
        [r["model"], f"{r['seconds']:.1f}", megabytes(r), size_of(r), *quality(r)] for r in some
    ]
    if "bayes_error" in some[0]:
        rows.append([growth.BAYES, "", "", "", *quality(some[0], "bayes_")])
    return table(["model", "seconds", "memory, MB", "weights", "log loss", "error %"], rows)


def size_of(record: Record) -> str:
    """Weights left of how many, or vectors."""
    if "vectors" in record:
        return f"{record['vectors']:,} vectors"
    if "initial_weights" in record:
        return f"{record['weights']:,} of {record['initial_weights']:,}"
    return f"{record['weights']:,}"
