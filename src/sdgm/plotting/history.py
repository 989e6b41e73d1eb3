"""How a fit went: weights and components that are left, evidence, posterior and likelihood."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from matplotlib.ticker import StrMethodFormatter

from sdgm._typing import FloatArray, IntArray
from sdgm.plotting.style import CLASS_COLORS, two_panels

# matplotlib's own width and height in inches
HISTORY_SIZE = (6.4, 4.8)
# points; matplotlib's own 1.5 is thin for colours that must be distinguishable
CURVE_WIDTH = 1.8


@dataclass(kw_only=True, eq=False, repr=False)
class HistoryDisplay:
    """Course of a fit over the iterations: sparsity above, objectives below.

    The upper panel shows the numbers of remaining weights and components on a logarithmic scale,
    the lower panel the log likelihood, the log posterior of the weights and the log evidence. The
    evidence is a Laplace approximation and jumps when weights are pruned, so it need not increase.

    Make it with `from_estimator`.

    Parameters
    ----------
    iteration : array of shape (n_iter,)
    n_weights, n_components : integer arrays of shape (n_iter,)
    log_likelihood, log_posterior, log_evidence : arrays of shape (n_iter,)

    Attributes
    ----------
    axes_, figure_ : list of two matplotlib Axes, and their Figure
    sparsity_lines_, objective_lines_ : dicts from name to Line2D
        Of ``weights`` and ``components``; ``log likelihood``, ``log posterior``, ``log evidence``.
    legend_ : Legend
    """

    iteration: IntArray
    n_weights: IntArray
    n_components: IntArray
    log_likelihood: FloatArray
    log_posterior: FloatArray
    log_evidence: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, xscale: str = "log") -> Self:
        """Plot the history of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier with ``history_``
        ax : matplotlib Axes or pair of them, optional
            A single one is split into two panels; by default a new pyplot figure.
        xscale : {"log", "linear"}, default="log"
            Scale of the iterations; most weights are removed in the first ones.

        Examples
        --------
        >>> from sdgm import KernelSDGMClassifier
        >>> from sdgm.datasets import make_ripley
        >>> from sdgm.plotting import new_axes
        >>> X, y, _, _ = make_ripley().split()
        >>> model = KernelSDGMClassifier(random_state=0).fit(X, y)
        >>> display = HistoryDisplay.from_estimator(model, ax=new_axes())
        >>> int(display.n_weights[-1]) == model.n_active_weights_
        True
        """
        records = getattr(estimator, "history_", None)
        if not records:
            raise ValueError(
                f"{type(estimator).__name__} has no history to draw; fit it first, with at least "
                "one iteration."
            )
        columns = {
            field.name: np.array([getattr(record, field.name) for record in records])
            for field in fields(cls)
        }
        return cls(**columns).plot(ax=ax, xscale=xscale)

    def plot(self, *, ax: Any = None, xscale: str = "log") -> Self:
        """Draw, with parameters as in `from_estimator`; returns self."""
        self.axes_ = two_panels(ax, (1.0, 1.0), HISTORY_SIZE)
        self.figure_ = self.axes_[0].figure
        self._draw_sparsity(self.axes_[0])
        self._draw_objectives(self.axes_[1])
        self.axes_[1].set_xscale(xscale)
        self.axes_[1].xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        self.axes_[1].set(xlabel="iteration")
        return self

    def _draw_sparsity(self, ax: Any) -> None:
        """Steps, since pruning takes whole weights, with the first and last number."""
        self.sparsity_lines_: dict[str, Any] = {}
        for name, values, color, style in [
            ("weights", self.n_weights, "black", "-"),
            ("components", self.n_components, CLASS_COLORS[1], "--"),
        ]:
            look = {"color": color, "ls": style, "lw": CURVE_WIDTH, "where": "post"}
            label = f"{name} ({values[0]} \N{RIGHTWARDS ARROW} {values[-1]})"
            (self.sparsity_lines_[name],) = ax.step(self.iteration, values, label=label, **look)
        empty = min(self.n_weights.min(), self.n_components.min()) < 1
        ax.set_yscale("symlog" if empty else "log")  # a logarithm has no place for none
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.set(ylabel="number left")
        ax.legend(frameon=False)

    def _draw_objectives(self, ax: Any) -> None:
        self.objective_lines_: dict[str, Any] = {}
        for name, values, color, style in [
            ("log likelihood", self.log_likelihood, CLASS_COLORS[0], "-"),
            ("log posterior", self.log_posterior, CLASS_COLORS[2], (0, (5, 1.5))),
            ("log evidence", self.log_evidence, "black", (0, (1.5, 1.2))),
        ]:
            look = {"color": color, "ls": style, "lw": CURVE_WIDTH}
            (self.objective_lines_[name],) = ax.plot(self.iteration, values, label=name, **look)
        ax.set(ylabel="nats")
        self.legend_ = ax.legend(frameon=False)
