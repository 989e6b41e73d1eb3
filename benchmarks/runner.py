"""One runner for all benchmarks: which cells are due, each in a process of its own, its record.

BLAS and OpenMP libraries read their number of threads from the environment when they are loaded, so
a fresh process is the one place where it can be set for all of them.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.environment import CoresOfOthers, surroundings
from benchmarks.records import DONE, FAILED, TIMEOUT, Cell, Record, append, path_of, read

ROOT = Path(__file__).resolve().parents[1]
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "POLARS_MAX_THREADS",
)  # fmt: skip
# lines of a failed process that are kept
LAST_LINES = 5


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    quick: bool = False  # small sizes that show that all works; not for quoting
    repeats: int = 1  # splits, seeds or rounds of timing
    rows: int | None = None  # or the most rows of a growing series
    threads: tuple[int, ...] = (1, 2)  # of the benchmarks that vary them
    timeout: float = 3600.0  # seconds for one cell
    jobs: int = 1  # cells measured at a time
    only: dict[str, list[str]] = field(default_factory=dict)  # values, as text, of a cell's fields

    def wants(self, cell: Cell) -> bool:
        """Whether a cell is among those chosen."""
        return all(str(cell.get(name)) in values for name, values in self.only.items())


@dataclass(frozen=True)
class Benchmark:
    """What to measure, how, and the page it ends on.

    A cell is a flat dictionary that JSON can hold: all that its results depend on. `measure` takes
    its fields as keywords and returns a record or an iterator of records. `write` makes the page
    and its pictures from the records below a folder, and returns the page's path.
    """

    name: str  # of the module below `benchmarks`
    cells: Callable[[Plan], list[Cell]]
    measure: Callable[..., Record | Iterator[Record]]
    write: Callable[[Path], Path]
    repeats: int = 1
    quick_repeats: int = 1
    threads: int = 1  # unless a cell has a field of that name
    timeout: float = 3600.0  # seconds for one cell
    processor_seconds: int | None = None  # for one cell; a busy machine does not use them up
    parts: tuple[str, ...] = ()  # values of the cells' field `topic`, if they have one


def load(name: str) -> Benchmark:
    """The benchmark that a module declares."""
    benchmark: Benchmark = importlib.import_module(f"benchmarks.{name}").BENCHMARK
    return benchmark


def run(benchmark: Benchmark, plan: Plan, parts: Iterable[str], output: Path, command: str) -> None:
    """Measure the cells that are not finished, and keep each as it comes."""
    path = path_of(output, benchmark.name)
    parts = tuple(parts)
    wanted = [cell for cell in benchmark.cells(plan) if plan.wants(cell)]
    wanted = [cell for cell in wanted if cell.get("topic") in parts or not benchmark.parts]
    due = unfinished(wanted, path)
    about = surroundings(command)
    n_done = len(wanted) - len(due)
    print(f"{benchmark.name}: {n_done} of {len(wanted)} cells are there", flush=True)

    def measured(cell: Cell) -> Record:
        return {"cell": cell, **outcome(benchmark, cell, plan.timeout), "run": about}

    with ThreadPoolExecutor(plan.jobs) as pool:
        started = [pool.submit(measured, cell) for cell in due]
        try:
            for number, ended in enumerate(as_completed(started), start=1):
                record = ended.result()
                append(path, record)
                words = ", ".join(map(str, record["cell"].values()))
                print(f"{number}/{len(due)} {words}: {record['status']}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)


def unfinished(cells: list[Cell], path: Path) -> list[Cell]:
    """Cells without a record that says they are done."""
    done = [record["cell"] for record in read(path) if record["status"] == DONE]
    return [cell for cell in cells if cell not in done]


def outcome(benchmark: Benchmark, cell: Cell, timeout: float) -> Record:
    """What a process that measures one cell ended with."""
    threads = int(cell.get("threads") or benchmark.threads)
    others = CoresOfOthers()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.child", benchmark.name, json.dumps(cell)],
            cwd=ROOT,
            env=os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return {"status": TIMEOUT, "timeout": timeout}
    if done.returncode == -signal.SIGXCPU:
        return {"status": TIMEOUT, "timeout": benchmark.processor_seconds}
    if done.returncode:
        return {"status": FAILED, "error": done.stderr.splitlines()[-LAST_LINES:]}
    return {"status": DONE, **json.loads(done.stdout), "others": others.until_now()}
