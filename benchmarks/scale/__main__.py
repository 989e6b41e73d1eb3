"""The command: ``python -m benchmarks.scale [WORD ...] [--quick] [--rows N] [--repeats N]``.

Words are growth, sample, disk, dask, dual, classes, pixels and cost; without one all are run. Every
measurement is a process of its own and a line in a file, so that a run that was stopped goes on
where it was; remove a line to measure it again. The page and its picture are written from the file
after every word; ``report`` does nothing else.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.child import ROOT
from benchmarks.machine import commit
from benchmarks.records import path_of
from benchmarks.scale import classes, cluster, cost, disk, dual, growth, pixels, sample
from benchmarks.scale.cells import Plan
from reproduction.cells import read_records
from reproduction.environment import environment
from sdgm.datasets import MissingDataError

TOPICS = {
    module.TOPIC.name: module.TOPIC
    for module in (growth, sample, disk, cluster, dual, classes, pixels, cost)
}
# a quick run stays out of the documentation, in a folder that git ignores
OUTPUT, QUICK_OUTPUT = ROOT / "docs", ROOT / "benchmarks" / "runs"


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, measure, write."""
    parser = make_parser()
    options = parser.parse_args(argv)
    plan = Plan(options.quick, options.rows, options.repeats, options.timeout)
    output: Path = options.output or (QUICK_OUTPUT if options.quick else OUTPUT)
    path = path_of(output, "scale")
    words = [w for w in options.words if w != "report"] or ([] if options.words else list(TOPICS))
    command = shlex.join(["python", "-m", "benchmarks.scale", *(argv or sys.argv[1:])])
    if {"pixels", "sample"} & set(words):
        require_images(parser)
    for word in words:
        print(f"{word}:", flush=True)
        TOPICS[word].run(path, plan, f"`{command}`, commit {commit()}, {environment()}")
        write(path)
    if not words:
        write(path)


def write(path: Path) -> None:
    """The page and its picture beside the file of records."""
    from benchmarks.scale.page import page  # matplotlib is not needed before
    from benchmarks.scale.picture import draw

    records = read_records(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    done = [record for record in records if record["status"] == "done"]
    has_picture = draw(done, path.with_name("scale.png"))
    path.with_name("scale.md").write_text(page(records, has_picture=has_picture), encoding="utf-8")
    print(f"written: {path.with_name('scale.md')}", flush=True)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", type=word)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    parser.add_argument("--rows", type=int, help="rows, or the most rows where they grow")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of timing (default: 3)")
    parser.add_argument(
        "--timeout", type=float, default=3600.0, help="seconds per measurement (default: 3600)"
    )
    parser.add_argument(
        "--output", type=Path, help="folder of the page (default: docs; quick: benchmarks/runs)"
    )
    return parser


def word(text: str) -> str:
    """One of those there are; argparse's own choices refuse none at all."""
    known = [*TOPICS, "report"]
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(known)}")
    return text


def require_images(parser: argparse.ArgumentParser) -> None:
    """Stop before the first measurement when MNIST is missing."""
    from reproduction.deep.images import read_files

    try:
        read_files("mnist")
    except MissingDataError as error:
        parser.exit(2, f"{error}\nAll words but pixels and sample need no data file.\n")


if __name__ == "__main__":
    main()
