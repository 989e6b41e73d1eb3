"""A measurement in a process of its own, with a fixed number of threads.

BLAS and OpenMP libraries read their number of threads from the environment when they are loaded, so
a fresh process is the one place where it can be set for all of them: numpy's, scipy's and fastrvm's
copies of OpenBLAS and scikit-learn's OpenMP.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def records_of_child(
    function: str, arguments: dict[str, Any], *, threads: int, timeout: float | None = None
) -> list[dict[str, Any]]:
    """What a function of this package yields when it runs alone.

    Parameters
    ----------
    function : str
        As ``"peers:measure"``; a generator of dicts that JSON can hold.
    arguments : dict
        Its keyword arguments.
    threads : int
    timeout : float, optional
        Seconds after which the process is ended with ``subprocess.TimeoutExpired``.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.child", function, json.dumps(arguments)],
        cwd=ROOT,
        env=os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)),
        stdout=subprocess.PIPE,  # the records; progress and errors go to stderr
        text=True,
        timeout=timeout,
        check=True,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [{"threads": threads, **record} for record in records]


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


def main() -> None:
    """Run the function and print its records, one line of JSON each."""
    function, arguments = sys.argv[1:]
    # stdout is for records alone: what libraries print, from C too, goes to stderr
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        module, name = function.split(":")
        measure = getattr(importlib.import_module(f"benchmarks.{module}"), name)
        for record in measure(**json.loads(arguments)):
            print(json.dumps(record), file=out, flush=True)
        require_threads()


if __name__ == "__main__":
    main()
