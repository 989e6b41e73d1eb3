"""Many rows, many classes, many inputs: time, memory and what they grow with.

Every topic is a module with its own cells and its own `measure`. All have two threads, unless said
otherwise. Modules are imported when they are needed: what a process imports is in its memory.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan

# topics, and their modules where the name is taken
TOPICS = ("growth", "sample", "disk", "dask", "dual", "classes", "pixels")
MODULES = {"dask": "cluster"}


def module_of(topic: str) -> Any:
    return import_module(f"benchmarks.scale.{MODULES.get(topic, topic)}")


def cells(plan: Plan) -> list[Cell]:
    """Those of all topics."""
    return [{"topic": topic, **cell} for topic in TOPICS for cell in module_of(topic).cells(plan)]


def measure(topic: str, **cell: Any) -> Record:
    """One fit, and its test error."""
    record: Record = module_of(topic).measure(**cell)
    return record


def write(output: Path) -> Path:
    """The page and its picture."""
    path: Path = import_module("benchmarks.scale.page").write(output)
    return path


BENCHMARK = Benchmark("scale", cells, measure, write, repeats=3, threads=2, parts=TOPICS)
