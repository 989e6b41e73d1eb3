"""Rows on the workers of a Dask cluster: bundles of groups of canonical blocks, and their sums."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np
from dask.sizeof import sizeof

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows, S
from sdgm.dask.inputs import as_numbers
from sdgm.dask.totals import (
    ADDED,
    GROUP_ROWS,
    sum_of_some,
    total_of_bundle,
    total_where_kept,
)

# bytes up to which neighbouring groups are combined and summed by one task, in powers of two: fewer
# tasks, and a worker can still hold several
LARGEST_BUNDLE = 1 << 26
# minimum number of bundles per thread, so that idle threads can take over some
ENOUGH_BUNDLES = 2


@dataclass(frozen=True)
class DaskRows:
    """Rows on the workers of a cluster, in bundles of groups of canonical blocks.

    Attributes
    ----------
    n_rows : int
    bundles : tuple of delayed Rows
        Persisted, inputs in place of Z.
    to_Z : callable or None
        From inputs to the required coordinates.
    width : int
        Numbers per row that it makes.
    """

    n_rows: int
    bundles: tuple[Any, ...]
    to_Z: Callable[[FloatArray], FloatArray] | None = None
    width: int = 1

    def __len__(self) -> int:
        return self.n_rows

    has_initial_r = False

    def without_initial_r(self) -> DaskRows:
        """The same rows without initial responsibilities."""
        return self

    def mapped(self, to_Z: Callable[[FloatArray], FloatArray], width: int) -> DaskRows:
        """The same rows in other coordinates, a function of the inputs."""
        return replace(self, to_Z=to_Z, width=width)

    def unmapped(self) -> DaskRows:
        """The same rows, with inputs in place of Z."""
        return replace(self, to_Z=None, width=1)

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        """Sum of a statistic over all rows, with ``width`` numbers of working memory per row."""
        width = max(width, self.width)
        total = total_where_kept(self.bundles, self.to_Z, statistic, width)
        if total is not None:
            return total
        of_bundle = dask.delayed(total_of_bundle, pure=False)
        added = dask.delayed(sum_of_some, pure=False)
        totals = [of_bundle(bundle, self.to_Z, statistic, width) for bundle in self.bundles]
        while len(totals) > 1:
            totals = [added(*totals[i : i + ADDED]) for i in range(0, len(totals), ADDED)]
        return dask.compute(totals[0], optimize_graph=False)[0]


@sizeof.register(Rows)
def size_of_rows(rows: Rows) -> int:
    """Size in bytes, which a worker uses to decide when to spill."""
    return sum(part.nbytes for part in (rows.Z, rows.y, rows.s, rows.r0) if part is not None)


def bundle_of_rows(
    X: Any, y: Any, s: Any, classes: np.ndarray[Any, Any], class_weight: Any, first: int
) -> Rows:
    """One bundle, checked and encoded, on its worker."""
    X = as_numbers(X, first)
    if not np.isfinite(X).all():
        n, d = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(
            f"Input X contains NaN or infinity: {X[n, d]} in row {first + n}, column {d}; "
            "fill in or leave out such rows."
        )
    # labels that only rows of weight zero have can be encoded as any class
    codes = np.searchsorted(classes, np.asarray(y)).astype(np.int32)
    np.minimum(codes, len(classes) - 1, out=codes)
    weights = np.ones(len(codes)) if s is None else np.array(s, dtype=np.float64)
    if class_weight is not None:
        weights *= class_weight[codes]
    return Rows(X, codes, weights, first=first)


def rows_on_workers(
    X: Any, y: Any, s: Any, classes: np.ndarray[Any, Any], factors: Any
) -> DaskRows:
    """The rows in bundles, encoded, kept where they are computed."""
    make = dask.delayed(bundle_of_rows, pure=False)
    n_rows, n_features = X.shape
    threads = worker_threads()
    size = GROUP_ROWS * bundled_groups(n_rows, n_features, len(threads))
    inputs = X.rechunk({0: size, 1: -1}).to_delayed()[:, 0]
    parts = zip(inputs, parts_of(y, size), parts_of(s, size, len(inputs)), strict=True)
    bundles = []
    for i, part in enumerate(parts):
        # a pass takes as long as the thread with the most bundles
        with made_on(threads[i * len(threads) // len(inputs)]):
            bundles.append(make(*part, classes, factors, i * size))
    return DaskRows(int(n_rows), tuple(dask.persist(*bundles)))


def worker_threads() -> list[str | None]:
    """The worker of each thread of the cluster, or of this machine if there is no cluster."""
    try:
        from distributed import get_client

        threads = get_client().nthreads()
    except (ImportError, ValueError):  # no distributed, or no client
        threads = {}
    of_cluster = [worker for worker, n in sorted(threads.items()) for _ in range(n)]
    return of_cluster or [None] * (os.cpu_count() or 1)


def made_on(worker: str | None) -> AbstractContextManager[object]:
    """A context in which delayed tasks run on this worker, or on another if it is gone."""
    if worker is None:
        return nullcontext()
    return dask.annotate(workers=[worker], allow_other_workers=True)


def bundled_groups(n_rows: int, n_features: int, n_threads: int) -> int:
    """Groups of a bundle: with few inputs and many rows several, since tasks take time themselves.

    Examples
    --------
    >>> bundled_groups(2_000_000, 10, n_threads=2), bundled_groups(2_000_000, 10, n_threads=100)
    (8, 1)
    >>> bundled_groups(10**9, 10, n_threads=100), bundled_groups(10**9, 100, n_threads=100)
    (8, 1)
    """
    group_bytes = GROUP_ROWS * (8 * n_features + 12)
    size = 1
    while 2 * size * group_bytes <= LARGEST_BUNDLE:
        n_bundles = -(-n_rows // (2 * size * GROUP_ROWS))
        if n_bundles < ENOUGH_BUNDLES * n_threads:
            break
        size *= 2
    return size


def parts_of(column: Any, size: int, n_parts: int = 0) -> Any:
    """Parts of a column with this number of rows; None for each part of a missing column."""
    if column is None:
        return [None] * n_parts
    return column.rechunk({0: size}).to_delayed()
