"""Predictions for a long table: ``python -m benchmarks.table_prediction [--rounds N] [--quick]``.

A CSV file of ten columns of numbers and an id is predicted with a model of two classes, and, for
comparison, read and written again by polars. Both are whole processes with two threads, in turn in
one run; what is timed is the work, without starting Python and importing. The file is then made
four times as long, to see whether memory grows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import sdgm
from benchmarks.child import ROOT, THREAD_VARIABLES
from benchmarks.machine import cpu_model
from benchmarks.timing import rotated
from sdgm.tables import fit_table

PAGE = ROOT / "docs" / "results" / "table-prediction.md"
ROWS, INPUTS, THREADS = 1_000_000, 10, 2
LONGER = 4
# run in a process of its own: what it does, then seconds of wall clock and processor, peak bytes
CHILD = """
import json, sys
from time import perf_counter, process_time
from benchmarks.machine import peak_memory
what, source, output, model = sys.argv[1:]
import polars as pl
if what != "polars":
    from sdgm import load
    from sdgm.tables import predict_table
    model = load(model)
start = perf_counter(), process_time()
if what == "polars":
    pl.read_csv(source).write_csv(output)
else:
    predict_table(model, source, output, proba=what == "probabilities")
times = perf_counter() - start[0], process_time() - start[1]
print(json.dumps([*times, peak_memory()]))
"""
NAMES = {
    "polars": "polars: read the file, write it again",
    "labels": "sdgm: labels",
    "probabilities": "sdgm: labels and probabilities",
}


def table(n_rows: int, seed: int) -> pl.DataFrame:
    """An id, ten numbers, and a label that depends on four of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, INPUTS)).round(5)
    score = 2 * X[:, 0] + X[:, 1] - X[:, 2] ** 2 + X[:, 3] * X[:, 0]
    label = np.where(score + rng.logistic(size=n_rows) > 0, "yes", "no")
    columns = {"id": np.arange(n_rows)} | {f"x{i + 1}": X[:, i] for i in range(INPUTS)}
    return pl.DataFrame(columns | {"label": label})


def measured(what: str, source: Path, folder: Path) -> tuple[float, float, float]:
    """Seconds of wall clock and of processor, and peak bytes, of one run."""
    threads = dict.fromkeys((*THREAD_VARIABLES, "POLARS_MAX_THREADS"), str(THREADS))
    command = [sys.executable, "-c", CHILD, what, source, folder / "out.csv", folder / "model.sdgm"]
    done = subprocess.run(
        [str(each) for each in command],
        cwd=ROOT,
        env=os.environ | threads,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    wall, cpu, peak = json.loads(done.stdout)
    return wall, cpu, peak


def write_files(folder: Path, n_rows: int) -> tuple[int, dict[str, Path]]:
    """Weights of the model that is written; the file, and the longer file."""
    model = fit_table(table(2_000, 1), "label", id_column="id", form="primal")
    sdgm.save(model, folder / "model.sdgm")
    paths = {"once": folder / "once.csv", "longer": folder / "longer.csv"}
    table(n_rows, 2).drop("label").write_csv(paths["once"])
    header, rows = paths["once"].read_bytes().split(b"\n", 1)
    with paths["longer"].open("wb") as file:
        file.write(header + b"\n")
        for _ in range(LONGER):
            file.write(rows)
    return model.record["weights"]["final"], paths


def page(n_rows: int, rounds: int, folder: Path) -> str:
    """Measure, and say what came out."""
    n_weights, paths = write_files(folder, n_rows)
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in NAMES}
    for number in range(rounds):
        for name in rotated(list(NAMES), number):
            results[name].append(measured(name, paths["once"], folder))
    longer = {name: measured(name, paths["longer"], folder)[2] for name in NAMES}
    lines = []
    for name, title in NAMES.items():
        wall, cpu, peak = (median(run[i] for run in results[name]) for i in range(3))
        base = [median(run[i] for run in results["polars"]) for i in range(2)]
        lines.append(
            f"| {title} | {wall:.2f} | {wall / base[0]:.2f} | {cpu:.2f} | {cpu / base[1]:.2f} | "
            f"{peak / 2**20:.0f} | {longer[name] / 2**20:.0f} |"
        )
    megabytes = paths["once"].stat().st_size / 1e6
    return "\n".join(
        [
            "# Predictions for a long table",
            "",
            f"`python -m benchmarks.table_prediction --rounds {rounds}`, polars {pl.__version__}, "
            f"{THREADS} threads of {cpu_model()}. A CSV file of {n_rows:,} rows ({megabytes:.0f} "
            f"MB): an id and {INPUTS} columns of numbers; a model of two classes with "
            f"{n_weights} weights. Medians of whole "
            "processes in turn, without the start of Python and imports.",
            "",
            f"| | s | relative | processor s | relative | peak MiB | {LONGER} times the rows |",
            "|---|---|---|---|---|---|---|",
            *lines,
            "",
            "Peak memory includes Python and its packages. sdgm reads blocks of 8 MB, whatever the "
            "length of the file; polars has the whole table in memory.",
            "",
        ]
    )


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.table_prediction", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=7, help="of timing (default: 7)")
    parser.add_argument("--quick", action="store_true", help="few rows and rounds, no page")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        n_rows, rounds = (50_000, 2) if options.quick else (ROWS, options.rounds)
        text = page(n_rows, rounds, Path(folder))
    print(text)
    if not options.quick:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
