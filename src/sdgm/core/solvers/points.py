"""Points on the way to the mode, what is known of the log posterior there, and steps between."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.core.objective.derivatives import Fit, Mixture, gradient_of_rows
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers.precision import FactorizationError, Precision

# a direction that is uphill raises the objective within this many halvings unless rounding rules
MAX_HALVINGS = 30
# relative loss of the objective that counts as rounding, not as a failed step
ROUNDING = 1e-12


class NewtonPoint(NamedTuple):
    """A point, and the quadratic model of the log posterior there.

    Attributes
    ----------
    theta : (m,) array
        Whitened weights.
    mixture : Mixture
        The same point in the coordinates of Z.
    fit : Fit
    precision : Precision
        ``I`` and the curvature of J.
    direction : (m,) array
        Newton step.
    gain : float
        What the step promises to add to the log posterior; near zero at the mode.
    """

    theta: FloatArray
    mixture: Mixture
    fit: Fit
    precision: Precision
    direction: FloatArray
    gain: float


class GradientPoint(NamedTuple):
    """A point, the fit and the gradient of the log posterior there."""

    theta: FloatArray
    mixture: Mixture
    fit: Fit
    grad: FloatArray

    def with_step(self, precision: Precision, direction: FloatArray) -> NewtonPoint:
        """The point with a Newton step from it."""
        gain = 0.5 * float(self.grad @ direction)
        return NewtonPoint(self.theta, self.mixture, self.fit, precision, direction, gain)


# from a mixture and its whitened weights to where a climb ended, and how many steps it took
Climb = Callable[[Mixture, FloatArray], tuple[NewtonPoint, int]]


class Target(NamedTuple):
    """What a climb is to reach.

    Attributes
    ----------
    tol : float
        Gain that the next step promises at the end.
    max_steps, steps_to_mode : int
        Newton steps at most; the latter where the mode is to be reached, or r comes from the start.
    to_mode : bool
        Whether the mode is to be reached, and not only neared.
    r_from : Mixture or None
        The model that gives r, held fixed (the paper's M-step); None for the model itself, which
        makes the log likelihood the objective and the step one of the EM gradient algorithm.
    saddle_free : bool
        Whether steps leave a saddle as fast as they come to a mode, rather than as EM does.
    exact_precision : bool
        Whether the precision at the end is needed as it is, and not only nearly.
    """

    tol: float
    max_steps: int
    steps_to_mode: int
    to_mode: bool
    r_from: Mixture | None = None
    saddle_free: bool = False
    exact_precision: bool = True


def gradient_point(
    rows: RowSource,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None = None,
) -> GradientPoint:
    """A point with its gradient, by one pass over the rows."""
    here = gradient_of_rows(rows, mixture, r_from)
    return GradientPoint(theta, mixture, here.fit, whitening.of_scores(here.of_V) - theta)


def log_posterior(fit: Fit, theta: FloatArray, *, complete: bool) -> float:
    """``J - |theta|^2 / 2`` (log posterior), or with the observed log likelihood in place of J.

    The paper leaves out the factor 1/2 of the Gaussian prior.
    """
    return (fit.J if complete else fit.log_likelihood) - 0.5 * float(theta @ theta)


class Point(Protocol):
    """A point whose fit is known."""

    @property
    def fit(self) -> Fit: ...


P = TypeVar("P", bound=Point)


def backtracking(
    here: NewtonPoint,
    whitening: Whitening,
    at: Callable[[Mixture, FloatArray], P],
    *,
    complete: bool,
) -> P | None:
    """Where the longest of the steps 1, 1/2, 1/4, ... leads that does not lower the objective."""
    before = log_posterior(here.fit, here.theta, complete=complete)
    for halvings in range(MAX_HALVINGS):
        theta = here.theta + 0.5**halvings * here.direction
        try:
            there = at(here.mixture.at(whitening.score_vectors(theta)), theta)
        except FactorizationError:  # too far for the scores to be numbers
            continue
        if log_posterior(there.fit, theta, complete=complete) >= before - ROUNDING * abs(before):
            return there
    return None
