"""Metrics of predicted probabilities: calibration error, Brier score, rejection curve."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sdgm._choice import choice
from sdgm._typing import BoolArray, FloatArray, IntArray

# how far from one the probabilities of a row may sum, for single precision and many classes
SUM_TOLERANCE = 1e-3


class Binning(StrEnum):
    """Binning of confidences: bins of equal width, or with equal numbers of rows."""

    UNIFORM = "uniform"
    QUANTILE = "quantile"


class CalibrationBins(NamedTuple):
    """Predictions binned by confidence; empty bins are left out.

    Attributes
    ----------
    n_rows : (n_bins,) array
        Number of rows in each bin, or their total sample weight.
    confidence, frequency : (n_bins,) arrays
        Mean confidence in each bin, and the fraction of predictions that were correct.
    """

    n_rows: IntArray | FloatArray
    confidence: FloatArray
    frequency: FloatArray

    @property
    def error(self) -> float:
        """Mean absolute difference between confidence and frequency, over the rows."""
        gap = np.abs(self.confidence - self.frequency)
        return float(self.n_rows @ gap / self.n_rows.sum())


class RejectionCurve(NamedTuple):
    """Error among the accepted rows, the most confident ones first.

    One point per distinct confidence: rows with equal confidence are accepted together.

    Attributes
    ----------
    answered, error : (n_points,) arrays
        Coverage, the fraction of accepted rows, increasing to 1, and the error among them.
    confidence : (n_points,) array
        Threshold on the probability of the most probable class, decreasing.
    """

    answered: FloatArray
    error: FloatArray
    confidence: FloatArray

    @property
    def area(self) -> float:
        """Mean error over all coverages.

        Between two points, wrong rows are spread evenly, which is the mean over all orders of rows
        with equal confidence. A random order has the error of all rows.
        """
        a, wrong = self.answered, self.answered * self.error
        width = np.diff(a, prepend=0.0)
        rate = np.diff(wrong, prepend=0.0) / width  # of errors in each group
        # the integral of (wrong_0 + rate (a - a_0)) / a from a_0 to a_1; wrong_0 = 0 at a_0 = 0
        ahead = (wrong[:-1] - rate[1:] * a[:-1]) * np.log1p(width[1:] / a[:-1])
        return float(rate @ width + ahead.sum())

    @property
    def perfect_area(self) -> float:
        """Area if all wrong predictions were less confident than all correct ones."""
        error = float(self.error[-1])
        return error + (1.0 - error) * float(np.log1p(-error)) if error < 1.0 else 1.0


def expected_calibration_error(
    y_true: ArrayLike,
    P: ArrayLike,
    n_bins: int = 15,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Expected calibration error of the most probable class (top-label ECE).

    Rows are binned by the probability of their most probable class; the error is the mean absolute
    difference, over the rows, between the mean confidence and the accuracy of a bin.

    Parameters
    ----------
    y_true, P : arrays of shape (n_samples,) and (n_samples, n_classes)
        Labels, and class probabilities as from `predict_proba`.
    n_bins : int, default=15
        Number of bins of equal width between 0 and 1, each including its upper end.
    labels : array of shape (n_classes,), optional
        Label of each column of P; by default the sorted labels in ``y_true``.
    sample_weight : array of shape (n_samples,), optional
        Sample weights.

    Returns
    -------
    error : float
        Between 0 and 1.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On Calibration of Modern Neural Networks",
    ICML 2017.

    Examples
    --------
    >>> expected_calibration_error([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    0.2333
    """
    P, codes = checked_predictions(y_true, P, labels)
    right = P.argmax(axis=1) == codes
    return calibration_bins(right, P.max(axis=1), n_bins, sample_weight=sample_weight).error


