"""How many changed formulas of `core` the tests notice.

    python tools/mutation.py                      # 320 mutants, drawn by chance
    python tools/mutation.py --sample 0 evidence  # all of the modules whose path has this word
    python tools/mutation.py --store folder       # keeps verdicts, and goes on from there
    python tools/mutation.py --store folder --again  # tries survivors again, after new tests

The tests of `core` are collected once and run once, which tells who reaches which line and how
long each takes. For each mutant a forked process exchanges the code of the changed function and
runs tests that reach its line, those of the same module and the fastest first, until one fails; a
mutant also counts as noticed if they take several times as long as before. The survivors are
printed, and a table at the end. Mutants that compute the same are listed with the reason in
`tools/equivalent_mutants.txt` and not counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import mkdtemp
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "sdgm" / "core"
# those of core, and the fast ones of what only estimators use of it
TESTS = (
    "tests/core",
    "tests/estimators/test_prediction.py",
    "tests/estimators/test_quadratics.py",
)
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.txt"
QUIET = ("-q", "-s", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--tb=no")
ENOUGH = 20.0  # seconds of traced tests per mutant: what these do not notice, few others do
SLACK, SLOWDOWN = 60.0, 5.0  # seconds, and times the time of the tests without a mutant
NOTICED = ("killed", "hangs")
VERDICTS = {0: "survived", 1: "killed"}  # by the exit code of the forked process


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def exchange(path: Path, source: str) -> None:
    """Give the functions of an imported module the code of another source with the same lines."""

    def place(code: CodeType) -> tuple[str, int]:
        return code.co_qualname, code.co_firstlineno

    new = {place(code): code for code in codes(compile(source, str(path), "exec"))}
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename == str(path):
            function.__code__ = new[place(function.__code__)]


class Tests:
    """A plugin of pytest that collects tests and hands them to a task instead of running them."""

    def __init__(self, task: Callable[[Tests], int]) -> None:
        self.task, self.code, self.current = task, 0, ""
        self.items: dict[str, pytest.Item] = {}
        self.failed = False
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the task with what was collected."""
        self.items = {item.nodeid: item for item in session.items}
        self.code = self.task(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self.failed |= report.failed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Time one test, its fixtures included."""
        self.current, began = item.nodeid, time.perf_counter()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.perf_counter() - began

    def trace(self, frame: FrameType, *_: object) -> Any:
        """Note the line that is about to run."""
        if not frame.f_code.co_filename.startswith(str(CORE)):
            return None
        self.lines[self.current].add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    def run(self, names: Sequence[str]) -> bool:
        """Whether all of these tests pass; none after the first that fails."""
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return False
        return True

    def run_traced(self, store: Path) -> bool:
        """Run all tests and store who reaches which line."""
        sys.settrace(self.trace)
        passed = self.run([*self.items])
        sys.settrace(None)
        lines = {test: sorted(places) for test, places in self.lines.items()}
        store.write_text(json.dumps({"lines": lines, "seconds": self.seconds}))
        return passed


@dataclass(frozen=True)
class Reach:
    """Which tests reach a line, and the seconds that each takes."""

    tests: dict[tuple[str, int], set[str]]
    seconds: dict[str, float]

    @classmethod
    def read(cls, store: Path) -> Reach:
        """What a traced run stored."""
        known = json.loads(store.read_text())
        tests = defaultdict(set)
        for test, places in known["lines"].items():
            for path, line in places:
                tests[path, line].add(test)
        return cls(tests, known["seconds"])

    def of(self, path: Path, line: int) -> list[str]:
        """Tests that reach a line, as many as take `ENOUGH` seconds.

        Those of its own module come first, and the fastest first.
        """
        own = f"test_{path.stem}.py"
        tests = self.tests.get((str(path), line), set())
        ordered = sorted(tests, key=lambda test: (own not in test, self.seconds[test]))
        ends = accumulate(map(self.seconds.__getitem__, ordered))
        return ordered[: max(sum(end <= ENOUGH for end in ends), 1)]


def in_fork(task: Callable[[], bool], limit: float = float("inf")) -> str:
    """What became of a task in a forked process: survived, killed or hangs."""
    child = os.fork()
    if not child:
        code = 2
        try:
            os.setpgrp()
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            code = int(not task())
        finally:
            os._exit(code)
    began = time.monotonic()
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() - began > limit:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hangs"
        time.sleep(0.01)
    return VERDICTS.get(os.waitstatus_to_exitcode(ended[1]), "killed")


def verdict(tests: Tests, path: Path, mutant: Mutant, reach: Reach) -> str:
    """What the tests make of a mutant: killed, hangs, survived or unreached."""
    names = [name for name in reach.of(path, mutant.line) if name in tests.items]

    def passes() -> bool:
        exchange(path, mutant.source)
        return tests.run(names)

    limit = SLACK + SLOWDOWN * sum(map(reach.seconds.__getitem__, names))
    return in_fork(passes, limit) if names else "unreached"


def check_control(tests: Tests, path: Path, reach: Reach) -> None:
    """Stop if the tests fail although a module is as it was: then they would kill any mutant."""
    lines = [line for place, line in reach.tests if place == str(path)]
    few = min(lines, key=lambda line: len(reach.tests[str(path), line]), default=0)
    same = Mutant(few, "", "", path.read_text(encoding="utf-8"))
    if lines and verdict(tests, path, same, reach) != "survived":
        sys.exit(f"the tests fail in a forked process, with {path} as it was")


def modules(words: Iterable[str]) -> list[Path]:
    """Modules of `core` whose path has one of the words, or all."""
    paths = sorted(path for path in CORE.rglob("*.py") if path.name != "__init__.py")
    chosen = [*words] or [""]
    return [path for path in paths if any(word in str(path.relative_to(CORE)) for word in chosen)]


def drawn(paths: Iterable[Path], n_mutants: int, seed: int) -> list[tuple[Path, Mutant]]:
    """Mutants of modules in their order: a random sample, or all if `n_mutants` is 0."""
    every = [(path, mutant) for path in paths for mutant in mutants_of(path.read_text("utf-8"))]
    if not 0 < n_mutants < len(every):
        return every
    return [every[i] for i in sorted(random.Random(seed).sample(range(len(every)), n_mutants))]


def equivalent() -> set[str]:
    """Mutants that compute the same: `file: before  ->  after`; the reason is a comment above."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def known_verdicts(store: Path, *, again: bool) -> dict[str, str]:
    """Verdicts of earlier runs, those of survivors left out if they are to be tried again."""
    lines = store.read_text(encoding="utf-8").splitlines() if store.exists() else []
    known = dict(json.loads(line) for line in lines)
    return {place: answer for place, answer in known.items() if not again or answer in NOTICED}


def table(counts: dict[str, Counter[str]]) -> str:
    """Verdicts per package, in Markdown."""
    names = ("package", "mutants", "equivalent", "noticed", "survived", "share")
    lines = ["| " + " | ".join(names) + " |", "|---" + "|--:" * 5 + "|"]
    for package, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        noticed = sum(count[answer] for answer in NOTICED)
        survived = count["survived"] + count["unreached"]
        numbers = (count.total(), count["equivalent"], noticed, survived)
        share = f"{noticed / max(noticed + survived, 1):.1%}"
        lines.append("| " + " | ".join([package, *map(str, numbers), share]) + " |")
    return "\n".join(lines)


def try_mutants(tests: Tests, options: argparse.Namespace, folder: Path) -> int:
    """Try the mutants; 1 if fewer than --least percent are noticed."""
    if (
        not (folder / "reach.json").exists()
        and in_fork(lambda: tests.run_traced(folder / "reach.json")) != "survived"
    ):
        sys.exit("the tests fail without any mutant")
    reach, same = Reach.read(folder / "reach.json"), equivalent()
    known = known_verdicts(folder / "verdicts.jsonl", again=options.again)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    checked = set[Path]()
    for path, mutant in drawn(modules(options.words), options.sample, options.seed):
        key = f"{path.relative_to(CORE)}: {mutant.key}"
        place = f"{mutant.line} {key}"
        answer = "equivalent" if key in same else known.get(place, "")
        if not answer:
            if path not in checked:
                check_control(tests, path, reach)
                checked.add(path)
            answer = verdict(tests, path, mutant, reach)
            with (folder / "verdicts.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps([place, answer]) + "\n")
        counts[path.parent.name][answer] += 1
        if answer in {"survived", "unreached"}:
            print(f"{answer} {path.relative_to(ROOT)}:{mutant.line}\n    {key}", flush=True)
    print(table(counts))
    total = sum(counts.values(), Counter[str]())
    noticed, tried = sum(total[a] for a in NOTICED), total.total() - total["equivalent"]
    return int(100 * noticed < options.least * tried)


def main() -> int:
    """Collect the tests and try the mutants."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("words", nargs="*", help="parts of the paths of modules; all without any")
    parser.add_argument("--sample", type=int, default=320, help="mutants that are tried; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--store", type=Path, help="folder of verdicts and of who reaches what")
    parser.add_argument("--again", action="store_true", help="try the survivors in --store again")
    parser.add_argument("--least", type=float, default=85.0, help="percent that must be noticed")
    options = parser.parse_args()
    folder = (options.store or Path(mkdtemp(prefix="sdgm-mutants-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    tests = Tests(lambda tests: try_mutants(tests, options, folder))
    code = int(pytest.main([*QUIET, "-m", "not slow", *TESTS], plugins=[tests]))
    return code or tests.code


if __name__ == "__main__":
    sys.exit(main())
