"""The classifiers on Dask: rows stay on the workers, which send statistics (extra ``dask``).

Arrays are cut into groups of rows that do not depend on how the user's chunks are cut, and sums are
added as in memory, so that a fit ends with the same model whatever the cluster looks like.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from sklearn.utils.validation import check_is_fitted

import sdgm.estimators.dual as dual
import sdgm.estimators.primal as primal
from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows
from sdgm.core.model.fitted_model import FittedModel
from sdgm.dask.inputs import (
    as_array,
    as_rows,
    check_names,
    label_weights,
    names_of,
)
from sdgm.dask.rows import DaskRows, parts_of, rows_on_workers
from sdgm.dask.totals import GROUP_ROWS
from sdgm.estimators.parameters import check_labels, class_factors
from sdgm.estimators.plan import plan_of
from sdgm.estimators.run import Run
from sdgm.estimators.training import Training
from sdgm.scale.checkpoint import PART_ROWS, Checkpoint, fingerprint, kept_checkpoint
from sdgm.scale.many_rows import fit_many_rows, why_not_by_sums
from sdgm.scale.sampling import Picked
from sdgm.scale.table import LARGE_ROWS


class DaskMixin:
    """`fit` and prediction on Dask collections."""

    classes_: np.ndarray[Any, Any]
    mixture_weights_: FloatArray
    model_: FittedModel
    training_: Training
    n_features_in_: int
    class_weight: Any
    checkpoint: Any
    warm_start: bool
    verbose: int
    get_params: Any
    _keep: Any
    _previous_fit: Any
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
        previous = self._previous_fit(X)
        plan = plan_of(self, previous=previous)
        names = names_of(X)
        X, y, s = as_rows(X, y, sample_weight)
        is_large = X.shape[0] > LARGE_ROWS
        reason = why_not_by_sums(plan) if is_large else None
        if reason is not None:
            raise ValueError(
                f"{reason}, which is not supported with more than {LARGE_ROWS} rows on Dask; use "
                "another setting, or the classifier for arrays in memory."
            )
        classes, weights = weights_by_label(y, s)
        factors = None
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, classes, weights)
        rows = rows_on_workers(X, y, s, classes, factors)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = int(X.shape[1])
        if not is_large:
            return self._fit_here(rows, classes, is_warm=previous is not None)
        kept: AbstractContextManager[Checkpoint | None] = nullcontext()
        if self.checkpoint is not None:
            kept = kept_checkpoint(self.checkpoint, lambda: mark_of(self, rows, classes))
        with kept as checkpoint:
            run = Run(checkpoint, self.verbose)
            fit = fit_many_rows(rows, self.n_features_in_, classes, plan, run)
            return self._keep(fit, run)

    def _fit_here(self, rows: DaskRows, classes: np.ndarray[Any, Any], *, is_warm: bool) -> Self:
        """Fit to few rows, collected on the client."""
        every = rows.total(all_of_block, 1)
        local = self.to_local() if is_warm else self._unfitted_local()
        local.set_params(class_weight=None)
        local.fit(every.X, classes[every.y], every.s)
        self.model_, self.training_ = local.model_.at_rows(every.number), local.training_
        return self

    def _unfitted_local(self) -> Any:
        return self._plain(**self.get_params())

    def to_local(self) -> Any:
        """The same fitted model as an estimator for arrays, to save, export or predict."""
        check_is_fitted(self)
        local = self._unfitted_local()
        local.model_, local.training_ = self.model_, self.training_
        local.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            local.feature_names_in_ = self.feature_names_in_
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
        self.model_.require_covariance()
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


def mark_of(estimator: Any, rows: DaskRows, classes: np.ndarray[Any, Any]) -> str:
    """A fingerprint of the settings and of the first rows of every block."""
    digests = rows.total(digest_of_block, 1)
    return fingerprint(estimator, np.frombuffer(digests, dtype=np.uint8), classes, None)


def digest_of_block(block: Rows) -> bytes:
    """A fingerprint of the first rows of a block."""
    mark = hashlib.blake2b(digest_size=16)
    for part in (block.Z, block.y, block.s):
        mark.update(np.ascontiguousarray(part[:PART_ROWS]).tobytes())
    return mark.digest()


def all_of_block(block: Rows) -> Picked:
    """Every row of a block."""
    return Picked(block.Z, block.y, block.s, np.arange(block.first, block.first + len(block)))


def on_values(block: Any, model: Any, method: str, n_columns: int | None = None) -> Any:
    """A prediction for one chunk, which may have no rows; several outputs are concatenated."""
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
