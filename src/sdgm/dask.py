"""The classifiers on Dask: blocks of rows stay on the workers, statistics travel (extra ``dask``).

Arrays are cut into groups of rows that do not depend on how the user's chunks are cut, and sums are
added as in memory, so that a fit ends with the same model whatever the cluster looks like.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from dask.sizeof import sizeof
from sklearn.utils.validation import check_is_fitted

import sdgm.estimators.dual as dual
import sdgm.estimators.primal as primal
from sdgm._dask_inputs import (
    as_array,
    as_numbers,
    as_rows,
    check_names,
    label_weights,
    names_of,
)
from sdgm._typing import FloatArray
from sdgm.core.reduction import of_mapped
from sdgm.core.rows import CANONICAL_ROWS, GROUP_BLOCKS, Rows, S, group_total, tree_sum
from sdgm.estimators.journal import PART_ROWS, fingerprint, keeping_journal
from sdgm.estimators.large import LARGE_ROWS, Picked
from sdgm.estimators.parameters import check_labels, class_factors
from sdgm.estimators.prediction import require_covariance
from sdgm.estimators.threads import one_blas_thread

# numbers that the GNU library's mallopt knows its settings by
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
# bytes of an array that is got from the system by itself, and that are kept when freed
LARGE_ARRAY, KEPT_BYTES = 1 << 25, 1 << 27
GROUP_ROWS = CANONICAL_ROWS * GROUP_BLOCKS
# totals that one task adds: a power of two, so that sums of sums are added as `tree_sum` adds all
ADDED = 4
# neighbouring groups that are kept as one, to be summed by one task: powers of two as well, as long
# as they are not more bytes than this and every thread of the workers has so many bundles
LARGEST_BUNDLE = 1 << 26
ENOUGH_BUNDLES = 2
# seconds after which it is looked whether a worker is gone
PATIENCE = 1.0


@dataclass(frozen=True)
class DaskRows:
    """Rows on the workers of a cluster, in bundles of groups of canonical blocks.

    Attributes
    ----------
    n_rows : int
    bundles : tuple of delayed Rows
        Persisted, inputs in place of Z.
    to_Z : callable or None
        From inputs to the coordinates that are wanted.
    width : int
        Numbers per row that it makes.
    """

    n_rows: int
    bundles: tuple[Any, ...]
    to_Z: Callable[[FloatArray], FloatArray] | None = None
    width: int = 1

    def __len__(self) -> int:
        return self.n_rows

    has_start = False

    def started(self) -> DaskRows:
        """The same rows, which carry no start."""
        return self

    def mapped(self, to_Z: Callable[[FloatArray], FloatArray], width: int) -> DaskRows:
        """The same rows in other coordinates, a function of the inputs."""
        return replace(self, to_Z=to_Z, width=width)

    def unmapped(self) -> DaskRows:
        """The same rows, with inputs in place of Z."""
        return replace(self, to_Z=None, width=1)

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        """Sum of a statistic over all rows, each of which needs ``width`` numbers at work."""
        width = max(width, self.width)
        futures = futures_of_cluster(self.bundles)
        if futures:
            return total_on_cluster(futures, self.to_Z, statistic, width)
        of_bundle = dask.delayed(total_of_bundle, pure=False)
        totals = [of_bundle(bundle, self.to_Z, statistic, width) for bundle in self.bundles]
        return tree_sum(dask.compute(*totals, optimize_graph=False))


def futures_of_cluster(bundles: Sequence[Any]) -> list[Any]:
    """Where they are on the workers of a cluster, or nothing where they are in this process."""
    try:
        from distributed import futures_of
    except ImportError:
        return []
    return futures_of(bundles)


def total_on_cluster(
    futures: Sequence[Any],
    to_Z: Callable[[FloatArray], FloatArray] | None,
    statistic: Callable[[Rows], S],
    width: int,
) -> S:
    """Sum of a statistic over bundles, each by the worker that keeps it.

    Left to itself the scheduler would rather send rows to a worker that has nothing to do at the
    moment, time and again. A worker that is gone is not waited for.
    """
    client = futures[0].client
    while True:
        # named by what they sum, so that Dask learns how long each kind takes
        name = statistic.__qualname__.split(".")[0]
        holders = client.who_has(futures)
        pinned = {worker for workers in holders.values() for worker in workers}
        totals = [
            client.submit(
                total_of_bundle,
                future,
                to_Z,
                statistic,
                width,
                key=f"{name}-{uuid.uuid4().hex}",
                workers=list(holders.get(future.key, ())) or None,
            )
            for future in futures
        ]
        while len(totals) > ADDED:
            starts = range(0, len(totals), ADDED)
            totals = [
                client.submit(sum_of_some, *totals[i : i + ADDED], pure=False) for i in starts
            ]
        if all_done(client, totals, pinned):
            # the last few are added here, which takes less time than to send them to one worker
            return tree_sum(client.gather(totals))
        client.cancel(totals, force=True)


def all_done(client: Any, totals: Sequence[Any], workers: set[str]) -> bool:
    """Wait for the totals; whether they are there, or else one of the workers is gone."""
    from distributed import wait

    while True:
        try:
            wait(totals, timeout=PATIENCE)
        except TimeoutError:
            if not workers <= client.nthreads().keys():
                return False
        else:
            return True


@sizeof.register(Rows)
def size_of_rows(rows: Rows) -> int:
    """Bytes, by which a worker knows when to write rows to disk."""
    return sum(part.nbytes for part in (rows.Z, rows.y, rows.s, rows.r0) if part is not None)


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
    """Have a worker's C library use freed memory again; whether it was told to.

    Dask tells it to hand memory back to the system at once (``MALLOC_TRIM_THRESHOLD_``). Working
    arrays are a few megabytes and short-lived, and getting each of them anew, page by page, makes
    sums take more than twice as long.
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
    # labels that no row of positive weight has count for nothing, as any class
    codes = np.searchsorted(classes, np.asarray(y)).astype(np.int32)
    np.minimum(codes, len(classes) - 1, out=codes)
    weights = np.ones(len(codes)) if s is None else np.array(s, dtype=np.float64)
    if class_weight is not None:
        weights *= class_weight[codes]
    return Rows(X, codes, weights, first=first)


