"""Rejection curves: the error among rows answered, when the least sure ones are rejected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.ticker import PercentFormatter

from sdgm._typing import FloatArray
from sdgm.metrics import RejectionCurve, rejection_curve
from sdgm.plotting.predictions import PredictionsDisplay
from sdgm.plotting.style import class_color, given_or_new, quiet_frame

# width and height in inches
REJECTION_SIZE = (5.2, 4.2)
# by curve, so that curves can be distinguished without colour
CURVE_DASHES = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1.2, 1.5)), (0, (1.5, 1)), (0, (9, 2)))
PERFECT_DASHES = (0, (1, 1.6))  # dotted, unlike all of these
# enough for a curve of this size to look smooth
PERFECT_POINTS = 200
# the y axis ends above the largest error by this factor, so that no curve touches the frame
SPACE_ABOVE = 1.08
# and here where there is no error: an axis needs a length
LEAST_TOP = 1e-3


@dataclass(kw_only=True, eq=False, repr=False)
class RejectionDisplay(PredictionsDisplay):
    """Error among the accepted rows against the coverage (risk-coverage curve).

    On the right all rows are accepted; towards the left the least confident ones are rejected. A
    curve that falls quickly to the left means that low confidence indicates mistakes. The dotted
    curve is a perfect order of the same predictions, with all wrong rows last.

    Make it with `from_estimator` or `from_predictions`. To compare models in one plot, pass the
    axes of the first one: ``ax=first.ax_``.

    Parameters
    ----------
    curve : RejectionCurve
    name : str or None
        Of the model, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : Line2D
    perfect_ : Line2D or None
        None with ``perfect=False``.
    legend_ : Legend

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier
    >>> from sdgm.datasets import make_ripley
    >>> from sdgm.plotting import new_axes
    >>> X, y, X_test, y_test = make_ripley().split()
    >>> model = KernelSDGMClassifier(1, random_state=0).fit(X, y)
    >>> display = RejectionDisplay.from_estimator(model, X_test, y_test, ax=new_axes())
    >>> display.curve.area < 0.05
    True
    """

    curve: RejectionCurve
    name: str | None

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls,
        y_true: Any,
        P: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        perfect: bool = True,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the rejection curve of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
        P : array-like of shape (n_samples, n_classes)
        labels : array-like of shape (n_classes,), optional
            Label of each column of P; by default the sorted labels in ``y_true``.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights.
        perfect : bool, default=True
            Whether to draw the curve of a perfect order.
        name : str, optional
            Of the model, for the legend.
        ax : matplotlib Axes, optional
            By default a new pyplot figure.
        """
        curve = rejection_curve(y_true, P, labels=labels, sample_weight=sample_weight)
        return cls(curve=curve, name=name).plot(perfect=perfect, ax=ax)

    def plot(self, *, perfect: bool = True, ax: Any = None) -> Self:
        """Draw, with parameters as in `from_predictions`; returns self."""
        self.ax_ = given_or_new(ax, REJECTION_SIZE)
        self.figure_ = self.ax_.figure
        labels = [line.get_label() for line in self.ax_.lines]
        index = sum(line.get_gid() == "rejection" for line in self.ax_.lines)  # drawn here before
        top = self.ax_.get_ylim()[1] if index else 0.0
        area = f"mean {100 * self.curve.area:.1f}%"
        answered, error = self.curve.answered, self.curve.error
        (self.line_,) = self.ax_.plot(
            np.append(0.0, answered),
            np.append(error[0], error),  # the first group is answered evenly
            color=class_color(index),
            ls=CURVE_DASHES[index % len(CURVE_DASHES)],
            lw=1.8,
            gid="rejection",
            label=area if self.name is None else f"{self.name} ({area})",
        )
        self.perfect_ = None
        if perfect:
            legend = "perfect order"
            (self.perfect_,) = self.ax_.plot(
                *perfect_curve(float(error[-1])),
                color=class_color(index),
                ls=PERFECT_DASHES,
                lw=1.3,
                label="_nolegend_" if legend in labels else legend,
            )
        self.ax_.set(xlabel="coverage", ylabel="error of accepted rows", xlim=(0.0, 1.0))
        self.ax_.set(ylim=(0.0, max(top, SPACE_ABOVE * error.max(), LEAST_TOP)))
        for axis in self.ax_.xaxis, self.ax_.yaxis:
            axis.set_major_formatter(PercentFormatter(xmax=1.0, symbol="%"))
        quiet_frame(self.ax_)
        self.legend_ = self.ax_.legend(frameon=False, loc="best")
        return self


def perfect_curve(error: float) -> tuple[FloatArray, FloatArray]:
    """Coverages and errors if all correct rows come before all wrong ones.

    Examples
    --------
    >>> answered, errors = perfect_curve(0.2)
    >>> answered[:2], errors[[0, 1, -1]]
    (array([0. , 0.8]), array([0. , 0. , 0.2]))
    """
    if error == 1.0:
        return np.array([0.0, 1.0]), np.ones(2)
    share = np.linspace(1.0 - error, 1.0, PERFECT_POINTS)
    return np.append(0.0, share), np.append(0.0, 1.0 - (1.0 - error) / share)
