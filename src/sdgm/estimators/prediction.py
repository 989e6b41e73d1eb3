"""Prediction from the surviving weights, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.data.rows import CANONICAL_ROWS
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.estimators.large import RowReader
from sdgm.estimators.parameters import Predictive, choice

# numbers in a working array of prediction, small enough for the cache
PREDICT_NUMBERS = 1 << 16
# draws from the posterior of the weights, half of them mirrored, for averaged probabilities
POSTERIOR_DRAWS = 128


class Basis(Protocol):
    """The columns of the design as functions of an input row."""

    def transform(self, X: FloatArray) -> FloatArray:
        """Values of the columns at standardised rows: (N, n_columns)."""
        ...

    def take(self, columns: IntArray) -> Basis:
        """These columns only."""
        ...


class PredictionMixin:
    """`predict` and its relatives, for estimators that hold weights on a basis."""

    classes_: np.ndarray[Any, Any]
    coef_: FloatArray
    intercept_: FloatArray
    mixture_weights_: FloatArray
    component_class_: IntArray
    covariance_: FloatArray | None
    predictive: str
    _basis: Any  # a Basis of the form
    _active: BoolArray  # which of [intercept_, coef_] are weights, and not pruned
    _reach: float  # furthest standardised input that is taken as it is
    _center: FloatArray
    _inverse_scale: FloatArray

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Class posterior P(c | x) of every row (Eq. 1).

        With ``predictive="averaged"``, its mean over the posterior of the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        P_c : array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        if choice("predictive", self.predictive, Predictive) is Predictive.AVERAGED:
            return self._averaged(X)[0]
        return np.exp(self._class_log_proba(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of `predict_proba`, computed without it where that keeps small values apart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_P_c : array of shape (n_samples, n_classes)
        """
        if choice("predictive", self.predictive, Predictive) is Predictive.AVERAGED:
            with np.errstate(divide="ignore"):
                return np.log(self._averaged(X)[0])
        return self._class_log_proba(X)

    def predict_component_proba(self, X: Any) -> FloatArray:
        """Component posterior P(c, m | x) of every row (Eq. 1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        P_cm : array of shape (n_samples, n_components)
            Column k belongs to class ``classes_[component_class_[k]]``.
        """
        check_is_fitted(self)
        K = len(self.mixture_weights_)
        return self._in_blocks(X, K, lambda logits: np.exp(component_log_posterior(logits)))

    def predict_proba_averaged(
        self, X: Any, *, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Class probabilities averaged over the Laplace posterior of the weights.

        The weights are drawn from ``N(w, Lambda)``, the same fixed mirrored draws for every call.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool
            Whether to return the standard deviations over the posterior as well.

        Returns
        -------
        mean : array of shape (n_samples, n_classes)
        std : array of shape (n_samples, n_classes), if asked for
        """
        mean, std = self._averaged(X)
        return (mean, std) if return_std else mean

    def _averaged(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the class probabilities over the posterior draws."""
        draws = self._posterior_draws()  # (S, K, n_terms + 1)
        n_classes = len(self.classes_)
        w = np.concatenate([self.intercept_[:, None], self.coef_], axis=1)
        log_pi = np.log(self.mixture_weights_)
        to_others = 1.0 - np.eye(n_classes)

        def probabilities(Phi: FloatArray, weights: FloatArray) -> FloatArray:
            logits = Phi @ weights[:, 1:].T + weights[:, 0] + log_pi
            log_P_cm = component_log_posterior(np.asfortranarray(logits))
            return np.exp(class_log_posterior(log_P_cm, self.component_class_, n_classes))

        def mean_and_variance(Phi: FloatArray) -> FloatArray:
            # near one the digits are in 1 - P_c, the sum over the other classes
            near_one = probabilities(Phi, w) > 0.5
            mean, squares = np.zeros((2, len(Phi), n_classes))
            for n_before, draw in enumerate(draws):
                P_c = probabilities(Phi, draw)
                deviation = np.where(near_one, P_c @ to_others, P_c) - mean
                # squares about the running mean: E[P^2] - E[P]^2 would cancel
                mean += deviation / (n_before + 1)
                squares += deviation**2 * (n_before / (n_before + 1))
            mean = np.where(near_one, 1.0 - mean, mean)
            return np.hstack([mean, squares / len(draws)])

        moments = self._on_basis(X, 2 * n_classes, mean_and_variance)
        mean = np.maximum(moments[:, :n_classes], 0.0)
        return mean / mean.sum(axis=1, keepdims=True), np.sqrt(moments[:, n_classes:])

    def _posterior_draws(self) -> FloatArray:
        """Weights drawn from their posterior, the constant first: (S, K, n_terms + 1)."""
        check_is_fitted(self)
        covariance = require_covariance(self)
        w = np.concatenate([self.intercept_[:, None], self.coef_], axis=1)
        rng = np.random.default_rng(0)
        # a symmetric root that exists for a covariance which rounding made slightly indefinite
        eigenvalues, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        offsets = rng.standard_normal((POSTERIOR_DRAWS // 2, len(root))) @ root.T
        draws = np.repeat(w[None], POSTERIOR_DRAWS, axis=0)
        draws[:, self._active] += np.concatenate([offsets, -offsets])
        return draws

    def _class_log_proba(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        n_classes = len(self.classes_)
        return self._in_blocks(
            X,
            n_classes,
            lambda logits: class_log_posterior(
                component_log_posterior(logits), self.component_class_, n_classes
            ),
        )

    def _in_blocks(
        self, X: Any, n_outputs: int, of_logits: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """A function of the component scores, over blocks of rows: (N, n_outputs)."""

        def of_basis(Phi: FloatArray) -> FloatArray:
            logits = self.coef_ @ Phi.T  # (K, n)
            logits += offset[:, None]
            return of_logits(logits.T)

        offset = self.intercept_ + np.log(self.mixture_weights_)
        return self._on_basis(X, n_outputs, of_basis)

    def _on_basis(
        self, X: Any, n_outputs: int, of_basis: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """A function of the surviving columns, over blocks of rows: (N, n_outputs)."""
        if isinstance(X, RowReader):
            check_is_fitted(self)
            check_names(self, X)
            n_rows = X.shape[0]
            starts = range(0, n_rows, CANONICAL_ROWS)
            parts = (X.read(start, min(start + CANONICAL_ROWS, n_rows)) for start in starts)
            checked = (check_array(part, dtype=np.float64) for part in parts)
            return np.concatenate([self._on_array(part, n_outputs, of_basis) for part in checked])
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._on_array(X, n_outputs, of_basis)

    def _on_array(
        self, X: FloatArray, n_outputs: int, of_basis: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """The same for rows in memory that were checked."""
        result = np.empty((len(X), n_outputs))
        for rows in self._blocks(len(X)):
            standardized = self._standardized(X[rows])
            np.clip(standardized, -self._reach, self._reach, out=standardized)
            result[rows] = of_basis(self._basis.transform(standardized))
        return result

    def _blocks(self, n_rows: int) -> Iterator[slice]:
        width = max(*self.coef_.shape, 1)
        size = max(PREDICT_NUMBERS // width, 64)
        return (slice(first, first + size) for first in range(0, n_rows, size))

    def _standardized(self, X: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return (X - self._center) * self._inverse_scale


def require_covariance(model: Any) -> FloatArray:
    """The covariance of the weights of a fitted model, or one sentence."""
    if model.covariance_ is None:
        raise ValueError(
            f"{type(model).__name__} kept no covariance of its {model._active.sum()} weights: "
            "they are too many, or it could not be computed; use predictive='map'."
        )
    return model.covariance_


def check_names(model: Any, X: RowReader) -> None:
    """Refuse a table that is read in parts and has other columns than the training rows had."""
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    names, known = getattr(X, "columns", None), getattr(model, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(f"X has the columns {list(names)}, the training rows had {list(known)}.")
