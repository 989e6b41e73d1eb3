"""The ensemble as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sdgm._typing import FloatArray
from sdgm.ensemble.fitting import Fitted, fit_bytes, fit_ensemble
from sdgm.ensemble.many_rows import fit_many_rows
from sdgm.ensemble.model import Ensemble
from sdgm.ensemble.rows import LabelledRows, labelled_rows
from sdgm.estimators.parameters import (
    check_classes,
    check_labels,
    checked_sample_weight,
    class_factors,
)
from sdgm.estimators.pickling import VersionedEstimator
from sdgm.scale.memory import require_memory
from sdgm.scale.sampling import (
    RowReader,
    all_in_memory,
    name_inputs,
    rows_by_class,
    weights_of_labels,
)
from sdgm.scale.table import LARGE_ROWS, table_of
from sdgm.scale.threads import in_threads
from sdgm.scale.validation import validated

REMEDIES = ["fewer rows", "fewer columns"]


class KernelEnsembleClassifier(ClassifierMixin, VersionedEstimator):
    """Average of kernel ridge regressions and Gaussian discriminant analyses, in closed form.

    The exact leave-one-out predictions of every member are used to choose its ridge parameter, to
    calibrate its probabilities, and to find the weights of the members in the average. There are no
    hyperparameters, and the fit is deterministic.

    Use it for accuracy only. `SDGMClassifier` and `KernelSDGMClassifier` are small and readable
    models that are distilled from this one.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels.
    ensemble_ : Ensemble
        The fitted members, the largest weight first.
    member_weights_ : dict
        Weight of each member in the average, by name.
    loo_log_loss_ : float
        Leave-one-out log loss of the training rows; with more than 32,768 rows, of a sample.
    loo_proba_ : array of shape (n_samples, n_classes)
        Leave-one-out probabilities of the training rows; up to 32,768 rows.
    train_proba_ : array of shape (n_samples, n_classes)
        In-sample probabilities of the training rows; up to 32,768 rows.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = KernelEnsembleClassifier().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    >>> bool(model.loo_log_loss_ < 0.1)
    True
    """

    classes_: np.ndarray[Any, Any]
    ensemble_: Ensemble
    loo_log_loss_: float
    loo_proba_: FloatArray
    train_proba_: FloatArray

    def __init__(self, *, class_weight: Any = None) -> None:
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all members and average them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, treated as frequencies; zero leaves a sample out.

        Returns
        -------
        self
        """
        self._forget()
        if n_rows(X) > LARGE_ROWS:
            return self._fit_many(X, y, sample_weight)
        table, labels = validated(self, all_in_memory(X), y)
        if isinstance(X, RowReader):
            name_inputs(self, X)
        return self._fit_in_memory(table, labels, sample_weight)

    def _forget(self) -> None:
        """Drop the attributes of an earlier fit."""
        for name in "ensemble_", "train_proba_", "loo_proba_":
            if hasattr(self, name):
                delattr(self, name)

    def _fit_in_memory(self, X: FloatArray, y: np.ndarray[Any, Any], sample_weight: Any) -> Self:
        """Fit to rows in memory, with equal rows merged."""
        check_labels(y)
        s = checked_sample_weight(sample_weight, X)
        used = np.flatnonzero(s > 0.0)
        classes, codes = np.unique(y[used], return_inverse=True)
        check_classes(classes)
        weight = np.zeros((len(used), len(classes)))
        weight[np.arange(len(used)), codes] = s[used]
        factors = self._factors(classes, weight.sum(axis=0))
        rows, inverse = labelled_rows(X[used], weight, factors)
        require_memory(fit_bytes(rows), f"Fitting {len(rows.s)} rows", REMEDIES)
        fitted = fit_ensemble(rows)
        self._keep(fitted, rows, classes)
        # cases are sorted by row and class
        case_of = rows.cases.row * len(classes) + rows.cases.label
        case = np.searchsorted(case_of, inverse * len(classes) + codes)
        self.train_proba_ = self.ensemble_.proba(X)
        self.loo_proba_ = self.train_proba_.copy()  # rows of weight zero are left out in any case
        self.loo_proba_[used] = fitted.P_left_out[case]
        return self

    def _fit_many(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to rows that are read in blocks."""
        table, classes = table_of(self, X, y, sample_weight)
        check_classes(classes)
        s = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, float)
        codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        factors = self._factors(classes, weights_of_labels(codes, s))
        with in_threads():
            fitted, rows = fit_many_rows(table, rows_by_class(table, len(classes)), factors)
        self._keep(fitted, rows, classes)
        return self

    def _factors(self, classes: np.ndarray[Any, Any], weights: FloatArray) -> FloatArray:
        """Weight of one copy of a row of each class: (C,)."""
        return np.broadcast_to(class_factors(self.class_weight, classes, weights), len(classes))

    def _keep(self, fitted: Fitted, rows: LabelledRows, classes: np.ndarray[Any, Any]) -> None:
        self.classes_, self.ensemble_ = classes, fitted.ensemble
        self.loo_log_loss_ = fitted.loss(rows)

    @property
    def member_weights_(self) -> dict[str, float]:
        """Weight of each member in the average, by name."""
        return {member.name: member.weight for member in self.ensemble_.members}

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return self.ensemble_.proba(X)

    def predict(self, X: Any) -> Any:
        """Most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        P = self.predict_proba(X)
        return self.classes_[P.argmax(axis=1)]


def n_rows(X: Any) -> int:
    """Number of rows of a table; zero if it is not one, which is refused later."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return shape[0] if len(shape) == 2 else 0
