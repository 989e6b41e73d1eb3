"""Displays of predicted probabilities against labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self


class PredictionsDisplay(ABC):
    """A picture of predicted probabilities against labels."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, y_true: Any, P: Any, **options: Any) -> Self:
        """Draw predicted probabilities."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> Self:
        """Plot a fitted classifier on held-out rows.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba`
        X, y : array-likes of shape (n_samples, n_features) and (n_samples,)
        name : str, optional
            Name in the legend; by default the class name of the estimator.
        **options :
            As in `from_predictions`, except for ``labels``.
        """
        name = type(estimator).__name__ if name is None else name
        P, labels = estimator.predict_proba(X), estimator.classes_
        return cls.from_predictions(y, P, labels=labels, name=name, **options)
