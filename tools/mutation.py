"""How many changed formulas of `core` the tests notice.

    python tools/mutation.py                    # every fourth mutant, about 440
    python tools/mutation.py --every 1 evidence # all mutants of modules whose path has this word

First the tests of `core` run once, which tells who reaches which line and how long each takes.
Then, for each mutant, those tests that reach its line run in a forked process, the fastest first,
until one fails; a mutant also counts as noticed if they take several times as long as before. The
survivors are printed. Those that compute the same are listed with the reason in
`tools/equivalent_mutants.txt` and not counted.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import gettempdir
from types import FrameType, ModuleType
from typing import Any

import pytest
from mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "sdgm" / "core"
# those of core, and the fast ones of what only estimators and memory estimates use of it
TESTS = (
    "tests/core",
    "tests/estimators/test_prediction.py",
    "tests/estimators/test_quadratics.py",
    "tests/scale/test_memory_estimate.py",
)
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.txt"
QUIET = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--tb=no")
# what every forked process has imported already: sdgm's dependencies, but nothing of sdgm
DEPENDENCIES = (
    *("numpy", "scipy.linalg", "scipy.special", "scipy.stats"),
    *("sklearn.base", "sklearn.linear_model", "sklearn.cluster", "sklearn.mixture"),
)
FEW = 30  # tests that are tried first: most mutants do not live longer, and few files are read
SLACK, SLOWDOWN = 60.0, 5.0  # seconds, and times the time of the tests without a mutant


@dataclass(frozen=True)
class Reach:
    """Which tests reach a line, and the seconds that each takes."""

    tests: dict[tuple[str, int], set[str]]
    seconds: dict[str, float]

    def of(self, path: Path, line: int) -> list[str]:
        """Tests that reach a line: those of its own module first, the fastest first."""
        own = f"test_{path.stem}.py"
        tests = self.tests.get((str(path), line), set())
        return sorted(tests, key=lambda test: (own not in test, self.seconds[test]))


class Tracer:
    """A plugin of pytest that notes, test by test, the lines of `core` that are run."""

    def __init__(self) -> None:
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)
        self.current = ""

    def trace(self, frame: FrameType, *_: object) -> Any:
        """Note the line that is about to run."""
        if not frame.f_code.co_filename.startswith(str(CORE)):
            return None
        self.lines[self.current].add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Trace one test, its fixtures included."""
        self.current = item.nodeid
        began = time.perf_counter()
        sys.settrace(self.trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = time.perf_counter() - began


def traced(tests: Sequence[str], store: Path) -> None:
    """Run tests under the tracer and store who reaches which line."""
    tracer = Tracer()
    if pytest.main([*QUIET, "-m", "not slow", *tests], plugins=[tracer]) != 0:
        sys.exit("the tests fail without any mutant")
    lines = {test: sorted(places) for test, places in tracer.lines.items()}
    store.write_text(json.dumps({"lines": lines, "seconds": tracer.seconds}))


def reach_of(store: Path) -> Reach:
    """Read what the tracer stored."""
    known = json.loads(store.read_text())
    tests = defaultdict(set)
    for test, places in known["lines"].items():
        for path, line in places:
            tests[path, line].add(test)
    return Reach(tests, known["seconds"])


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module with another source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """A specification of the one module."""
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=str(self.path))

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


def try_mutant(path: Path, source: str, tests: Sequence[str]) -> None:
    """In a process of its own: run the tests on a changed module and exit with pytest's code."""
    os.setpgrp()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    sys.meta_path.insert(0, Mutated(name, path, source))
    sys.exit(int(pytest.main([*QUIET, *tests])))


def verdict(path: Path, mutant: Mutant, reach: Reach) -> str:
    """What the tests make of a mutant: killed, hangs, survived or unreached."""
    tests = reach.of(path, mutant.line)
    answer = "unreached"
    for some in filter(None, (tests[:FEW], tests[FEW:])):
        child = get_context("fork").Process(target=try_mutant, args=(path, mutant.source, some))
        child.start()
        child.join(SLACK + SLOWDOWN * sum(map(reach.seconds.__getitem__, some)))
        if child.is_alive():
            os.killpg(child.pid or 0, signal.SIGKILL)
            child.join()
            return "hangs"
        if child.exitcode:
            return "killed"
        answer = "survived"
    return answer


def check_control(path: Path, reach: Reach) -> None:
    """Stop if the tests fail although a module is as it was: then they would kill any mutant."""
    source = path.read_text(encoding="utf-8")
    lines = [place[1] for place in reach.tests if place[0] == str(path)]
    few = min(lines, key=lambda line: len(reach.tests[str(path), line]), default=0)
    if lines and verdict(path, Mutant(few, "", "", source), reach) != "survived":
        sys.exit(f"the tests fail in a forked process, with {path} as it was")


def modules(words: Iterable[str]) -> list[Path]:
    """Modules of `core` whose path has one of the words, or all."""
    paths = sorted(path for path in CORE.rglob("*.py") if path.name != "__init__.py")
    chosen = [*words] or [""]
    return [path for path in paths if any(word in str(path.relative_to(CORE)) for word in chosen)]


def equivalent() -> set[str]:
    """Mutants that compute the same: `file: before  ->  after`; the reason is a comment above."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def main() -> int:
    """Try the mutants; 1 if fewer than --least percent are noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("words", nargs="*", help="parts of the paths of modules; all without any")
    parser.add_argument("--every", type=int, default=4, help="try each n-th mutant only")
    parser.add_argument("--reach", type=Path, help="a file that keeps who reaches which line")
    parser.add_argument("--first", type=int, default=0, help="how many mutants to pass over")
    parser.add_argument("--least", type=float, default=85.0, help="percent that must be noticed")
    options = parser.parse_args()
    os.chdir(ROOT)
    store = options.reach or Path(gettempdir()) / f"sdgm-reach-{os.getpid()}.json"
    if not store.exists():
        # forked, so that this process has imported nothing of sdgm when it forks for the mutants
        child = get_context("fork").Process(target=traced, args=(TESTS, store))
        child.start()
        child.join()
        if child.exitcode:
            return 1
    for name in DEPENDENCIES:
        importlib.import_module(name)
    reach, same, counts = reach_of(store), equivalent(), Counter[str]()
    for path in modules(options.words):
        check_control(path, reach)
        for mutant in mutants_of(path.read_text(encoding="utf-8"))[options.first :: options.every]:
            key = f"{path.relative_to(CORE)}: {mutant.key}"
            answer = "equivalent" if key in same else verdict(path, mutant, reach)
            counts[answer] += 1
            if answer in {"survived", "unreached"}:
                print(f"{answer} {path.relative_to(ROOT)}:{mutant.line}\n    {key}", flush=True)
    noticed = counts["killed"] + counts["hangs"]
    tried = counts.total() - counts["equivalent"]
    print(f"{tried} mutants, {noticed} noticed ({noticed / tried:.1%}):", dict(counts))
    return int(100 * noticed < options.least * tried)


if __name__ == "__main__":
    sys.exit(main())
