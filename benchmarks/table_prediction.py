"""Predictions for a long table, beside polars that reads it and writes it again.

A CSV file of ten columns of numbers and an id is predicted with a model of two classes, and, for
comparison, read and written again by polars. Both are whole processes with two threads, in turn in
one run; what is timed is the work, without starting Python and importing. The file is then made
four times as long, to see whether memory grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import polars as pl

from benchmarks import markdown
from benchmarks.environment import made_by, peak_memory
from benchmarks.markdown import table
from benchmarks.records import MEGABYTE, Cell, Record, results, select
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import elsewhere, rotated

ROWS, INPUTS, THREADS = 1_000_000, 10, 2
LONGER = 4
NAMES = {
    "polars": "polars: read the file, write it again",
    "labels": "sdgm: labels",
    "probabilities": "sdgm: labels and probabilities",
}


def frame(n_rows: int, seed: int) -> pl.DataFrame:
    """An id, ten numbers, and a label that depends on four of them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, INPUTS)).round(5)
    score = 2 * X[:, 0] + X[:, 1] - X[:, 2] ** 2 + X[:, 3] * X[:, 0]
    label = np.where(score + rng.logistic(size=n_rows) > 0, "yes", "no")
    columns = {"id": np.arange(n_rows)} | {f"x{i + 1}": X[:, i] for i in range(INPUTS)}
    return pl.DataFrame(columns | {"label": label})


def cells(plan: Plan) -> list[Cell]:
    """All in turn, each in a process of its own; then once with a longer file."""
    rows = plan.rows or (50_000 if plan.quick else ROWS)
    rounds = [(rows, number) for number in range(plan.repeats)]
    return [
        {"what": what, "rows": n, "round": number}
        for n, number in [*rounds, (LONGER * rows, 0)]
        for what in rotated(list(NAMES), number)
    ]


def measure(what: str, rows: int, round: int) -> Record:
    """Seconds of wall clock and of processor of one run, and the peak of its process."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        source, output = folder / "rows.csv", folder / "out.csv"
        n_weights = elsewhere(write_files, folder, rows)
        act = partial(copy, source, output) if what == "polars" else predictor(what, source, output)
        begin = perf_counter(), process_time()
        act()
        seconds, cpu_seconds = perf_counter() - begin[0], process_time() - begin[1]
        return {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "peak_bytes": peak_memory(),
            "file_bytes": source.stat().st_size,
            "weights": n_weights,
        }


def copy(source: Path, output: Path) -> None:
    """What polars takes; its process imports nothing of sdgm, whose memory would count."""
    pl.read_csv(source).write_csv(output)


def predictor(what: str, source: Path, output: Path) -> Callable[[], object]:
    """Prediction with the model beside the file, which is read here."""
    from sdgm import load
    from sdgm.tables import predict_table

    model = load(source.with_name("model.sdgm"))
    return partial(predict_table, model, source, output, proba=what == "probabilities")


def write_files(folder: Path, n_rows: int) -> int:
    """Table and model; the weights that it has."""
    from sdgm import save
    from sdgm.tables import fit_table

    model = fit_table(frame(2_000, 1), "label", id_column="id", form="primal")
    save(model, folder / "model.sdgm")
    frame(n_rows, 2).drop("label").write_csv(folder / "rows.csv")
    return model.record["weights"]["final"]


def medians(records: Sequence[Record]) -> list[float]:
    """Seconds of wall clock and of processor, and peak bytes."""
    return [median(r[name] for r in records) for name in ("seconds", "cpu_seconds", "peak_bytes")]


def write(output: Path) -> Path:
    """Times, how they relate to those of polars, and memory."""
    records = results(output, "table_prediction")
    n_rows = min(record["rows"] for record in records)
    once, longer = (select(records, rows=n) for n in (n_rows, LONGER * n_rows))
    base = medians(select(once, what="polars"))
    rows = []
    for what, title in NAMES.items():
        wall, cpu, peak = medians(select(once, what=what))
        times = f"{wall:.2f}", f"{wall / base[0]:.2f}", f"{cpu:.2f}", f"{cpu / base[1]:.2f}"
        most = medians(select(longer, what=what))[2]
        rows.append([title, *times, f"{peak / 2**20:.0f}", f"{most / 2**20:.0f}"])
    head = ["", "s", "relative", "processor s", "relative", "peak MiB", f"{LONGER} times the rows"]
    return markdown.write_filled(
        output,
        "table-prediction",
        made_by=made_by(records),
        threads=THREADS,
        n_rows=n_rows,
        megabytes=once[0]["file_bytes"] / MEGABYTE,
        inputs=INPUTS,
        weights=once[0]["weights"],
        times=table(head, rows),
    )


BENCHMARK = Benchmark(
    "table_prediction", cells, measure, write, repeats=7, quick_repeats=2, threads=THREADS
)
