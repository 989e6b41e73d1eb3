"""The command: ``python -m benchmarks.criteria [--splits 2] [--rows 250] [--data ...]``.

Cells are kept in the output folder, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from benchmarks.criteria.cells import PARTS, START_PARTS, START_SPLITS, measured_cell
from benchmarks.criteria.page import page
from benchmarks.criteria.problems import DATA, MAX_ROWS
from reproduction.cells import Key, run_cells

OUTPUT = Path("benchmarks") / "runs"


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.criteria", description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="most training rows of a set")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data", nargs="*", default=list(DATA))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    keys: list[Key] = [
        {"data": name, "split": split, "part": part, "rows": options.rows}
        for split in range(options.splits)
        for name in options.data
        for part in (*PARTS, *(START_PARTS if split < START_SPLITS else ()))
    ]

    def tell(done: int, total: int, key: Key | None) -> None:
        print(f"{done}/{total} {'' if key is None else ' '.join(map(str, key.values()))}",
              flush=True)  # fmt: skip

    records = run_cells(
        options.output / "criteria.jsonl", keys, measured_cell, jobs=options.jobs, progress=tell
    )
    chosen = ["--splits", str(options.splits), "--rows", str(options.rows)]
    if options.data != list(DATA):
        chosen += ["--data", *options.data]
    path = options.output / "criteria.md"
    command = f"python -m benchmarks.criteria {shlex.join(chosen)}"
    path.write_text(page(records, command), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
