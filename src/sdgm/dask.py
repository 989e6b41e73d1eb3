"""The classifiers on Dask: blocks of rows stay on the workers, statistics travel (extra ``dask``).

Arrays are cut into groups of rows that do not depend on how the user's chunks are cut, and sums are
added as in memory, so that a fit ends with the same model whatever the cluster looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import dask
import dask.array as da
import numpy as np

import sdgm.estimators.dual as dual
import sdgm.estimators.primal as primal
from sdgm._typing import FloatArray
from sdgm.core.rows import CANONICAL_ROWS, GROUP_BLOCKS, Rows, S, group_total
from sdgm.estimators.large import LARGE_ROWS, Picked
from sdgm.estimators.parameters import check_labels, class_factors

GROUP_ROWS = CANONICAL_ROWS * GROUP_BLOCKS


@dataclass(frozen=True)
class DaskRows:
    """Rows on the workers of a cluster, in groups of canonical blocks.

    Attributes
    ----------
    n_rows : int
    groups : tuple of delayed Rows
        Persisted, inputs in place of Z.
    to_Z : callable or None
        From inputs to the coordinates that are wanted.
    """

    n_rows: int
    groups: tuple[Any, ...]
    to_Z: Callable[[FloatArray], FloatArray] | None = None

    def __len__(self) -> int:
        return self.n_rows

    has_start = False

    def started(self) -> DaskRows:
        """The same rows, which carry no start."""
        return self

    def mapped(self, to_Z: Callable[[FloatArray], FloatArray]) -> DaskRows:
        """The same rows in other coordinates, a function of the inputs."""
        return replace(self, to_Z=to_Z)

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        """Sum of a statistic over all rows, each of which needs ``width`` numbers at work."""
        of_group = dask.delayed(total_of_group, pure=False)
        added = dask.delayed(sum_of_two, pure=False)
        totals = [of_group(group, self.to_Z, statistic, width) for group in self.groups]
        while len(totals) > 1:  # as `tree_sum` does
            pairs = [added(*totals[i : i + 2]) for i in range(0, len(totals) - 1, 2)]
            totals = pairs + totals[2 * len(pairs) :]
        return dask.compute(totals[0])[0]


def total_of_group(
    group: Rows,
    to_Z: Callable[[FloatArray], FloatArray] | None,
    statistic: Callable[[Rows], S],
    width: int,
) -> S:
    """Sum of a statistic over one group, on its worker."""
    blocks = group.blocks(CANONICAL_ROWS)
    if to_Z is not None:
        blocks = (replace(block, Z=to_Z(block.Z)) for block in blocks)
    return group_total(blocks, statistic, width)


def sum_of_two(a: S, b: S) -> S:
    """Their sum."""
    return a + b


def group_of_rows(
    X: Any, y: Any, s: Any, classes: np.ndarray[Any, Any], class_weight: Any, first: int
) -> Rows:
    """One group, checked and encoded, on its worker."""
    X = np.asarray(X, dtype=np.float64)
    if not np.isfinite(X).all():
        n, d = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(
            f"Input X contains NaN or infinity: {X[n, d]} in row {first + n}, column {d}; "
            "fill in or leave out such rows."
        )
    codes = np.searchsorted(classes, np.asarray(y)).astype(np.int32)
    weights = np.ones(len(codes)) if s is None else np.array(s, dtype=np.float64)
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight has entries that are NaN, infinite or negative.")
    if class_weight is not None:
        weights *= class_weight[codes]
    return Rows(X, codes, weights, first=first)


class DaskMixin:
    """`fit` and prediction on Dask collections."""

    classes_: np.ndarray[Any, Any]
    n_features_in_: int
    class_weight: Any
    get_params: Any
    _options: Any
    _fit_table: Any
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
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        X, y = as_array(X), as_array(y)
        s = None if sample_weight is None else as_array(sample_weight)
        check_shapes(X, y, s)
        classes = np.asarray(da.unique(y).compute())
        check_labels(classes)
        self.classes_, self.n_features_in_ = classes, int(X.shape[1])
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.chosen_: dict[str, Any] = {}
        self.candidates_: list[Any] = []
        rows = self._rows_on_workers(X, y, s)
        if len(rows) > LARGE_ROWS:
            return self._fit_table(rows, options)
        every = rows.total(all_of_block, 1)
        local = self._unfitted_local().set_params(class_weight=None)
        local.fit(every.X, classes[every.y], every.s)
        vars(self).update(
            {k: v for k, v in vars(local).items() if k not in {"class_weight", "feature_names_in_"}}
        )
        return self

    def _rows_on_workers(self, X: Any, y: Any, s: Any) -> DaskRows:
        """The rows in groups, encoded, kept where they are computed."""
        n_rows = int(X.shape[0])
        factors = None
        if self.class_weight is not None:
            factors = self._class_factors(y, s)
        cut = {0: GROUP_ROWS}
        parts = [
            X.rechunk({0: GROUP_ROWS, 1: -1}).to_delayed()[:, 0],
            y.rechunk(cut).to_delayed(),
            [None] * -(-n_rows // GROUP_ROWS) if s is None else s.rechunk(cut).to_delayed(),
        ]
        make = dask.delayed(group_of_rows, pure=False)
        groups = [
            make(*part, self.classes_, factors, i * GROUP_ROWS)
            for i, part in enumerate(zip(*parts, strict=True))
        ]
        return DaskRows(n_rows, tuple(dask.persist(*groups)))

    def _class_factors(self, y: Any, s: Any) -> FloatArray:
        """Factor on the weights of each class: (C,)."""
        weights = da.ones(y.shape, chunks=y.chunks) if s is None else s
        sums = da.stack([weights[y == label].sum() for label in self.classes_]).compute()
        factors = class_factors(self.class_weight, self.classes_, sums)
        return np.broadcast_to(np.asarray(factors, dtype=np.float64), len(self.classes_))

    def _unfitted_local(self) -> Any:
        return self._plain(**self.get_params())

    def to_local(self) -> Any:
        """The same fitted model as an estimator for arrays, to save, export or predict with."""
        local = self._unfitted_local()
        vars(local).update(vars(self))
        return local

    def predict(self, X: Any) -> Any:
        """Most probable class of every row, as a lazy dask array: (n_samples,)."""
        local = self.to_local()
        array = as_array(X, exact=False)
        return array.rechunk({1: -1}).map_blocks(
            on_values, local, "predict", drop_axis=1, dtype=self.classes_.dtype
        )

    def predict_proba(self, X: Any) -> Any:
        """Class posterior P(c | x) of every row, as a lazy dask array: (n_samples, n_classes)."""
        local = self.to_local()
        array = as_array(X, exact=False).rechunk({1: -1})
        return array.map_blocks(
            on_values,
            local,
            "predict_proba",
            chunks=(array.chunks[0], (len(self.classes_),)),
            dtype=np.float64,
        )


def all_of_block(block: Rows) -> Picked:
    """Every row of a block."""
    return Picked(block.Z, block.y, block.s, np.arange(block.first, block.first + len(block)))


def on_values(block: Any, model: Any, method: str) -> Any:
    """A prediction for one chunk."""
    vars(model).pop("feature_names_in_", None)  # the chunk is an array
    return getattr(model, method)(np.asarray(block, dtype=np.float64))


def as_array(collection: Any, *, exact: bool = True) -> Any:
    """A dask array, with known chunks if wanted; arrays in memory become one."""
    if hasattr(collection, "to_dask_array"):
        return collection.to_dask_array(lengths=True if exact else None)
    if not isinstance(collection, da.Array):
        return da.from_array(
            np.asarray(collection), chunks=(GROUP_ROWS, *[-1] * (np.ndim(collection) - 1))
        )
    if exact and np.isnan(sum(map(sum, collection.chunks))):
        collection.compute_chunk_sizes()
    return collection


def check_shapes(X: Any, y: Any, s: Any) -> None:
    """One sentence for rows that do not match."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}; reshape it.")
    for name, other in ("y", y), ("sample_weight", s):
        if other is not None and other.shape != (X.shape[0],):
            raise ValueError(
                f"{name} has shape {other.shape} for {X.shape[0]} rows; give one per row."
            )


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
