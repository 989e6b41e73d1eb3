"""The process that measures one cell: ``python -m benchmarks.child NAME CELL``."""

from __future__ import annotations

import json
import os
import resource
import sys
from time import perf_counter
from typing import Any

from benchmarks.environment import peak_memory
from benchmarks.runner import THREAD_VARIABLES, load


def measured(name: str, cell: dict[str, Any]) -> dict[str, Any]:
    """Results of a cell, the seconds they took with imports, and the peak of this process."""
    begin = perf_counter()
    result = load(name).measure(**cell)
    results = [result] if isinstance(result, dict) else list(result)
    require_threads()
    return {
        "results": results,
        "cell_seconds": round(perf_counter() - begin, 3),
        "cell_bytes": peak_memory(),
    }


def require_threads() -> None:
    """Stop if a library has taken more threads than it was given."""
    from threadpoolctl import threadpool_info

    allowed = int(os.environ["OMP_NUM_THREADS"])
    for pool in threadpool_info():
        if pool["num_threads"] > allowed:
            raise RuntimeError(
                f"{pool['filepath']} uses {pool['num_threads']} threads instead of {allowed}; "
                f"it heeds none of {', '.join(THREAD_VARIABLES)}."
            )


def limit_processor(seconds: int | None) -> None:
    """Let the system end this process (SIGXCPU) once it has used so much of the processor."""
    if seconds is not None:
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))


if __name__ == "__main__":
    limit_processor(load(sys.argv[1]).processor_seconds)
    # stdout is for the record alone: what libraries print, from C too, goes to stderr
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        print(json.dumps(measured(sys.argv[1], json.loads(sys.argv[2]))), file=out)
