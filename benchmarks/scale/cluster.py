"""A Dask cluster on this machine: one and two workers, one that spills, one that is killed.

Workers are processes of one thread, as Dask makes them; the client learns from the samples with
two, while they wait. They draw their rows themselves, which is not timed in a usual run; what is
killed with a worker is drawn again.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.records import Cell, Record
from benchmarks.runner import Plan
from benchmarks.scale.fitting import quality, sizes_of
from benchmarks.scale.passes import counted
from benchmarks.scale.problems import DRAWN_ROWS, PROBLEMS, TEST, TRAIN, Gaussians
from benchmarks.timing import rotated
from sdgm import SDGMClassifier

ROWS = 2_000_000
MEMORY, ONE, TWO = "in memory", "1 worker", "2 workers"
SPILLING, KILLED = "2 workers that spill", "2 workers, one killed"
WORKERS = {ONE: 1, TWO: 2, SPILLING: 2, KILLED: 2}
# bytes that a worker may keep in memory before it writes rows to disk, per row of the table; the
# rows themselves take 50 on each of two workers
SPILL_BYTES_PER_ROW = 20
# a worker's limit in all, which is above what Python and its packages take
SPILL_LIMIT = 1_000_000_000
# passes over the rows after which a worker is killed
KILL_AFTER = 6
TEST_ROWS = 100_000


def cells(plan: Plan) -> list[Cell]:
    """In memory and on clusters, in turn, then what goes wrong."""
    rows = plan.rows or (400_000 if plan.quick else ROWS)
    rounds = 1 if plan.quick else plan.repeats
    usual: list[Cell] = [
        {"rows": rows, "way": way, "round": number}
        for number in range(rounds)
        for way in rotated((MEMORY, ONE, TWO), number)
    ]
    return usual + [{"rows": rows, "way": way, "round": 0} for way in (SPILLING, KILLED)]


def measure(rows: int, way: str, **_: int) -> Record:
    """One fit, and what model it ended with."""
    data = PROBLEMS["2 classes"]
    if way == MEMORY:
        X, y = data.rows(rows, TRAIN)
        model: Any = SDGMClassifier(2, covariance_type="full", random_state=0, teacher=None)
        begin = perf_counter()
        model.fit(X, y)
        record: Record = {"seconds": round(perf_counter() - begin, 5)}
    else:
        model, record = on_cluster(data, rows, way)
    X_test, y_test = data.rows(TEST_ROWS, TEST)
    return {
        **record,
        **sizes_of(model),
        **quality(y_test, model.predict_proba(X_test)),
        "active": hashlib.sha256(np.packbits(model._active).tobytes()).hexdigest()[:16],
        "probabilities": model.predict_proba(X_test[:100])[:, 0].tolist(),
    }


def on_cluster(data: Gaussians, rows: int, way: str) -> tuple[Any, Record]:
    """A fit on a cluster of this machine; the model is for arrays."""
    from distributed import wait

    import sdgm.dask as sdgm_dask
    from sdgm.dask.rows import DaskRows

    limit = SPILL_BYTES_PER_ROW * rows if way == SPILLING else None
    with cluster_of(WORKERS[way], limit) as client:
        X, y = drawn_on_workers(data, rows)
        if way in (ONE, TWO):
            X, y = client.persist([X, y])
            wait([X, y])
        pids = list(client.run(os.getpid).values())
        killed: list[int] = []

        def kill(n_passes: int) -> None:
            if way == KILLED and n_passes >= KILL_AFTER and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        model = sdgm_dask.SDGMClassifier(2, covariance_type="full", random_state=0, teacher=None)
        with counted(DaskRows, kill) as passes:
            begin = perf_counter()
            model.fit(X, y)
            seconds = perf_counter() - begin
        alive = list(client.run(os.getpid).values())
        record = {
            "seconds": round(seconds, 5),
            **passes.record(),
            "spilled_bytes": sum(client.run(bytes_written).values()),
            "workers_replaced": len(set(pids) - set(alive)),
        }
        return model.to_local(), record


@contextmanager
def cluster_of(n_workers: int, spill_above: int | None) -> Iterator[Any]:
    """A cluster; its workers write rows to disk once they keep more bytes of them than that."""
    import dask
    from distributed import Client, LocalCluster

    share = False if spill_above is None else spill_above / SPILL_LIMIT
    settings = {"distributed.worker.memory.target": share}
    limit = "auto" if spill_above is None else SPILL_LIMIT
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=limit, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def drawn_on_workers(data: Gaussians, n_rows: int) -> tuple[Any, Any]:
    """A table as dask arrays."""
    import dask
    import dask.array as da

    X, y = [], []
    for number, first in enumerate(range(0, n_rows, DRAWN_ROWS)):
        size = min(DRAWN_ROWS, n_rows - first)
        block = dask.delayed(first_rows, pure=True)(data, number, size)
        X.append(da.from_delayed(block[0], (size, data.n_inputs), float))
        y.append(da.from_delayed(block[1], (size,), np.int64))
    return da.concatenate(X), da.concatenate(y)


def first_rows(data: Gaussians, number: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A block, on a worker."""
    X, y = data.block(number, TRAIN)
    return X[:size], y[:size]


def bytes_written(dask_worker: Any) -> int:
    """What a worker has written to disk since it began."""
    metrics = getattr(dask_worker.data, "cumulative_metrics", {})
    return int(sum(v for k, v in metrics.items() if k[0] == "disk-write" and k[1] == "bytes"))