class DaskMixin:
    """`fit` and prediction on Dask collections."""

    classes_: np.ndarray[Any, Any]
    mixture_weights_: FloatArray
    n_features_in_: int
    class_weight: Any
    preset: Any
    init: Any
    checkpoint: Any
    get_params: Any
    _options: Any
    _fit_table: Any
    _goes_on: Any
    _is_precomputed: Any
    _take_over: Any
    _plain: Any  # the class that works on arrays

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows that are spread over a cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
        y : dask array or series of shape (n_samples,)
        sample_weight : dask array or series of shape (n_samples,), optional

        Returns
        -------
        self
        """
        options = self._options()
        names = names_of(X)
        X, y, s = as_rows(X, y, sample_weight)
        is_large = X.shape[0] > LARGE_ROWS
        if is_large:
            self._check_sums_suffice(options)
        classes, weights = weights_by_label(y, s)
        factors = None
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, classes, weights)
        rows = rows_on_workers(X, y, s, classes, factors)
        vars(self).pop("weights_path_", None)
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if not is_large:
            return self._fit_here(rows, classes)
        self.classes_, self.n_features_in_ = classes, int(X.shape[1])
        self.chosen_: dict[str, Any] = {}
        self.candidates_: list[Any] = []
        with keeping_journal(self.checkpoint, lambda: mark_of(self, rows)):
            return self._fit_table(rows, options)

    def _check_sums_suffice(self, options: Any) -> None:
        """Refuse settings that need all rows at once."""
        reason = None
        if self._is_precomputed():
            reason = "kernel='precomputed' has as many columns as rows"
        elif not options.merge_rows:
            reason = f"preset={str(self.preset)!r} learns from all rows at once"
        elif not isinstance(self.init, str):
            reason = "an array for init has a start for every row"
        elif self._goes_on():
            reason = "warm_start=True goes on with all rows at once"
        if reason is not None:
            raise ValueError(
                f"{reason}, which is not done with more than {LARGE_ROWS} rows on a cluster; use "
                "another setting, or the classifier for arrays in memory."
            )

    def _fit_here(self, rows: DaskRows, classes: np.ndarray[Any, Any]) -> Self:
        """Fit to few rows, brought here."""
        every = rows.total(all_of_block, 1)
        local = self.to_local() if self._goes_on() else self._unfitted_local()
        local.set_params(class_weight=None)
        local.fit(every.X, classes[every.y], every.s)
        own = {*self.get_params(), "feature_names_in_"}
        vars(self).update({k: v for k, v in vars(local).items() if k not in own})
        self._take_over(self, every.number)
        return self

    def _unfitted_local(self) -> Any:
        return self._plain(**self.get_params())

    def to_local(self) -> Any:
        """The same fitted model as an estimator for arrays, to save, export or predict with."""
        local = self._unfitted_local()
        vars(local).update(vars(self))
        return local

    def predict(self, X: Any) -> Any:
        """Most probable class of every row, as a lazy dask array: (n_samples,)."""
        array, local = self._ready(X)
        return array.map_blocks(
            on_values, local, "predict", drop_axis=1, meta=np.empty(0, self.classes_.dtype)
        )

    def predict_proba(self, X: Any) -> Any:
        """Class posterior P(c | x) of every row, as a lazy dask array: (n_samples, n_classes)."""
        return self._matrix(X, "predict_proba", lambda: len(self.classes_))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`, as a lazy dask array: (n_samples, n_classes)."""
        return self._matrix(X, "predict_log_proba", lambda: len(self.classes_))

    def predict_component_proba(self, X: Any) -> Any:
        """Component posterior P(c, m | x), as a lazy dask array: (n_samples, n_components)."""
        return self._matrix(X, "predict_component_proba", lambda: len(self.mixture_weights_))

    def predict_proba_averaged(self, X: Any, *, return_std: bool = False) -> Any:
        """Class probabilities averaged over the posterior of the weights, as a lazy dask array.

        With ``return_std``, two of them: means and standard deviations, (n_samples, n_classes).
        """
        check_is_fitted(self)
        require_covariance(self)
        if not return_std:
            return self._matrix(X, "predict_proba_averaged", lambda: len(self.classes_))
        both = self._matrix(X, "_averaged", lambda: 2 * len(self.classes_))
        return both[:, : len(self.classes_)], both[:, len(self.classes_) :]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose class is predicted, a number.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        """
        check_is_fitted(self)
        check_names(names_of(X), getattr(self, "feature_names_in_", None))
        X, y, s = as_rows(X, y, sample_weight)
        is_right = (self.predict(X) == y).astype(np.float64)
        return float(da.average(is_right, weights=s).compute())

    def _matrix(self, X: Any, method: str, n_columns: Callable[[], int]) -> Any:
        """A prediction of several numbers per row."""
        array, local = self._ready(X)
        return array.map_blocks(
            on_values,
            local,
            method,
            n_columns(),
            chunks=(array.chunks[0], (n_columns(),)),
            meta=np.empty((0, 0)),
        )

    def _ready(self, X: Any) -> tuple[Any, Any]:
        """Rows to predict as an array of whole rows, and a model for its chunks."""
        check_is_fitted(self)
        check_names(names_of(X), getattr(self, "feature_names_in_", None))
        array = as_array(X, exact=False)
        if array.ndim != 2 or array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {array.shape}, and the model has {self.n_features_in_} inputs; give "
                "one column for each."
            )
        local = self.to_local()
        vars(local).pop("feature_names_in_", None)  # chunks are arrays
        return array.rechunk({1: -1}), local


def rows_on_workers(
    X: Any, y: Any, s: Any, classes: np.ndarray[Any, Any], factors: Any
) -> DaskRows:
    """The rows in bundles, encoded, kept where they are computed."""
    make = dask.delayed(bundle_of_rows, pure=False)
    n_rows, n_features = X.shape
    threads = worker_threads()
    size = GROUP_ROWS * bundled_groups(n_rows, n_features, sum(threads.values()))
    inputs = X.rechunk({0: size, 1: -1}).to_delayed()[:, 0]
    parts = zip(inputs, parts_of(y, size), parts_of(s, size, len(inputs)), strict=True)
    bundles = []
    for i, part in enumerate(parts):
        with placed(i, len(inputs), threads):
            bundles.append(make(*part, classes, factors, i * size))
    return DaskRows(int(n_rows), tuple(dask.persist(*bundles)))


def worker_threads() -> dict[str | None, int]:
    """Threads of each worker of the cluster, or those of this machine where there is none."""
    try:
        from distributed import get_client

        threads = get_client().nthreads()
    except (ImportError, ValueError):  # no distributed, or no client
        threads = {}
    return dict(sorted(threads.items())) or {None: os.cpu_count() or 1}


def placed(
    i: int, n_bundles: int, threads: dict[str | None, int]
) -> AbstractContextManager[object]:
    """Within, a bundle is made for a worker, as many for each of its threads as for any other.

    A pass takes as long as the worker with most bundles. Another is taken if that one is gone.
    """
    places = [worker for worker, n_threads in threads.items() for _ in range(n_threads)]
    worker = places[i * len(places) // n_bundles]
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
    """Parts of a column of so many rows; of one that is not there, as many times nothing."""
    if column is None:
        return [None] * n_parts
    return column.rechunk({0: size}).to_delayed()


def weights_by_label(y: Any, s: Any) -> tuple[np.ndarray[Any, Any], FloatArray]:
    """Labels with a weight above zero, and their weights: (C,), (C,).

    Added in the order of the groups, so that the chunks of the user do not matter.
    """
    of_group = dask.delayed(label_weights, pure=False)
    parts = parts_of(y, GROUP_ROWS)
    pairs = zip(parts, parts_of(s, GROUP_ROWS, len(parts)), strict=True)
    found = dask.compute(*[of_group(*pair, i * GROUP_ROWS) for i, pair in enumerate(pairs)])
    every = np.concatenate([labels for labels, _ in found])
    check_labels(every)
    classes = np.unique(every)
    weights = np.zeros(len(classes))
    for labels, of_labels in found:
        weights[np.searchsorted(classes, labels)] += of_labels
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; leave at least some in.")
    return classes[weights > 0.0], weights[weights > 0.0]


def mark_of(estimator: Any, rows: DaskRows) -> str:
    """A mark of the settings and of the first rows of every block, wherever they are kept."""
    digests = rows.total(digest_of_block, 1)
    return fingerprint(estimator, np.frombuffer(digests, dtype=np.uint8), estimator.classes_, None)


def digest_of_block(block: Rows) -> bytes:
    """A mark of the first rows of a block."""
    mark = hashlib.blake2b(digest_size=16)
    for part in (block.Z, block.y, block.s):
        mark.update(np.ascontiguousarray(part[:PART_ROWS]).tobytes())
    return mark.digest()


def all_of_block(block: Rows) -> Picked:
    """Every row of a block."""
    return Picked(block.Z, block.y, block.s, np.arange(block.first, block.first + len(block)))


def on_values(block: Any, model: Any, method: str, n_columns: int | None = None) -> Any:
    """A prediction for one chunk, which may have no rows; if it is several, side by side."""
    if len(block):
        result = getattr(model, method)(np.asarray(block, dtype=np.float64))
        return np.hstack(result) if isinstance(result, tuple) else result
    return model.classes_[:0] if n_columns is None else np.empty((0, n_columns))


class SDGMClassifier(DaskMixin, primal.SDGMClassifier):
    """`sdgm.SDGMClassifier` on dask arrays and dataframes, with the same parameters.

    Examples
    --------
    >>> import dask.array as da
    >>> rng = da.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2), chunks=(300, 2))
    >>> y = X[:, 0] + rng.normal(size=1000, chunks=400) > 0
    >>> model = SDGMClassifier(n_components=1).fit(X, y)
    >>> model.predict_proba(X).compute().shape
    (1000, 2)
    """

    _plain = primal.SDGMClassifier


class KernelSDGMClassifier(DaskMixin, dual.KernelSDGMClassifier):
    """`sdgm.KernelSDGMClassifier` on dask arrays and dataframes, with the same parameters.

    Examples
    --------
    >>> import dask.array as da
    >>> rng = da.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2), chunks=(300, 2))
    >>> y = (X**2).sum(axis=1) + rng.normal(size=1000, chunks=400) > 1
    >>> model = KernelSDGMClassifier(n_components=1).fit(X, y)
    >>> bool((model.predict(X) == y).mean().compute() > 0.75)
    True
    """

    _plain = dual.KernelSDGMClassifier
