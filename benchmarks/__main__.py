"""The command: ``python -m benchmarks [peers|predict|growth|all|report] [options]``.

Without a word it runs everything, which takes some twenty minutes on two cores that have nothing
else to do; ``--quick`` takes two or three.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import growth, peers, prediction, records
from benchmarks.child import ROOT
from benchmarks.data import PROBLEMS, MissingDataError
from benchmarks.machine import header
from benchmarks.settings import Settings

RUNS = {"peers": peers.run, "predict": prediction.run, "growth": growth.run}
NEED_DATA = {"peers", "predict"}
REPEATS, QUICK_REPEATS = 20, 2
# a quick run stays out of the documentation, in a folder that git ignores
OUTPUT, QUICK_OUTPUT = ROOT / "docs", ROOT / "benchmarks" / "runs"


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, measure, write."""
    parser = make_parser()
    options = parser.parse_args(argv)
    settings = Settings(
        repeats=options.repeats or (QUICK_REPEATS if options.quick else REPEATS),
        threads=options.threads,
        quick=options.quick,
        timeout=options.timeout,
    )
    output = options.output or (QUICK_OUTPUT if options.quick else OUTPUT)
    wanted = {"all": list(RUNS), "report": []}.get(options.what, [options.what])
    if NEED_DATA.intersection(wanted):
        require_data(parser)
    command = " ".join(["python -m benchmarks", *(sys.argv[1:] if argv is None else argv)])
    for name in wanted:
        print(f"{name}: {settings.repeats} rounds, threads {settings.threads}", flush=True)
        path = records.path_of(output, name)
        records.write(path, header(settings, command), RUNS[name](settings))
    from benchmarks.report import write_page  # matplotlib is not needed before

    print(f"written: {write_page(output)}")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time sdgm against its peers, its prediction, and its growth; write a page.",
    )
    parser.add_argument(
        "what",
        nargs="?",
        default="all",
        choices=[*RUNS, "all", "report"],
        help="what to measure; report only writes the page again (default: all)",
    )
    parser.add_argument(
        "--repeats",
        type=positive,
        help=f"rounds, and seeds 0, 1, ... (default: {REPEATS}; quick: {QUICK_REPEATS})",
    )
    parser.add_argument(
        "--threads", type=thread_counts, default=(1, 2), help="counts to measure (default: 1,2)"
    )
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    parser.add_argument(
        "--timeout", type=float, default=300.0, help="seconds per point of growth (default: 300)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="folder of the page (default: docs; quick: benchmarks/runs)",
    )
    return parser


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def thread_counts(text: str) -> tuple[int, ...]:
    """``"1,2"`` as numbers."""
    return tuple(sorted({positive(part) for part in text.split(",")}))


def require_data(parser: argparse.ArgumentParser) -> None:
    """Stop before the first timing when a data file is missing."""
    for load in PROBLEMS.values():
        try:
            load()
        except MissingDataError as error:
            parser.exit(2, f"{error}\nOnly `python -m benchmarks growth` needs no data file.\n")


if __name__ == "__main__":
    main()