def brier_score(
    y_true: ArrayLike,
    P: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Brier score: mean squared distance between probabilities and one-hot truth.

    Parameters
    ----------
    y_true, P, labels, sample_weight :
        As in `expected_calibration_error`.

    Returns
    -------
    score : float
        Between 0 and 2, lower is better. For two classes it is twice what scikit-learn's
        `brier_score_loss` gives.

    Examples
    --------
    >>> brier_score([0, 1], [[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    P, codes = checked_predictions(y_true, P, labels)
    T = np.eye(P.shape[1])[codes]  # (N, C)
    distance = np.sum((P - T) ** 2, axis=1)
    return float(np.average(distance, weights=checked_weights(sample_weight, len(P))))


def rejection_curve(
    y_true: ArrayLike,
    P: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> RejectionCurve:
    """Error among the accepted rows when the least confident ones are rejected.

    Also known as the risk-coverage curve. Confidence is the probability of the most probable class.

    Parameters
    ----------
    y_true, P, labels, sample_weight :
        As in `expected_calibration_error`.

    Returns
    -------
    curve : RejectionCurve
        ``answered, error, confidence``, with properties ``area`` and ``perfect_area``.

    References
    ----------
    R. El-Yaniv, Y. Wiener, "On the Foundations of Noise-free Selective Classification",
    Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> curve = rejection_curve([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> curve.answered.round(3), curve.error.round(3)
    (array([0.333, 0.667, 1.   ]), array([0.   , 0.   , 0.333]))
    >>> round(curve.area, 3), round(curve.perfect_area, 3)
    (0.063, 0.063)
    """
    P, codes = checked_predictions(y_true, P, labels)
    s = checked_weights(sample_weight, len(P))
    rows = np.flatnonzero(s)
    P, codes, s = P[rows], codes[rows], s[rows]
    least_first, group = np.unique(P.max(axis=1), return_inverse=True)
    weight = np.bincount(group, s)[::-1].cumsum()
    wrong = np.bincount(group, s * (P.argmax(axis=1) != codes))[::-1].cumsum()
    return RejectionCurve(weight / weight[-1], wrong / weight, least_first[::-1])


def area_under_rejection_curve(
    y_true: ArrayLike,
    P: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean error over all coverages, the most confident rows first.

    Only the order of the confidences matters, not their values.

    Parameters
    ----------
    y_true, P, labels, sample_weight :
        As in `expected_calibration_error`.

    Returns
    -------
    area : float
        Between 0 and 1, lower is better. The area of a perfect order is the ``perfect_area`` of
        `rejection_curve`; a random order has the error of all rows.

    References
    ----------
    Y. Geifman, G. Uziel, R. El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural
    Classifiers", ICLR 2019.

    Examples
    --------
    >>> area_under_rejection_curve([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    0.0630
    """
    return rejection_curve(y_true, P, labels=labels, sample_weight=sample_weight).area


def calibration_bins(
    came_true: BoolArray,
    confidence: FloatArray,
    n_bins: int = 15,
    strategy: str = Binning.UNIFORM,
    *,
    sample_weight: ArrayLike | None = None,
) -> CalibrationBins:
    """Predictions binned by confidence.

    Parameters
    ----------
    came_true, confidence : (n_samples,) arrays
        Whether each prediction was correct, and its probability.
    n_bins : int
    strategy : {"uniform", "quantile"}
        Bins of equal width, or with about equal numbers of rows, regardless of their weights.
    sample_weight : (n_samples,) array, optional
        Sample weights.

    Examples
    --------
    >>> bins = calibration_bins(np.array([True, False, True]), np.array([0.5, 0.6, 0.9]), n_bins=2)
    >>> bins.n_rows, bins.frequency
    (array([1, 2]), array([1. , 0.5]))
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be a positive integer, got {n_bins!r}; 15 is usual.")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if choice("strategy", strategy, Binning) is Binning.QUANTILE:
        edges = np.quantile(confidence, edges)
    index = np.searchsorted(edges[1:-1], confidence, side="left")
    s = None if sample_weight is None else checked_weights(sample_weight, len(index))
    n_rows = np.bincount(index, s, minlength=n_bins)  # integers without weights
    used = n_rows > 0
    sums = [
        np.bincount(index, values if s is None else s * values, minlength=n_bins)[used]
        for values in (confidence, came_true)
    ]
    return CalibrationBins(n_rows[used], *(each / n_rows[used] for each in sums))


def checked_predictions(
    y_true: ArrayLike, P: ArrayLike, labels: ArrayLike | None
) -> tuple[FloatArray, IntArray]:
    """Probabilities as an array, and for every row the column of its true class."""
    y_true, P = np.asarray(y_true), np.asarray(P, dtype=np.float64)
    names: np.ndarray[Any, Any] = np.unique(y_true) if labels is None else np.asarray(labels)
    if y_true.ndim != 1 or P.ndim != 2 or len(P) != len(y_true) or not len(P):
        raise ValueError(
            f"y_true has shape {y_true.shape} and P {P.shape}; pass one label and one row of class "
            f"probabilities for every sample, as predict_proba gives them."
        )
    if P.shape[1] != len(names):
        raise ValueError(
            f"P has {P.shape[1]} columns for {len(names)} labels, {names.tolist()}; pass labels, "
            f"such as the classifier's classes_."
        )
    if not (np.all(P >= 0.0) and np.allclose(P.sum(axis=1), 1.0, rtol=0.0, atol=SUM_TOLERANCE)):
        raise ValueError(
            "a row of P is not a probability distribution; pass the output of predict_proba, not "
            "scores or logarithms."
        )
    order = np.argsort(names)
    position = np.minimum(np.searchsorted(names, y_true, sorter=order), len(names) - 1)
    codes = order[position]
    unknown = names[codes] != y_true
    if unknown.any():
        raise ValueError(
            f"y_true has the label {y_true[unknown].tolist()[0]!r}, which is not among labels "
            f"{names.tolist()}; leave such rows out."
        )
    return P, codes


def checked_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Weights of the rows as an array; ones if not given."""
    if sample_weight is None:
        return np.ones(n_rows)
    s = np.asarray(sample_weight, dtype=np.float64)
    if s.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {s.shape} for {n_rows} rows; pass one number per row."
        )
    if not (np.isfinite(s).all() and (s >= 0).all() and s.any()):
        raise ValueError(
            "sample_weight has a value that is negative or not finite, or only zeros; pass "
            "frequencies of the rows."
        )
    return s
