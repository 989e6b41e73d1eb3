"""Novelty detection: which rows are unlike the training rows."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sdgm._typing import FloatArray, IntArray
from sdgm.core.mixtures.density import held_out_density
from sdgm.core.model.fitted_model import Scaler
from sdgm.estimators.parameters import check_labels, positive_integer
from sdgm.estimators.pickling import VersionedEstimator
from sdgm.estimators.prediction import attribute_of
from sdgm.estimators.preparation import center_and_inverse_scale
from sdgm.novelty.model import NoveltyModel, log_volume

# standardised inputs further out than this are moved in: their squares would overflow
FURTHEST = 1e100


class FamiliarityDetector(OutlierMixin, VersionedEstimator):
    """Novelty detector: a density model of the training rows.

    The class posterior of a discriminative mixture does not depend on how common a row is, because
    the density that all classes share cancels: far from the training rows it may be as confident
    as among them. This detector models the density with Gaussian mixtures, one per class if labels
    are given. The number of components is chosen by BIC, and covariances are shrunk towards a
    sphere by an amount chosen on held-out rows. A row is unfamiliar if almost all held-out training
    rows have a higher density.

    Parameters
    ----------
    false_alarm_rate : float, default=0.05
        Expected share of rows from the training distribution that are called unfamiliar.
    n_folds : int, default=5
        Number of cross-validation folds.
    random_state : int, RandomState or None, default=0
        Seed of the folds and the k-means initialisations.

    Attributes
    ----------
    offset_ : float
        Log density below which a row is unfamiliar.
    n_components_ : array of shape (n_classes,)
        Number of components of each class, or of the only mixture without labels.
    shrinkage_ : float
        Shrinkage of the covariances, between 0 and 1.
    held_out_scores_ : array of shape (n_samples,)
        Out-of-fold log density of each training row.
    model_ : NoveltyModel
        All of the above as one value.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> detector = FamiliarityDetector().fit(X[y < 2], y[y < 2])
    >>> bool(detector.predict(X[y == 2]).mean() < -0.7)  # flowers of an unknown class
    True
    """

    model_: NoveltyModel
    offset_: float = attribute_of("model_.offset")
    n_components_: IntArray = attribute_of("model_.n_components")
    shrinkage_: float = attribute_of("model_.shrinkage")
    held_out_scores_: FloatArray = attribute_of("model_.held_out_scores")

    def __init__(
        self, false_alarm_rate: float = 0.05, *, n_folds: int = 5, random_state: Any = 0
    ) -> None:
        self.false_alarm_rate = false_alarm_rate
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the density to the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Labels. If given, there is one mixture per class.

        Returns
        -------
        self
        """
        self._check_parameters()
        if y is None:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            code = np.zeros(len(X), dtype=np.intp)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            check_labels(y)
            code = np.unique(y, return_inverse=True)[1]
        rng = check_random_state(self.random_state)
        center, inverse_scale = center_and_inverse_scale(X, np.ones(len(X)))
        scaler = Scaler(center, inverse_scale, FURTHEST)
        held_out = held_out_density(
            scaler.standardized(X),
            code,
            self._folds(code, rng),
            int(rng.randint(np.iinfo(np.int32).max)),
        )
        scores = held_out.log_density + log_volume(scaler)
        # a new row is as likely as any to be the one of this rank among them
        rank = int(self.false_alarm_rate * (len(X) + 1))
        ordered = np.sort(scores)
        offset = float(ordered[rank - 1]) if rank else float(np.nextafter(ordered[0], -np.inf))
        self.model_ = NoveltyModel(scaler, held_out.density, held_out.shrinkage, scores, offset)
        return self

    def publish(self, model: NoveltyModel) -> Self:
        """Hold a model that was fitted elsewhere, if the parameters are some that a fit takes.

        Parameters
        ----------
        model : NoveltyModel
        """
        self._check_parameters()
        self.n_features_in_ = len(model.scaler.center)
        self.model_ = model
        return self

    def _check_parameters(self) -> None:
        rate = self.false_alarm_rate
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= float(rate) < 1:
            raise ValueError(
                f"false_alarm_rate must be a number from 0 to below 1, got {rate!r}; try 0.05."
            )
        if positive_integer("n_folds", self.n_folds) < 2:
            raise ValueError("n_folds must be at least 2, got 1; held-out rows need other rows.")

    def _folds(self, code: IntArray, rng: np.random.RandomState) -> IntArray:
        """Fold of each row, the rows of a class spread evenly."""
        shuffled = rng.permutation(len(code))
        order = shuffled[np.argsort(code[shuffled], kind="stable")]
        fold = np.empty(len(code), dtype=np.intp)
        fold[order] = np.arange(len(code)) % self.n_folds
        return fold

    def score_samples(self, X: Any) -> FloatArray:
        """Log density of every row, in the original units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_density : array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.model_.log_density(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Log density minus ``offset_``: negative for unfamiliar rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decision : array of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> IntArray:
        """1 for familiar rows, -1 for unfamiliar rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def familiarity(self, X: Any) -> FloatArray:
        """Share of held-out training rows whose density is at most that of the row.

        It is uniformly distributed for rows from the training distribution, and therefore a
        p-value of the hypothesis that the row comes from it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        share : array of shape (n_samples,)
            At least ``1 / (n_training_samples + 1)``.
        """
        scores = self.score_samples(X)
        held_out = np.sort(self.held_out_scores_)
        rank = np.searchsorted(held_out, scores, side="right").astype(np.float64)
        return (rank + 1.0) / (len(held_out) + 1.0)
