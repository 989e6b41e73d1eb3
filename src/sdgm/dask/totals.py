"""Sums over bundles of rows that the workers of a Dask cluster keep.

Each bundle is summed by the worker that keeps it. By default, the scheduler would often send rows
to an idle worker, which takes longer than waiting.
"""

from __future__ import annotations

import ctypes
import os
import uuid
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sdgm._typing import FloatArray
from sdgm.core.data.blocked_rows import of_mapped
from sdgm.core.data.rows import CANONICAL_ROWS, GROUP_BLOCKS, Rows, S, group_total, tree_sum
from sdgm.scale.threads import one_blas_thread

# parameter numbers of mallopt in the GNU C library
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
# bytes above which an array is mapped separately, and bytes that are kept when freed
LARGE_ARRAY, KEPT_BYTES = 1 << 25, 1 << 27
# number of rows of a group, and of a chunk of data given in memory
GROUP_ROWS = CANONICAL_ROWS * GROUP_BLOCKS
# totals that one task adds: a power of two, so that sums of sums are added as `tree_sum` adds all
ADDED = 4
# seconds between checks that all sums are still being computed: short compared with a fit on a
# cluster, long compared with a request to the scheduler
LOOK_EVERY = 1.0


def total_where_kept(
    bundles: Sequence[Any],
    to_Z: Callable[[FloatArray], FloatArray] | None,
    statistic: Callable[[Rows], S],
    width: int,
) -> S | None:
    """Sum of a statistic over bundles, each by the worker that keeps it.

    Returns
    -------
    total : object or None
        None if the scheduler should decide: without a cluster, within one of its tasks, if some
        workers are idle while others have several bundles, or if a worker that keeps rows is gone
        or has stopped.
    """
    try:
        from distributed import futures_of
    except ImportError:
        return None
    futures = futures_of(bundles)
    if not futures or is_in_task():
        return None
    client = futures[0].client
    at = places(client, futures)
    if at is None:
        return None
    # named after the statistic, so that the scheduler learns how long each kind takes
    name = getattr(statistic, "__qualname__", "total").split(".")[0]
    of_bundle: list[Any] = [None] * len(futures)
    for worker in dict.fromkeys(at):
        own = [i for i, each in enumerate(at) if each == worker]
        made = client.map(
            total_of_bundle,
            [futures[i] for i in own],
            to_Z=to_Z,
            statistic=statistic,
            width=width,
            key=[f"{name}-{uuid.uuid4().hex}" for _ in own],
            workers=[worker],
        )
        for i, future in zip(own, made, strict=True):
            of_bundle[i] = future
    totals = of_bundle
    while len(totals) > ADDED:
        starts = range(0, len(totals), ADDED)
        totals = [client.submit(sum_of_some, *totals[i : i + ADDED], pure=False) for i in starts]
    try:
        # the last few are added here, which takes less time than sending them to one worker
        return tree_sum([patient_result(client, each, of_bundle) for each in totals])
    except StuckError:
        client.cancel(of_bundle, force=True)
        return None
    finally:
        # an exception that came from a worker would keep them, and with them the rows
        for future in (*of_bundle, *totals):
            future.release()


def is_in_task() -> bool:
    """Whether this runs on a worker, as part of a task."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def places(client: Any, futures: Sequence[Any]) -> list[str] | None:
    """The worker that keeps each bundle; None if one is nowhere, or if some workers idle."""
    holders = client.who_has(futures)
    at = [workers[0] for future in futures if (workers := list(holders.get(future.key, ())))]
    idle = client.nthreads().keys() - set(at)
    if len(at) < len(futures) or (idle and len(at) > len(set(at))):
        return None
    return at


class StuckError(Exception):
    """A sum is not being computed, because its worker is gone or has stopped."""


def patient_result(client: Any, future: Any, of_bundle: Sequence[Any]) -> Any:
    """The result of a future, as long as all sums of bundles are finished or running."""
    while True:
        try:
            return future.result(timeout=LOOK_EVERY)
        except TimeoutError:
            waiting = {each.key for each in of_bundle if not each.done()}
            at_work = {key for keys in client.processing().values() for key in keys}
            if not waiting <= at_work:
                raise StuckError from None


def total_of_bundle(
    bundle: Rows,
    to_Z: Callable[[FloatArray], FloatArray] | None,
    statistic: Callable[[Rows], S],
    width: int,
) -> S:
    """Sum of a statistic over the groups of a bundle, on its worker."""
    keep_freed_memory()
    of_block = of_mapped(statistic, to_Z)
    # workers take the variables that set the threads of BLAS from the client, and share its cores
    with one_blas_thread():
        return tree_sum(
            group_total(group.blocks(CANONICAL_ROWS), of_block, width)
            for group in bundle.blocks(GROUP_ROWS)
        )


@cache
def keep_freed_memory() -> bool:
    """Make a worker's C library reuse freed memory; returns whether this was possible.

    By default, Dask makes it return memory to the system at once (``MALLOC_TRIM_THRESHOLD_``).
    Working arrays are a few megabytes and short-lived, and allocating each of them again, page by
    page, makes sums take more than twice as long.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of the GNU library
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY) and mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))


def sum_of_some(*totals: S) -> S:
    """Their sum, on a worker; sums of these come to the sum of all, in the same order."""
    return tree_sum(totals)
