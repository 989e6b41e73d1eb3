"""The generative rival: one Gaussian mixture per class, chosen by BIC, and Bayes' rule."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.mixture import GaussianMixture
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sdgm._typing import FloatArray

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")
# added to variances, so that repeated rows do not make a covariance singular
VARIANCE_FLOOR = 1e-4


class GaussianMixtureBayesClassifier(ClassifierMixin, BaseEstimator):
    """Class densities by scikit-learn's `GaussianMixture`, the posterior by Bayes' rule.

    For every class the covariance type and the number of components are those with the lowest BIC
    on the training rows.

    Parameters
    ----------
    max_components : int, default=6
        Largest number of components per class that is tried.
    n_init : int, default=3
        Starts per mixture.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    mixtures_ : list of GaussianMixture
        One per class.
    class_prior_ : array of shape (n_classes,)
    n_parameters_ : int
        Numbers to be stored: means, distinct covariance entries, mixture weights.

    Examples
    --------
    >>> from sdgm.datasets import make_ripley
    >>> X, y, X_test, y_test = make_ripley().split()
    >>> model = GaussianMixtureBayesClassifier(random_state=0).fit(X, y)
    >>> [mixture.n_components for mixture in model.mixtures_]
    [2, 2]
    """

    def __init__(self, max_components: int = 6, *, n_init: int = 3, random_state: Any = None):
        self.max_components = max_components
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit and choose a mixture for every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_.tolist()[0]!r}.")
        self.class_prior_ = np.bincount(codes) / len(codes)
        self.mixtures_ = [self._chosen(X[codes == c]) for c in range(len(self.classes_))]
        self.n_parameters_ = sum(map(n_parameters, self.mixtures_))
        return self

    def _chosen(self, X: FloatArray) -> GaussianMixture:
        """The mixture with the lowest BIC on the rows of one class."""
        n_distinct = len(np.unique(X, axis=0))
        candidates = [
            GaussianMixture(
                n_components,
                covariance_type=covariance_type,
                n_init=self.n_init,
                reg_covar=VARIANCE_FLOOR,
                random_state=self.random_state,
            ).fit(X)
            for covariance_type in COVARIANCE_TYPES
            for n_components in range(1, min(self.max_components, n_distinct) + 1)
            if len(X) > 1
        ]
        if not candidates:
            raise ValueError("a class has one row only, too few for a Gaussian.")
        return min(candidates, key=lambda mixture: mixture.bic(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Class posterior by Bayes' rule.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        P_c : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        log_density = np.stack([mixture.score_samples(X) for mixture in self.mixtures_], axis=1)
        return softmax(log_density + np.log(self.class_prior_), axis=1)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        P_c = self.predict_proba(X)
        return self.classes_[P_c.argmax(axis=1)]


def n_parameters(mixture: GaussianMixture) -> int:
    """Means, distinct entries of the covariances, and mixture weights but one."""
    n_components, n_features = mixture.means_.shape
    n_entries = int(mixture.covariances_.size)
    if mixture.covariance_type in ("full", "tied"):  # symmetric matrices
        n_entries = n_entries // n_features * (n_features + 1) // 2
    return n_entries + n_components * n_features + n_components - 1
