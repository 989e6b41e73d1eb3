"""Reliability diagrams: how often predictions come true, by how sure they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.ticker import PercentFormatter

from sdgm._typing import BoolArray, FloatArray
from sdgm.metrics import CalibrationBins, calibration_bins, checked_predictions
from sdgm.plotting.predictions import PredictionsDisplay
from sdgm.plotting.style import class_color, class_marker, index_of, two_panels

# width and height in inches: the diagram is about square
RELIABILITY_SIZE = (5.0, 5.6)
# diagram to histogram
HEIGHTS = (3.2, 1.0)
# finer than the bins of the diagram, and still a tenth of an inch each
HISTOGRAM_BINS = 40
# normal quantile of 95% intervals
Z_95 = 1.959964


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(PredictionsDisplay):
    """Reliability diagram: accuracy against confidence, with a histogram of confidences.

    On the diagonal, predictions with a probability of 80% are correct in 80% of cases; below it,
    the classifier is overconfident. Bars are Wilson's 95% intervals of each bin. The calibration
    error in the legend is computed from the bins in the plot.

    Make it with `from_estimator` or `from_predictions`. To compare models in one plot, pass the
    axes of the first one: ``ax=first.axes_``.

    Parameters
    ----------
    came_true, confidence : arrays of shape (n_samples,)
        Whether each prediction is correct, and its probability.
    bins : CalibrationBins
        The predictions in bins.
    name : str or None
        Of the model, for the legend.
    of : str
        Label of the x axis.
    lowest : float, default=0.0
        Lowest confidence in the plot.

    Attributes
    ----------
    axes_ : list of two matplotlib Axes
        Diagram and histogram; ``ax_`` is the first.
    figure_ : matplotlib Figure
    line_ : ErrorbarContainer
    diagonal_ : Line2D or None
        None if another display has already drawn it.
    histogram_ : StepPatch
    legend_ : Legend

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier
    >>> from sdgm.datasets import make_ripley
    >>> from sdgm.plotting import new_axes
    >>> X, y, X_test, y_test = make_ripley().split()
    >>> model = KernelSDGMClassifier(random_state=0).fit(X, y)
    >>> display = ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=new_axes())
    >>> display.calibration_error < 0.05
    True
    """

    came_true: BoolArray
    confidence: FloatArray
    bins: CalibrationBins
    name: str | None
    of: str
    lowest: float = 0.0

    @property
    def calibration_error(self) -> float:
        """Mean distance between confidence and share, over the rows."""
        return self.bins.error

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls,
        y_true: Any,
        P: Any,
        *,
        labels: Any = None,
        pos_label: Any = None,
        n_bins: int = 15,
        strategy: str = "uniform",
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the reliability of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
        P : array-like of shape (n_samples, n_classes)
        labels : array-like of shape (n_classes,), optional
            Label of each column of P; by default the sorted labels in ``y_true``.
        pos_label : label, optional
            Class whose probability is used; by default the most probable class of every row.
        n_bins : int, default=15
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or with about equal numbers of rows.
        name : str, optional
            Of the model, for the legend.
        ax : matplotlib Axes or pair of them, optional
            A single one is split into diagram and histogram; by default a new pyplot figure.
        """
        P, codes = checked_predictions(y_true, P, labels)
        if pos_label is None:
            meant = P.argmax(axis=1)
            of, lowest = "probability of the most probable class", 1.0 / P.shape[1]
        else:
            names = np.unique(y_true) if labels is None else np.asarray(labels)
            meant = np.full(len(P), index_of("pos_label", pos_label, "labels", names))
            of, lowest = f"probability of class {pos_label}", 0.0
        came_true, confidence = meant == codes, P[np.arange(len(P)), meant]
        bins = calibration_bins(came_true, confidence, n_bins, strategy)
        display = cls(
            came_true=came_true, confidence=confidence, bins=bins, name=name, of=of, lowest=lowest
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on the given axes, a pair of them, or a new pyplot figure; returns self."""
        self.axes_ = two_panels(ax, HEIGHTS, RELIABILITY_SIZE)
        self.ax_, histogram = self.axes_
        self.figure_ = self.ax_.figure
        index = len(self.ax_.containers)  # of this model among those drawn here
        self.diagonal_ = None
        if index == 0:
            (self.diagonal_,) = self.ax_.plot(
                [0, 1], [0, 1], color="0.45", ls=":", lw=1.2, label="perfectly calibrated"
            )
        self._draw_shares(index)
        self._draw_histogram(histogram, index)
        self.ax_.set(ylabel="observed frequency")
        histogram.set(xlabel=self.of, ylabel="rows")
        for axis in self.ax_.yaxis, histogram.xaxis:
            axis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0, symbol="%"))
        self.legend_ = self.ax_.legend(frameon=False, loc="lower right")
        return self

    def _draw_shares(self, index: int) -> None:
        """One curve with intervals, and limits that hold it and the curves before it."""
        _, confidence, frequency = self.bins
        bars = wilson_interval(self.bins)
        ece = f"ECE {100 * self.calibration_error:.1f}%"
        self.line_ = self.ax_.errorbar(
            confidence,
            frequency,
            yerr=np.abs(bars - frequency),
            color=class_color(index),
            marker=class_marker(index),
            ms=6,
            mec="white",
            mew=0.6,
            lw=1.6,
            elinewidth=1.0,
            label=ece if self.name is None else f"{self.name} ({ece})",
        )
        left, bottom = self.lowest, min(self.lowest, bars.min() - 0.02)
        if index:
            left = min(left, self.ax_.get_xlim()[0])
            bottom = min(bottom, self.ax_.get_ylim()[0])
        space = 0.01 * (1.0 - left)
        self.ax_.set(xlim=(min(left, self.lowest - space), 1.0 + space))
        self.ax_.set(ylim=(max(bottom, -0.02), 1.02))

    def _draw_histogram(self, ax: Any, index: int) -> None:
        """How many rows there are at every confidence."""
        edges = np.linspace(self.lowest, 1.0, HISTOGRAM_BINS + 1)
        count, _ = np.histogram(self.confidence, edges)
        color = class_color(index)
        self.histogram_ = ax.stairs(count, edges, color=color, lw=1.4, zorder=3)
        ax.stairs(count, edges, color=(*color, 0.18), fill=True)


def wilson_interval(bins: CalibrationBins) -> FloatArray:
    """Wilson's 95% intervals for the shares in the bins, lower ends first: (2, n_bins).

    Examples
    --------
    >>> bins = CalibrationBins(np.array([10]), np.array([0.9]), np.array([1.0]))
    >>> wilson_interval(bins).round(3)
    array([[0.722],
           [1.   ]])
    """
    n, _, share = bins
    center = share + Z_95**2 / (2 * n)
    half = Z_95 * np.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n**2))
    return np.clip(np.stack([center - half, center + half]) / (1 + Z_95**2 / n), 0.0, 1.0)
