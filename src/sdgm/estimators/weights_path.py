"""The path from a fitted model to smaller and smaller ones, to compare error with size."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sdgm._typing import FloatArray, IntArray
from sdgm.core.selection.elimination import Point
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.budget import model_at, points_below
from sdgm.estimators.choosing import learned_by, targets_for
from sdgm.estimators.parameters import checked_sample_weight, positive_integer, whole_number
from sdgm.estimators.plan import recipe_of
from sdgm.estimators.preparation import prepared_again
from sdgm.estimators.problem import Sample


class PathScores(NamedTuple):
    """Scores of the models of a path.

    Attributes
    ----------
    n_weights : integer array of shape (n_models,)
    error : array of shape (n_models,)
        Misclassification rate.
    log_loss : array of shape (n_models,)
        Mean of ``-ln P(y | x)``.
    """

    n_weights: IntArray
    error: FloatArray
    log_loss: FloatArray


@dataclass(frozen=True)
class WeightsPath:
    """Nested models with decreasing numbers of weights. Made by `weights_path`.

    Attributes
    ----------
    n_weights : integer array of shape (n_models,)
        Number of weights of each model, decreasing.
    models : list of fitted classifiers
    error, log_loss : arrays of shape (n_models,)
        Scores on the training rows, as from `evaluate`.

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier
    >>> from sdgm.datasets import make_ripley
    >>> X, y, X_test, y_test = make_ripley().split()
    >>> model = KernelSDGMClassifier(3, random_state=0, teacher=None).fit(X, y)
    >>> path = weights_path(model, X, y)
    >>> scores = path.evaluate(X_test, y_test)
    >>> scores.error.shape == path.n_weights.shape
    True
    >>> path.at_most(5).n_active_weights_
    5
    """

    n_weights: IntArray
    models: list[Any]
    error: FloatArray
    log_loss: FloatArray

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> PathScores:
        """Errors and log losses of all models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        scores : PathScores
        """
        return scores_of(self.models, X, y, sample_weight)

    def at_most(self, n_weights: int) -> Any:
        """The largest model within a budget of weights.

        Parameters
        ----------
        n_weights : int

        Returns
        -------
        model : fitted classifier
        """
        within = np.flatnonzero(self.n_weights <= whole_number("n_weights", n_weights))
        if len(within) == 0:
            raise ValueError(
                f"no model on the path has at most {n_weights} weights, the smallest has "
                f"{self.n_weights[-1]}; make the path with a lower min_weights."
            )
        return self.models[within[0]]


def weights_path(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    min_weights: int = 1,
    step: int | None = None,
) -> WeightsPath:
    """Backward elimination: remove the weights of a fitted classifier one by one.

    Each step removes the weight that costs least in the log posterior, given that all others may
    change; these are then re-estimated with the precisions of their priors held fixed. Models that
    were distilled from a teacher are fitted to the teacher along the path; it is refitted for this.

    Parameters
    ----------
    estimator : SDGMClassifier, KernelSDGMClassifier or one of their special cases
        Fitted; it is not changed.
    X : array-like of shape (n_samples, n_features)
        The rows that it was fitted to. If they differ, weights are estimated from these rows.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional
        As in its fit.
    min_weights : int, default=1
        Number of weights at the end of the path; zero for a model of the class frequencies.
    step : int, optional
        Number of weights to remove before the others are re-estimated; by default one in fifty, and
        at least one.

    Returns
    -------
    path : WeightsPath
        It starts with the fitted model, with its weights at their mode. The number of weights
        decreases by more than one if a component is removed, or if all components use a column: it
        is then removed from one of them, because only differences of scores matter.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(1, random_state=0).fit(X, y)
    >>> path = weights_path(model, X, y)
    >>> int(path.n_weights[0]) == model.n_active_weights_, int(path.n_weights[-1])
    (True, 1)
    >>> bool(path.log_loss[0] < path.log_loss[-1])
    True
    """
    if not isinstance(estimator, BaseSDGM):
        raise TypeError(
            "weights_path needs a fitted SDGMClassifier or KernelSDGMClassifier, got "
            f"{type(estimator).__name__}; for a pipeline, pass its last step and the rows as it "
            "gets them."
        )
    check_is_fitted(estimator)
    whole_number("min_weights", min_weights)
    if step is not None:
        positive_integer("step", step)
    learned, labelled = samples_of_fit(estimator, X, y, sample_weight)
    recipe = recipe_of(estimator)
    path = points_below(estimator.model_, learned, recipe, min_weights=min_weights, step=step)
    models = [smaller_estimator(estimator, point, labelled) for point in path]
    scores = scores_of(models, X, y, sample_weight)
    return WeightsPath(scores.n_weights, models, scores.error, scores.log_loss)


def smaller_estimator(estimator: BaseSDGM, point: Point, labelled: Sample) -> BaseSDGM:
    """A copy of a fitted classifier with the weights of a point of its path."""
    smaller = copy.copy(estimator)
    smaller.model_ = model_at(estimator.model_, point, labelled)
    smaller.training_ = replace(estimator.training_, log_evidence=point.log_evidence)
    return smaller


def samples_of_fit(
    estimator: BaseSDGM, X: Any, y: Any, sample_weight: Any
) -> tuple[Sample, Sample]:
    """The rows that a fitted classifier learned from, and the same rows with their labels."""
    validate_data(estimator, X, dtype=np.float64, reset=False)
    plan, problem = prepared_again(estimator, X, y, sample_weight)
    if not np.array_equal(problem.classes, estimator.classes_):
        raise ValueError(
            f"y has classes {problem.classes.tolist()}, and the estimator knows "
            f"{estimator.classes_.tolist()}; pass the rows that it was fitted to."
        )
    labelled: Sample = problem.sample
    targets = targets_for(problem, plan) if estimator.training_.learned_reference else None
    if targets is None:
        return labelled, labelled
    return learned_by(estimator.candidates_[0], targets), labelled


def scores_of(models: list[Any], X: Any, y: Any, sample_weight: Any) -> PathScores:
    """Error and log loss of fitted models of the same classes."""
    classes = models[0].classes_
    y = np.asarray(y)
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which is none of the classes "
            f"{classes.tolist()}; leave out its rows."
        )
    codes = np.searchsorted(classes, y)
    log_P = [model.predict_log_proba(X) for model in models]
    if len(codes) != len(log_P[0]):
        raise ValueError(
            f"y has {len(codes)} labels for {len(log_P[0])} rows of X; give one per row."
        )
    s = checked_sample_weight(sample_weight, codes)
    own = np.arange(len(codes)), codes
    return PathScores(
        np.array([model.n_active_weights_ for model in models]),
        np.array([s @ (each.argmax(axis=1) != codes) / s.sum() for each in log_P]),
        np.array([-(s @ each[own]) / s.sum() for each in log_P]),
    )
