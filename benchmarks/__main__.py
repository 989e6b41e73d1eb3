"""The command: ``python -m benchmarks [NAME [PART ...] [options]]``.

Every cell of a benchmark is measured in a process of its own and kept as a line of
``results/benchmark-NAME.jsonl``, so that a run that was stopped goes on where it was; a cell that
failed or ran out of time is measured again. Remove a line to measure its cell again.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.runner import ROOT, Benchmark, Plan, load, run
from sdgm.datasets import MissingDataError

NAMES = (
    "peers", "prediction", "growth", "scale", "accuracy", "chip", "equality",
    "real_tables", "uci121", "distillation", "pacs", "size", "features", "defaults",
    "constants",
)  # fmt: skip
REPORT = "report"
# what is not a whole run stays out of the documentation, in a folder that git ignores
OUTPUT, TRIAL_OUTPUT = ROOT / "docs", ROOT / "benchmarks" / "runs"


def main(argv: Sequence[str] | None = None) -> None:
    """List the benchmarks, or run one and write its page."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = make_parser()
    options = parser.parse_args(argv)
    if options.name is None:
        print("\n".join(f"{name:17} {summary(name)}" for name in NAMES))
        return
    benchmark = load(options.name)
    parts = chosen_parts(parser, benchmark, options.parts)
    plan = Plan(
        quick=options.quick,
        repeats=options.repeats
        or (benchmark.quick_repeats if options.quick else benchmark.repeats),
        rows=options.rows,
        threads=options.threads,
        timeout=options.timeout or benchmark.timeout,
        jobs=options.jobs,
        only=dict(options.only),
    )
    is_trial = plan.quick or plan.only or plan.rows
    output: Path = options.output or (TRIAL_OUTPUT if is_trial else OUTPUT)
    command = shlex.join(["python", "-m", "benchmarks", *argv])
    try:
        if parts is not None:
            run(benchmark, plan, parts, output, command)
    except MissingDataError as error:
        parser.exit(2, f"{error}\n")
    print(f"written: {benchmark.write(output)}")


def chosen_parts(
    parser: argparse.ArgumentParser, benchmark: Benchmark, words: list[str]
) -> list[str] | None:
    """Parts to measure, all of them where none is named; None for the page alone."""
    for word in words:
        if word not in (*benchmark.parts, REPORT):
            known = ", ".join((*benchmark.parts, REPORT))
            parser.error(f"{word!r} is none of {known}")
    if words == [REPORT]:
        return None
    return [word for word in words if word != REPORT] or list(benchmark.parts)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("name", nargs="?", choices=NAMES, metavar="NAME", help="; ".join(NAMES))
    words = "parts to measure (default: all); report writes the page again from its records"
    add("parts", nargs="*", metavar="PART", help=words)
    add("--quick", action="store_true", help="small, to see that it works")
    add("--repeats", type=positive, help="splits, seeds or rounds of timing")
    add("--rows", type=positive, help="rows, or the most rows where they grow")
    add("--threads", type=thread_counts, default=(1, 2), help="where they vary (default: 1,2)")
    add("--timeout", type=float, help="seconds for one cell")
    add("--jobs", type=positive, default=1, help="cells at a time (default: 1)")
    words = "cells with these values, such as data=iris,wine"
    add("--only", type=field_values, action="append", default=[], metavar="FIELD=VALUE", help=words)
    words = "folder of page and records (default: docs; of trials benchmarks/runs)"
    add("--output", type=Path, help=words)
    return parser


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def thread_counts(text: str) -> tuple[int, ...]:
    """``"1,2"`` as numbers."""
    return tuple(sorted({positive(part) for part in text.split(",")}))


def field_values(text: str) -> tuple[str, list[str]]:
    """``"data=iris,wine"`` as a name and its values; a comma before a space is part of a value."""
    field, _, values = text.partition("=")
    if not values:
        raise ValueError(text)
    return field, re.split(",(?! )", values)


def summary(name: str) -> str:
    """First line of a module, which need not be imported for it."""
    path = ROOT / "benchmarks" / name
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]


if __name__ == "__main__":
    main()
