"""The strongest rival in practice: an rbf support vector machine, tuned, with probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from sdgm._typing import FloatArray


class TunedSVMClassifier(ClassifierMixin, BaseEstimator):
    """Cost and width by cross-validated error, then Platt's probabilities for the best.

    The labels are those of the support vector machine itself, which the probabilities may
    contradict near the boundary.

    Parameters
    ----------
    costs, gammas : sequences of float
        Values that are tried.
    cv : splitter
        Folds, for the search and for the probabilities.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    best_params_ : dict
    n_support_vectors_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TunedSVMClassifier(costs=[1.0, 10.0], gammas=[0.1, 1.0]).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        costs: Sequence[float] = (0.1, 1.0, 10.0, 100.0),
        gammas: Sequence[float] = (0.01, 0.1, 1.0),
        cv: Any = 5,
    ) -> None:
        self.costs = costs
        self.gammas = gammas
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        """Search, then calibrate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        grid = {"C": list(self.costs), "gamma": list(self.gammas)}
        search = GridSearchCV(SVC(), grid, cv=self.cv).fit(X, y)
        self.best_params_ = search.best_params_
        self.classes_ = search.classes_
        self._svm = search.best_estimator_
        self.n_support_vectors_ = len(self._svm.support_)
        best = SVC(**search.best_params_)
        self._calibrated = CalibratedClassifierCV(best, ensemble=False, cv=self.cv).fit(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Labels by the support vector machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._svm.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Platt's probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        P_c : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._calibrated.predict_proba(X)
