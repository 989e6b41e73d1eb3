"""The page of speed: fits against peers, prediction, growth.

Written from the records of three benchmarks, as far as they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import duration, number, percent, table
from benchmarks.records import (
    FAILED,
    MEGABYTE,
    TIMEOUT,
    Record,
    failures,
    find,
    median_seconds,
    results,
    select,
    values_of,
)

PAGE = "benchmarks.md"
NONE = "-"
# names that the page looks for
FASTRVM = "RVC(kernel='rbf')"
YARDSTICK = "np.exp(X @ A)"
IN_PLACE = "the same into an array that is there already"
IMPORT = "import"
# growth below this size is mostly fixed cost
TAIL_N = 1_000
TEXT = markdown.texts("speed")


def write_page(output: Path) -> Path:
    """Draw the pictures and write the page, from the records that are there."""
    from benchmarks import speed_pictures  # matplotlib is not needed before

    names = ("peers", "prediction", "growth")
    peers, prediction, growth = (results(output, name) for name in names)
    parts = [TEXT["introduction"]]
    if peers:
        speed_pictures.draw_peers(peers, output / "img" / "benchmark-peers.png")
        parts += peers_section(peers)
    if prediction:
        parts += prediction_section(prediction)
    if growth:
        if any(record["series"] != IMPORT for record in growth):
            speed_pictures.draw_growth(growth, output / "img" / "benchmark-growth.png")
        parts += growth_section(growth, failures(output, "growth"))
    parts += [TEXT["machine"]]
    parts += [made_by(own) for own in (peers, prediction, growth) if own]
    return markdown.write(output / PAGE, parts)


def ratio(record: Record | None, yardstick: Record | None) -> float | None:
    """Of the median times."""
    if record is None or yardstick is None:
        return None
    return median_seconds(record) / median_seconds(yardstick)


def threads_of(records: Sequence[Record]) -> list[int]:
    """The thread counts measured, in order."""
    return sorted(values_of(records, "threads"))


def peers_section(records: Sequence[Record]) -> list[str]:
    parts = [TEXT["peers"], "![Fit times of sdgm and its peers](img/benchmark-peers.png)"]
    for problem in values_of(records, "problem"):
        own = select(records, problem=problem)
        parts += [f"### {problem}", peers_table(own), *warnings_of(own)]
    return parts


def peers_table(own: Sequence[Record]) -> str:
    threads = threads_of(own)
    head = ["Model", "Library"]
    for n in threads:
        head += [f"Fit, {thread_label(n)}", "x fastrvm"]
    head += ["Rounds", "Error, %", "Log loss", "Weights", "Vectors"]
    rows = []
    for first in select(own, threads=threads[0]):
        row = [f"`{first['model']}`", first["library"]]
        for n in threads:
            record = find(own, model=first["model"], threads=n)
            fastrvm = find(own, model=FASTRVM, threads=n)
            row += [spread(record), number(ratio(record, fastrvm), ".3g")]
        row += [str(len(first["seconds"])), percent(first["error"])]
        row += [number(first["log_loss"], ".3f")]
        rows.append([*row, *(number(first[n], ".4g") for n in ("n_weights", "n_vectors"))])
    return table(head, rows)


def warnings_of(own: Sequence[Record]) -> list[str]:
    """A line on fits that warned, deprecations apart."""
    lines = [
        f"`{record['model']}` gave a {category} in {count} of {len(record['seconds'])} fits "
        f"({thread_label(record['threads'])})."
        for record in own
        for category, count in record["warned"].items()
        if category != "FutureWarning"
    ]
    return ["\n".join(lines)] if lines else []


def prediction_section(records: Sequence[Record]) -> list[str]:
    threads = threads_of(records)
    head = ["Call", "Weights"]
    for n in threads:
        head += [f"Time, {thread_label(n)}", "ratio"]
    rows = []
    for first in select(records, threads=threads[0]):
        call = first["call"]
        row = [call if call == IN_PLACE else f"`{call}`", number(first["n_weights"], "d")]
        for n in threads:
            record = find(records, call=call, threads=n)
            yardstick = find(records, call=YARDSTICK, threads=n)
            row += [spread(record), number(ratio(record, yardstick), ".3g")]
        rows.append(row)
    text = TEXT["prediction"].format(rows=records[0]["rows"], yardstick=YARDSTICK)
    return [text, table(head, rows)]


def growth_section(records: Sequence[Record], failed: Sequence[Record]) -> list[str]:
    bare = ", ".join(
        f"{record['peak_bytes'] / MEGABYTE:.0f} MB with {thread_label(record['threads'])}"
        for record in select(records, series=IMPORT)
    )
    seeds = max(record["seeds"] for record in records)
    parts = [
        TEXT["growth"].format(seeds=seeds, bare=bare),
        "![Fit time and memory against N, D and M](img/benchmark-growth.png)",
        *exponents(records),
    ]
    # points that came to no end have no times
    points = [*records, *({**r["cell"], **r} for r in failed)]
    for series in ("N", "D", "M"):
        for form in ("dual", "primal"):
            own = select(points, series=series, form=form)
            if own:
                others = [name for name in ("N", "D", "M") if name != series]
                fixed = ", ".join(f"{name} = {own[0][name]:,}" for name in others)
                bare_bytes = select(records, series=IMPORT)
                parts += [f"### {series}, {form} ({fixed})", growth_table(own, series, bare_bytes)]
    return parts


def growth_table(own: Sequence[Record], series: str, bare: Sequence[Record]) -> str:
    threads = threads_of(own)
    labels = [thread_label(n) for n in threads]
    head = [
        series,
        *(f"Fit, {label}" for label in labels),
        *(f"Memory, {label}" for label in labels),
    ]
    rows = []
    for size in sorted(values_of(own, series)):
        records = [find(own, threads=n, **{series: size}) for n in threads]
        first = next((r for r in records if r and "seconds" in r), {"seconds": [], "error": None})
        rows.append(
            [
                f"{size:,}",
                *(fit_cell(record) for record in records),
                *(memory_cell(record, bare) for record in records),
                len(first["seconds"]),
                number(first.get("n_iter"), ".4g"),
                number(first.get("n_weights"), ".4g"),
                percent(first["error"], 1),
            ]
        )
    return table([*head, "Seeds", "Iterations", "Weights", "Error, %"], rows)


def fit_cell(record: Record | None) -> str:
    if record is None:
        return NONE
    if record.get("status") == TIMEOUT:
        return f"over {record['timeout']:g} s"
    if record.get("status") == FAILED:
        return FAILED
    return duration(median_seconds(record)) + ("*" if record["warned"] else "")


def memory_cell(record: Record | None, bare: Sequence[Record]) -> str:
    if record is None or "peak_bytes" not in record:
        return NONE
    return f"{megabytes(record, bare):.3g} MB"


def megabytes(record: Record, bare: Sequence[Record]) -> float:
    """Peak memory above that of a bare import with as many threads."""
    least = find(bare, threads=record["threads"])
    return max(record["peak_bytes"] - (least["peak_bytes"] if least else 0), 0) / MEGABYTE


def exponents(records: Sequence[Record]) -> list[str]:
    """Slopes of the growth with N, by least squares on logarithms."""
    bare = select(records, series=IMPORT)
    rows = []
    for form in ("dual", "primal"):
        for threads in threads_of(records):
            done = select(records, series="N", form=form, threads=threads)
            tail = [record for record in done if record["N"] >= TAIL_N]
            slopes = (
                fitted_exponent(done, median_seconds),
                fitted_exponent(tail, median_seconds),
                fitted_exponent(tail, lambda record: megabytes(record, bare)),
            )
            rows.append([form, threads, *(number(slope, ".2f") for slope in slopes)])
    head = ["Form", "Threads", "Time, all N", f"Time, N >= {TAIL_N:,}", f"Memory, N >= {TAIL_N:,}"]
    return [TEXT["exponents"], table(head, rows)]


def fitted_exponent(records: Sequence[Record], value: Callable[[Record], float]) -> float | None:
    values = np.array([value(record) for record in records])
    if len(values) < 2 or (values <= 0).any():
        return None
    return float(np.polyfit(np.log([record["N"] for record in records]), np.log(values), 1)[0])


def spread(record: Record | None) -> str:
    """Median and, in brackets, minimum of the times."""
    if record is None:
        return NONE
    return f"{duration(median_seconds(record))} ({duration(min(record['seconds']))})"


def thread_label(n: int) -> str:
    return f"{n} thread{'s' * (n > 1)}"
