"""The kernel ensemble on Dask: the client gets a sample; sums over all rows run on the workers."""

from __future__ import annotations

from typing import Any, Self

import dask.array as da
import numpy as np
from sklearn.utils.validation import check_is_fitted

import sdgm.ensemble.estimator as ensemble
from sdgm.dask.estimators import all_of_block, on_values, weights_by_label
from sdgm.dask.inputs import as_array, as_rows, check_names, names_of
from sdgm.dask.rows import rows_on_workers
from sdgm.ensemble.many_rows import fit_many_rows
from sdgm.estimators.parameters import check_classes, class_factors
from sdgm.scale.sampling import rows_by_class
from sdgm.scale.table import LARGE_ROWS


class KernelEnsembleClassifier(ensemble.KernelEnsembleClassifier):
    """`sdgm.KernelEnsembleClassifier` on dask arrays and dataframes, with the same parameters.

    Examples
    --------
    >>> import dask.array as da
    >>> rng = da.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2), chunks=(200, 2))
    >>> y = (X**2).sum(axis=1) > 1.5
    >>> model = KernelEnsembleClassifier().fit(X, y)
    >>> bool((model.predict(X) == y).mean().compute() > 0.95)
    True
    """

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
        self._forget()
        names = names_of(X)
        X, y, s = as_rows(X, y, sample_weight)
        classes, weights = weights_by_label(y, s)
        check_classes(classes)
        factors = np.array(
            np.broadcast_to(class_factors(self.class_weight, classes, weights), len(classes))
        )
        rows = rows_on_workers(X, y, s, classes, factors)
        if X.shape[0] > LARGE_ROWS:
            fitted, sample = fit_many_rows(rows, rows_by_class(rows, len(classes)), factors)
            self._keep(fitted, sample, classes)
        else:
            every = rows.total(all_of_block, 1)
            codes = np.asarray(every.y)
            # the weights already contain the factors, so divide by them
            self._fit_in_memory(every.X, classes[codes], every.s / factors[codes])
        self.n_features_in_ = int(X.shape[1])
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, as a lazy dask array: (n_samples, n_classes)."""
        array, local = self._ready(X)
        C = len(self.classes_)
        return array.map_blocks(
            on_values,
            local,
            "predict_proba",
            C,
            chunks=(array.chunks[0], (C,)),
            meta=np.empty((0, 0)),
        )

    def predict(self, X: Any) -> Any:
        """Most probable class of every row, as a lazy dask array: (n_samples,)."""
        array, local = self._ready(X)
        return array.map_blocks(
            on_values, local, "predict", drop_axis=1, meta=np.empty(0, self.classes_.dtype)
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose class is predicted, a number.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        """
        check_names(names_of(X), getattr(self, "feature_names_in_", None))
        X, y, s = as_rows(X, y, sample_weight)
        is_right = (self.predict(X) == y).astype(np.float64)
        return float(da.average(is_right, weights=s).compute())

    def to_local(self) -> ensemble.KernelEnsembleClassifier:
        """The same fitted model as an estimator for arrays."""
        check_is_fitted(self)
        local = ensemble.KernelEnsembleClassifier(**self.get_params())
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(local, name, value)
        return local

    def _ready(self, X: Any) -> tuple[Any, Any]:
        """Rows to predict as an array of whole rows, and a model for its chunks."""
        local = self.to_local()
        check_names(names_of(X), getattr(self, "feature_names_in_", None))
        array = as_array(X, exact=False)
        if array.ndim != 2 or array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {array.shape}, and the model has {self.n_features_in_} inputs; give "
                "one column for each."
            )
        if hasattr(local, "feature_names_in_"):  # chunks are arrays
            del local.feature_names_in_
        return array.rechunk({1: -1}), local
