"""Prediction and fitted attributes, all read from the fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import CANONICAL_ROWS
from sdgm.core.model.fitted_model import FittedModel
from sdgm.estimators.parameters import Predictive, choice
from sdgm.scale.sampling import RowReader
from sdgm.scale.validation import validated


def attribute_of(path: str) -> Any:
    """A fitted attribute that is read from a value such as ``model_``; absent before the fit."""
    return property(attrgetter(path), doc=f"As ``{path}``.")


class PredictionMixin:
    """`predict` and its relatives, for estimators that hold a fitted model."""

    predictive: str
    model_: FittedModel

    classes_: np.ndarray[Any, Any] = attribute_of("model_.classes")
    coef_: FloatArray = attribute_of("model_.coef")
    intercept_: FloatArray = attribute_of("model_.intercept")
    mixture_weights_: FloatArray = attribute_of("model_.mixture_weights")
    component_class_: IntArray = attribute_of("model_.component_class")
    n_components_: IntArray = attribute_of("model_.n_components")
    n_active_weights_: int = attribute_of("model_.n_weights")
    features_used_: IntArray = attribute_of("model_.inputs_read")
    covariance_: FloatArray | None = attribute_of("model_.covariance")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

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
        check_is_fitted(self)
        if choice("predictive", self.predictive, Predictive) is Predictive.AVERAGED:
            return self._averaged(X)[0]
        return np.exp(np.concatenate([self.model_.log_proba(rows) for rows in self._checked(X)]))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of `predict_proba`, computed directly if that keeps small values apart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_P_c : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        predicted = [
            predicted_log_proba(self.model_, rows, self.predictive) for rows in self._checked(X)
        ]
        return np.concatenate(predicted)

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
        return np.concatenate([self.model_.component_proba(rows) for rows in self._checked(X)])

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
        check_is_fitted(self)
        draws = self.model_.posterior_draws()
        moments = [self.model_.averaged_proba(rows, draws) for rows in self._checked(X)]
        mean, std = (np.concatenate(parts) for parts in zip(*moments, strict=True))
        return mean, std

    def _checked(self, X: Any) -> Iterator[FloatArray]:
        """The checked rows; in parts if the table is read in parts."""
        if not isinstance(X, RowReader):
            yield validated(self, X, reset=False)
            return
        check_names(self, X)
        for start in range(0, X.shape[0], CANONICAL_ROWS):
            part = X.read(start, min(start + CANONICAL_ROWS, X.shape[0]))
            yield check_array(part, dtype=np.float64)


def predicted_log_proba(model: FittedModel, X: FloatArray, predictive: str) -> FloatArray:
    """Log class probabilities at the mode of the weights, or averaged over them: (N, C)."""
    if choice("predictive", predictive, Predictive) is Predictive.MAP:
        return model.log_proba(X)
    mean, _ = model.averaged_proba(X, model.posterior_draws())
    with np.errstate(divide="ignore"):
        return np.log(mean)


def check_names(model: Any, X: RowReader) -> None:
    """Refuse a table that is read in parts and has other columns than the training rows."""
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    names, known = getattr(X, "columns", None), getattr(model, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(f"X has the columns {list(names)}, the training rows had {list(known)}.")
