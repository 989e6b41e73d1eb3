"""The ensemble as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sdgm._typing import FloatArray
from sdgm.ensemble.fitting import fit_ensemble
from sdgm.ensemble.model import Ensemble
from sdgm.ensemble.rows import labelled_rows
from sdgm.estimators.parameters import (
    check_classes,
    check_labels,
    checked_sample_weight,
    class_factors,
)


class KernelEnsembleClassifier(ClassifierMixin, BaseEstimator):
    """Dense classifier in closed form: kernel ridge regressions and Gaussian classes, averaged.

    Every member is fitted to all rows at once and predicts each row exactly as if the row had been
    left out. On these predictions its scores are calibrated to probabilities, its ridge is chosen,
    and the weights of the members in the average are found. There is nothing to set, and nothing is
    random.

    For accuracy without a look inside; `SDGMClassifier` and `KernelSDGMClassifier` are small
    models that can be read, which learn from this one.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the samples of each class.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels.
    ensemble_ : Ensemble
        The fitted members, the largest weight first.
    member_weights_ : dict
        Weight of each member in the average, by name.
    loo_log_loss_ : float
        Log loss of the training rows, each predicted without it.
    loo_proba_ : array of shape (n_samples, n_classes)
        Probabilities of the training rows, each predicted without it.
    train_proba_ : array of shape (n_samples, n_classes)
        Probabilities of the training rows, as `predict_proba` gives them.
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
            How often each sample counts; zero leaves it out.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_labels(y)
        s = checked_sample_weight(sample_weight, X)
        factors = np.broadcast_to(class_factors(self.class_weight, y, s), len(y))
        used = np.flatnonzero(s > 0.0)
        self.classes_, codes = np.unique(y[used], return_inverse=True)
        check_classes(self.classes_)
        factor_of_class = np.empty(len(self.classes_))
        factor_of_class[codes] = factors[used]
        weight = np.zeros((len(used), len(self.classes_)))
        weight[np.arange(len(used)), codes] = s[used]
        rows, inverse = labelled_rows(X[used], weight, factor_of_class)
        fitted = fit_ensemble(rows)
        self.ensemble_ = fitted.ensemble
        self.loo_log_loss_ = fitted.loss(rows)
        # cases are sorted by row and class: where those of the samples are
        keys = rows.cases.row * len(self.classes_) + rows.cases.label
        case = np.searchsorted(keys, inverse * len(self.classes_) + codes)
        self.train_proba_ = self.ensemble_.proba(X) if len(used) < len(X) else fitted.P[inverse]
        self.loo_proba_ = self.train_proba_.copy()  # rows without weight were left out anyway
        self.loo_proba_[used] = fitted.P_left_out[case]
        return self

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
        X = validate_data(self, X, dtype=np.float64, reset=False)
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
