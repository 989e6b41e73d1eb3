"""Measurements, each in a process of its own, kept in a file so that a run cut off goes on."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.child import records_of_child
from benchmarks.machine import busy_seconds
from benchmarks.records import Record
from benchmarks.scale.memory import Watched
from benchmarks.timing import timed
from reproduction.cells import Key, run_cells

THREADS = 2


@dataclass(frozen=True)
class Plan:
    """How much to measure.

    Attributes
    ----------
    quick : bool
        Small sizes that show that all works; the numbers are not for quoting.
    rows : int or None
        The most rows of a growing series.
    repeats : int
        Rounds of what is timed against something else.
    timeout : float
        Seconds for one measurement.
    """

    quick: bool = False
    rows: int | None = None
    repeats: int = 3
    timeout: float = 3600.0


@dataclass(frozen=True)
class Topic:
    """One word of the command: what it measures.

    Attributes
    ----------
    name : str
    keys : callable
        From a plan to the cells, flat dictionaries of the arguments of ``measure``.
    """

    name: str
    keys: Callable[[Plan], list[Key]]
    module: str = field(default="")

    def run(self, path: Path, plan: Plan, source: str) -> list[Record]:
        """Measure what is missing; each record says by which command and on what machine."""

        def compute(key: Key) -> Record:
            arguments = {name: value for name, value in key.items() if name != "topic"}
            function = f"scale.{self.module or self.name}:measure"
            others = CoresOfOthers()
            try:
                (record,) = records_of_child(
                    function, arguments, threads=THREADS, timeout=plan.timeout
                )
            except subprocess.TimeoutExpired:
                return {"status": "timeout", "timeout": plan.timeout}
            except subprocess.CalledProcessError:
                return {"status": "failed"}
            return {"status": "done", **record, "source": source, "others": others.until_now()}

        def tell(done: int, total: int, key: Key | None) -> None:
            what = "" if key is None else ", ".join(f"{v}" for v in key.values())
            print(f"{done}/{total} {what}", flush=True)

        keys = [{"topic": self.name, **key} for key in self.keys(plan)]
        return run_cells(path, keys, compute, progress=tell)


class CoresOfOthers:
    """How many cores are at work for others than the child processes of this one."""

    def __init__(self) -> None:
        self.begin, self.busy, self.own = perf_counter(), busy_seconds(), child_seconds()

    def until_now(self) -> float:
        """On average, since this was made; processes count as own once they have ended."""
        busy, own = busy_seconds() - self.busy, child_seconds() - self.own
        return round(max(busy - own, 0.0) / (perf_counter() - self.begin), 2)


def child_seconds() -> float:
    """Processor time of child processes that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fitted(model: Any, *data: Any) -> Record:
    """Fit, and what that took."""
    with Watched() as memory:
        begin = process_time()
        _, seconds, warned = timed(lambda: model.fit(*data))
        cpu = process_time() - begin
    return {
        "seconds": round(seconds, 4),
        "cpu_seconds": round(cpu, 4),
        "warned": warned,
        **memory.record(),
    }


def sizes_of(model: Any) -> Record:
    """Weights of a model, steps of its learning."""
    return {
        "weights": int(model.n_active_weights_),
        "initial_weights": int(model.n_initial_weights_),
        "components": int(np.sum(model.n_components_)),
        "iterations": int(model.n_iter_),
        "newton_steps": sum(record.newton_steps for record in model.history_),
    }


def judged(y: np.ndarray, P: np.ndarray) -> Record:
    """Error and log loss of probabilities of the classes 0, 1, ..."""
    classes = np.arange(P.shape[1])
    return {
        "error": round(float((P.argmax(axis=1) != y).mean()), 6),
        "log_loss": round(float(log_loss(y, P, labels=classes)), 6),
    }


def in_parts(predict: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """Predictions, some rows at a time: the features of all of them would take much memory."""
    parts: Iterable[np.ndarray] = (X[i : i + 8192] for i in range(0, len(X), 8192))
    return np.concatenate([predict(part) for part in parts])
