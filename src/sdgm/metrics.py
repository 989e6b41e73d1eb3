"""How good predicted probabilities are: calibration error and Brier score."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sdgm._typing import BoolArray, FloatArray, IntArray

# how far from one the probabilities of a row may sum, for single precision and many classes
SUM_TOLERANCE = 1e-3


class Binning(StrEnum):
    """How confidences are put into bins: of equal width, or of equal numbers of rows."""

    UNIFORM = "uniform"
    QUANTILE = "quantile"

    @classmethod
    def _missing_(cls, value: object) -> Binning:
        known = ", ".join(repr(str(member)) for member in cls)
        raise ValueError(f"strategy must be one of {known}, got {value!r}.")


class CalibrationBins(NamedTuple):
    """Predictions in bins of similar confidence; bins without rows are left out.

    Attributes
    ----------
    n_rows : (n_bins,) integer array
        Rows in each bin.
    confidence : (n_bins,) array
        Their mean confidence.
    frequency : (n_bins,) array
        The share of them where the prediction came true.
    """

    n_rows: IntArray
    confidence: FloatArray
    frequency: FloatArray

    @property
    def error(self) -> float:
        """Mean distance between confidence and frequency, over the rows."""
        gap = np.abs(self.confidence - self.frequency)
        return float(self.n_rows @ gap / self.n_rows.sum())


def expected_calibration_error(
    y_true: ArrayLike, P: ArrayLike, n_bins: int = 15, *, labels: ArrayLike | None = None
) -> float:
    """Expected calibration error of the most probable class (top-label ECE).

    Rows are put into bins of equal width by the probability of their most probable class. In every
    bin the mean of this confidence is compared with the share of rows where it is the true class;
    the error is the mean of the absolute differences over the rows.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    P : array of shape (n_samples, n_classes)
        Class probabilities, as from `predict_proba`.
    n_bins : int, default=15
        Bins between 0 and 1, each with its upper and without its lower end.
    labels : array of shape (n_classes,), optional
        Label of each column of P; the sorted labels in ``y_true`` if not given.

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
    return calibration_bins(P.argmax(axis=1) == codes, P.max(axis=1), n_bins).error


def brier_score(y_true: ArrayLike, P: ArrayLike, *, labels: ArrayLike | None = None) -> float:
    """Brier score: mean squared distance between probabilities and one-hot truth.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    P : array of shape (n_samples, n_classes)
        Class probabilities, as from `predict_proba`.
    labels : array of shape (n_classes,), optional
        Label of each column of P; the sorted labels in ``y_true`` if not given.

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
    return float(np.mean(np.sum((P - T) ** 2, axis=1)))


def calibration_bins(
    came_true: BoolArray,
    confidence: FloatArray,
    n_bins: int = 15,
    strategy: str = Binning.UNIFORM,
) -> CalibrationBins:
    """Predictions in bins of similar confidence.

    Parameters
    ----------
    came_true : (n_samples,) boolean array
    confidence : (n_samples,) array
        The probability that was given to it.
    n_bins : int
    strategy : {"uniform", "quantile"}
        Bins of equal width, or of about equal numbers of rows.

    Returns
    -------
    bins : CalibrationBins

    Examples
    --------
    >>> bins = calibration_bins(np.array([True, False, True]), np.array([0.5, 0.6, 0.9]), n_bins=2)
    >>> bins.n_rows, bins.frequency
    (array([1, 2]), array([1. , 0.5]))
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be a positive integer, got {n_bins!r}; 15 is usual.")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if Binning(strategy) is Binning.QUANTILE:
        edges = np.quantile(confidence, edges)
    index = np.searchsorted(edges[1:-1], confidence, side="left")
    n_rows = np.bincount(index, minlength=n_bins)
    used = n_rows > 0
    confidences = np.bincount(index, confidence, minlength=n_bins)  # sums over the bins
    successes = np.bincount(index, came_true, minlength=n_bins)
    return CalibrationBins(
        n_rows[used], confidences[used] / n_rows[used], successes[used] / n_rows[used]
    )


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
            "a row of P is not a probability distribution; pass what predict_proba gives, not "
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
