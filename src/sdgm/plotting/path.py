"""Error and log loss against the number of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter, StrMethodFormatter

from sdgm._typing import IntArray
from sdgm.estimators.weights_path import PathScores, WeightsPath, weights_path
from sdgm.plotting.style import CLASS_COLORS, FRAME_COLOR, two_panels

# width and height in inches
PATH_SIZE = (6.0, 4.8)
# ticks are these times powers of ten
ROUND = (1, 2, 5)
# more labels run into each other at this width
MOST_TICKS = 8
# models beyond which a path has markers only up to MARKED weights: in six inches more overlap
MANY_MODELS = 40
# the axis is logarithmic, so that models with few weights lie apart
MARKED = 20


@dataclass(kw_only=True, eq=False, repr=False)
class WeightsPathDisplay:
    """Error and log loss against the number of weights of nested models.

    Make it with `from_path` or `from_estimator`.

    Parameters
    ----------
    scores : dict from name to PathScores
        One curve each, such as ``{"training": ..., "test": ...}``.
    chosen : int or None
        Number of weights of the model to mark.

    Attributes
    ----------
    axes_ : list of two matplotlib Axes
    figure_ : matplotlib Figure
    error_lines_, log_loss_lines_ : dict from name to Line2D
    chosen_lines_ : list of Line2D
        The vertical line in each panel; empty if nothing is marked.
    legend_ : Legend
    """

    scores: dict[str, PathScores]
    chosen: int | None = None

    @classmethod
    def from_path(
        cls,
        path: WeightsPath,
        X_test: Any = None,
        y_test: Any = None,
        *,
        chosen: int | None = None,
        ax: Any = None,
        xscale: str = "log",
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : WeightsPath
        X_test, y_test : array-likes, optional
            Rows for a second curve.
        chosen : int, optional
            Budget of weights; the model returned by `WeightsPath.at_most` is marked.
        ax : matplotlib Axes or pair of them, optional
            A single one is split into two panels; by default a new pyplot figure.
        xscale : {"log", "linear"}, default="log"

        Examples
        --------
        >>> from sdgm import KernelSDGMClassifier, weights_path
        >>> from sdgm.datasets import make_ripley
        >>> from sdgm.plotting import new_axes
        >>> X, y, X_test, y_test = make_ripley().split()
        >>> model = KernelSDGMClassifier(3, random_state=0, teacher=None).fit(X, y)
        >>> path = weights_path(model, X, y)
        >>> display = WeightsPathDisplay.from_path(path, X_test, y_test, chosen=5, ax=new_axes())
        >>> sorted(display.error_lines_)
        ['test', 'training']
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test belong together; give both or neither.")
        scores = {"training": PathScores(path.n_weights, path.error, path.log_loss)}
        if X_test is not None:
            scores["test"] = path.evaluate(X_test, y_test)
        if chosen is not None:
            chosen = int(path.at_most(chosen).n_active_weights_)
        return cls(scores=scores, chosen=chosen).plot(ax=ax, xscale=xscale)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        chosen: int | None = None,
        ax: Any = None,
        xscale: str = "log",
    ) -> Self:
        """Compute the `weights_path` of a fitted classifier and plot it.

        Parameters
        ----------
        estimator : fitted classifier
        X, y : array-likes
            The rows that it was fitted to.
        X_test, y_test, chosen, ax, xscale
            As in `from_path`.
        """
        path = weights_path(estimator, X, y)
        return cls.from_path(path, X_test, y_test, chosen=chosen, ax=ax, xscale=xscale)

    def plot(self, *, ax: Any = None, xscale: str = "log") -> Self:
        """Draw, with parameters as in `from_path`; returns self."""
        self.axes_ = two_panels(ax, (1.0, 1.0), PATH_SIZE)
        upper, lower = self.axes_
        self.figure_ = upper.figure
        self.error_lines_: dict[str, Any] = {}
        self.log_loss_lines_: dict[str, Any] = {}
        colors = {"training": "0.45"}
        for c, (name, scores) in enumerate(self.scores.items()):
            style: dict[str, Any] = {
                "color": colors.get(name, CLASS_COLORS[(c - 1) % len(CLASS_COLORS)]),
                "ls": "--" if name == "training" else "-",
                "marker": "o",
                "markevery": marked(scores.n_weights),
                "ms": 4.0,
                "lw": 1.6,
                "label": name,
                "clip_on": False,
            }
            (self.error_lines_[name],) = upper.plot(scores.n_weights, scores.error, **style)
            (self.log_loss_lines_[name],) = lower.plot(scores.n_weights, scores.log_loss, **style)
        self._mark_chosen()
        upper.set(ylabel="error", ylim=(0.0, None))
        upper.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
        lower.set(ylabel="log loss", ylim=(0.0, None), xlabel="weights")
        self._set_ticks(lower, xscale)
        self.legend_ = upper.legend(frameon=False)
        return self

    def _mark_chosen(self) -> None:
        """A vertical line at the chosen number of weights, named in the legend."""
        self.chosen_lines_: list[Any] = []
        if self.chosen is not None:
            label = f"chosen: {self.chosen} weight{'s' if self.chosen != 1 else ''}"
            look: dict[str, Any] = {"color": FRAME_COLOR, "lw": 6.0, "alpha": 0.35, "zorder": 0}
            self.chosen_lines_ = [ax.axvline(self.chosen, label=label, **look) for ax in self.axes_]

    def _set_ticks(self, ax: Any, xscale: str) -> None:
        """A few whole numbers, no matter which scale."""
        n_weights = np.unique(np.concatenate([each.n_weights for each in self.scores.values()]))
        smallest, largest = int(n_weights[0]), int(n_weights[-1])
        if xscale == "log" and smallest == 0:
            ax.set_xscale("symlog", linthresh=1.0)  # a logarithm has no place for none
        else:
            ax.set_xscale(xscale)
        ticks = whole_ticks(smallest, largest, xscale == "log").tolist()
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def marked(n_weights: IntArray) -> list[int]:
    """Indices of the models that get a marker: all of a few, and the small ones of many."""
    few = len(n_weights) <= MANY_MODELS
    return [i for i, n in enumerate(n_weights.tolist()) if few or n <= MARKED]


def whole_ticks(smallest: int, largest: int, log: bool) -> IntArray:
    """A few whole numbers between two others: round ones, evenly spread on their scale."""
    steps = np.outer(10 ** np.arange(len(str(largest))), ROUND).ravel()
    if log and largest > MOST_TICKS:
        ticks = np.concatenate([[0], steps])
    else:
        span = largest - smallest
        step = int(next((each for each in steps if span <= each * MOST_TICKS), steps[-1]))
        ticks = np.arange(0, largest + 1, step)
        if step > 1 and smallest == 1:
            ticks = np.concatenate([[1], ticks[1:]])
    return ticks[(ticks >= smallest) & (ticks <= largest)]
