"""What all benchmarks rest on: which cells are due, how they end, what is kept of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import runner
from benchmarks.environment import made_by, shortened
from benchmarks.records import append, failures, path_of, read, results
from benchmarks.runner import Benchmark, Plan, run

CELLS = [{"data": "iris", "split": 0}, {"data": "wine", "split": 0}]


def benchmark(**changed: Any) -> Benchmark:
    parts: dict[str, Any] = {
        "name": "some",
        "cells": lambda plan: CELLS,
        "measure": lambda data, split: {"error": 0.1},
        "write": lambda output: output,
    }
    return Benchmark(**(parts | changed))


def ending(monkeypatch: pytest.MonkeyPatch, outcomes: list[Any]) -> Iterator[Any]:
    """Let child processes end in these ways, one after the other; what is left of them."""
    left = iter(outcomes)

    def process(arguments: list[str], **_: Any) -> Any:
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(runner.subprocess, "run", process)
    monkeypatch.setattr(runner, "surroundings", lambda text: {"command": text})
    return left


DONE = SimpleNamespace(returncode=0, stdout='{"results": [{"error": 0.1}]}')
FAILED = SimpleNamespace(returncode=1, stderr="Traceback\nValueError: no")
LATE = subprocess.TimeoutExpired("python", 1.0)


def test_a_cell_that_failed_or_ran_out_of_time_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ending(monkeypatch, [LATE, FAILED, DONE])
    some = benchmark(cells=lambda plan: CELLS[:1])
    status = []
    for _ in range(4):  # the last run finds nothing to do
        run(some, Plan(), (), tmp_path, "here")
        status.append([record["status"] for record in read(path_of(tmp_path, "some"))])
    assert status == [["timeout"], ["failed"], ["done"], ["done"]]
    assert next(left, None) is None
    assert failures(tmp_path, "some") == []


def test_a_run_goes_on_where_it_was_and_failures_are_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, [DONE, FAILED])
    run(benchmark(), Plan(), (), tmp_path, "here")
    (result,) = results(tmp_path, "some")
    assert (result["data"], result["error"], result["run"]) == ("iris", 0.1, {"command": "here"})
    (failed,) = failures(tmp_path, "some")
    assert failed["cell"] == CELLS[1] and failed["error"][-1] == "ValueError: no"
    left = ending(monkeypatch, [DONE])
    run(benchmark(), Plan(), (), tmp_path, "here")
    assert next(left, None) is None
    assert [record["data"] for record in results(tmp_path, "some")] == ["iris", "wine"]


def test_a_line_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    path = path_of(tmp_path, "some")
    append(path, {"cell": CELLS[0], "status": "done"})
    with path.open("a") as file:
        file.write('{"cell": {"data": "wi')
    assert runner.unfinished(CELLS, path) == CELLS[1:]
    append(path, {"cell": CELLS[1], "status": "done"})
    assert runner.unfinished(CELLS, path) == []


def test_a_cell_that_ended_is_kept_while_an_earlier_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, kept = path_of(tmp_path, "some"), []

    def outcome(_: Benchmark, cell: dict[str, Any], timeout: float) -> dict[str, Any]:
        if cell["data"] == "iris":
            give_up = monotonic() + 30.0
            while not read(path) and monotonic() < give_up:
                sleep(0.01)
            kept.extend(record["cell"]["data"] for record in read(path))
        return {"status": "done", "results": []}

    monkeypatch.setattr(runner, "outcome", outcome)
    run(benchmark(), Plan(jobs=2), (), tmp_path, "here")
    assert kept == ["wine"] and len(read(path)) == 2


def test_a_child_ends_when_it_has_used_its_share_of_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = "from benchmarks.child import limit_processor as l; l(3)\nwhile True: pass"
    ended = subprocess.run([sys.executable, "-c", work], cwd=runner.ROOT, timeout=300.0)
    ending(monkeypatch, [ended])
    some = benchmark(processor_seconds=3, cells=lambda plan: CELLS[:1])
    run(some, Plan(), (), tmp_path, "here")
    (first,) = failures(tmp_path, "some")
    assert (first["status"], first["timeout"]) == ("timeout", 3)


def test_only_chooses_cells_by_their_fields() -> None:
    plan = Plan(only={"data": ["wine", "heart"], "split": ["0"]})
    assert [cell for cell in CELLS if plan.wants(cell)] == CELLS[1:]


def test_a_child_process_measures_a_cell_with_the_threads_it_is_given(tmp_path: Path) -> None:
    own = benchmark(name="growth")
    bare = {"series": "import", "form": "", "N": 0, "D": 0, "M": 0, "seeds": 0, "threads": 2}
    outcome = runner.outcome(own, bare, timeout=120.0)
    assert outcome["status"] == "done"
    assert outcome["cell_bytes"] >= outcome["results"][0]["peak_bytes"] > 1e6
    assert runner.outcome(own, {**bare, "series": "no"}, timeout=120.0)["status"] == "failed"
    assert runner.outcome(own, bare, timeout=0.01)["status"] == "timeout"


def test_parts_are_checked_and_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    parser, some = command.make_parser(), benchmark(parts=("growth", "sample", "dual"))
    assert parser.parse_args([]).name is None
    assert parser.parse_args(["scale", "dual", "--quick"]).parts == ["dual"]
    assert command.chosen_parts(parser, some, []) == ["growth", "sample", "dual"]
    assert command.chosen_parts(parser, some, ["dual"]) == ["dual"]
    assert command.chosen_parts(parser, some, ["report"]) is None
    with pytest.raises(SystemExit):
        command.chosen_parts(parser, some, ["duel"])
    assert "'duel' is none of growth, sample" in capsys.readouterr().err


def test_every_benchmark_is_listed_with_what_it_measures() -> None:
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks"],
        cwd=runner.ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == list(command.NAMES)
    assert all(len(line.split(maxsplit=1)[1]) > 20 for line in done.stdout.splitlines())


def test_pages_show_the_first_of_long_lists_in_a_command() -> None:
    long = ",".join(f"set{i}" for i in range(40))
    command = "python -m benchmarks uci121 --timeout 300 --only"
    assert shortened(f"{command} data={long} --jobs 1") == (
        f"{command} data=set0,set1,set2,... --jobs 1"
    )
    short = f"{command} model=SDGMClassifier(),KernelSDGMClassifier()"
    assert shortened(short) == short


def test_values_that_are_chosen_may_have_commas_of_their_own() -> None:
    text = "method=EBM,L1 logistic, linear,network, 8 bits"
    chosen = ["EBM", "L1 logistic, linear", "network, 8 bits"]
    assert command.field_values(text) == ("method", chosen)


def test_runs_of_one_environment_are_one_line() -> None:
    run = {"command": "run", "commit": "a1", "date": "2026-11-18 20:00 UTC", "python": "3.11",
           "versions": {"numpy": "2"}, "system": "Linux", "cpu": "", "cores": 2,
           "load": 3.0}  # fmt: skip
    others = [run | {"commit": "b2", "load": 1.0}, run | {"python": "3.12", "load": None}]
    assert made_by([{"run": each} for each in (run, run, *others)]) == (
        "run, commits a1 and b2, 2026-11-18, Python 3.11, numpy 2, Linux, 2 cores, "
        "load average 1.0 to 3.0 at the start; "
        "run, commit a1, 2026-11-18, Python 3.12, numpy 2, Linux, 2 cores."
    ).replace("run, c", "`run`, c")
