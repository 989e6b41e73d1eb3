"""The innermost loop of Algorithm 1: maximise the log posterior over w by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows, RowSource
from sdgm.core.objective.derivatives import (
    Derivatives,
    Fit,
    Mixture,
    derivatives_of_rows,
    gradient_of_rows,
    row_space_derivatives,
)
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers.precision import (
    DensePrecision,
    FactorizationError,
    Precision,
    RowSpacePrecision,
    precision_cholesky,
    saddle_free_cholesky,
)

# maximum number of Newton steps to the mode of w; five to ten are usual, more only near a saddle
STEPS_TO_MODE = 50
# an ascent direction increases the objective within this many halvings, unless rounding dominates
MAX_HALVINGS = 30
# relative loss of the objective that counts as rounding, not as a failed step
ROUNDING = 1e-12


class NewtonPoint(NamedTuple):
    """A point, and the quadratic model of the log posterior there."""

    theta: FloatArray  # whitened weights: (m,)
    mixture: Mixture  # the same point in the coordinates of Z
    fit: Fit
    precision: Precision  # ``I`` and the curvature of J
    direction: FloatArray  # Newton step: (m,)
    gain: float  # predicted increase of the log posterior; near zero at the mode


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


# from a mixture and its whitened weights to the end of a climb, and its number of steps
Climb = Callable[[Mixture, FloatArray], tuple[NewtonPoint, int]]


class Target(NamedTuple):
    """The target of a climb.

    Attributes
    ----------
    tol : float
        Gain that the next step promises at the end.
    max_steps, steps_to_mode : int
        Maximum number of Newton steps; the latter if the mode is to be reached, or r comes from the
        start.
    to_mode : bool
        Whether the mode is to be reached, not only approached.
    r_from : Mixture or None
        The model that gives r, held fixed (the paper's M-step); None for the model itself, which
        makes the log likelihood the objective and the step one of the EM gradient algorithm.
    saddle_free : bool
        Whether steps leave a saddle as fast as they approach a mode, rather than as slowly as EM.
    exact_precision : bool
        Whether the precision at the end must be exact, not only approximate.
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
    """The point after the longest step, 1, 1/2, 1/4, ..., that does not lower the objective."""
    before = log_posterior(here.fit, here.theta, complete=complete)
    for halvings in range(MAX_HALVINGS):
        theta = here.theta + 0.5**halvings * here.direction
        try:
            there = at(here.mixture._replace(V=whitening.score_vectors(theta)), theta)
        except FactorizationError:  # too far for the scores to be numbers
            continue
        if log_posterior(there.fit, theta, complete=complete) >= before - ROUNDING * abs(before):
            return there
    return None


# --- the whole Newton matrix ---

# coordinates up to which the observed information is formed although there are fewer rows than
# coordinates, and made positive definite where it is not: eigenvectors take longer beyond
MAX_OBSERVED = 1000


def climb_to(target: Target, rows: RowSource, whitening: Whitening, several: bool) -> Climb:
    """A climb with the whole Newton matrix, or in row space if there are few rows.

    Parameters
    ----------
    target : Target
    rows, whitening
        Data and coordinates.
    several : bool
        Whether some class has several components.
    """
    # from an initial state, w is far from the mode, and the components of a class must separate
    goes_far = target.to_mode or rows.has_initial_r
    follows_r = target.r_from is None and not rows.has_initial_r
    return partial(
        maximize_over_w,
        rows,
        whitening,
        max_steps=max(target.steps_to_mode, target.max_steps) if goes_far else target.max_steps,
        tol=target.tol,
        r_from=target.r_from,
        observed=target.to_mode and follows_r and several,
        saddle_free=target.saddle_free,
    )


def maximize_over_w(
    rows: RowSource,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    *,
    max_steps: int,
    tol: float,
    r_from: Mixture | None,
    observed: bool = False,
    saddle_free: bool = False,
) -> tuple[NewtonPoint, int]:
    """Climb the log posterior over the weights from ``theta``, by at least one step.

    Stops when the next step promises a smaller gain than ``tol``; also counts the steps. The other
    parameters are as in `newton_point`.
    """
    complete = r_from is not None or rows.has_initial_r
    at = partial(
        newton_point,
        rows,
        whitening,
        r_from=r_from,
        observed=observed,
        saddle_free=saddle_free,
    )
    here = at(mixture, theta, robust=True)
    for steps in range(1, max_steps + 1):
        there = backtracking(here, whitening, at, complete=complete)
        if there is None:
            return here, steps
        here = there
        if here.gain <= tol:
            break
    return here, steps


def newton_point(
    rows: RowSource,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None,
    *,
    observed: bool = False,
    saddle_free: bool = False,
    robust: bool = False,
) -> NewtonPoint:
    """Gradient and precision at a point, and the Newton step from it.

    Parameters
    ----------
    rows, whitening
        Data and coordinates.
    mixture : Mixture
        The model at ``theta``.
    theta : (m,) array
    r_from : Mixture or None
        As in `Target`.
    observed : bool
        Step with the observed information, where it is positive definite, instead of the complete
        one: Newton's method proper on the log likelihood, without the slow tail of EM. Not with
        many coordinates and fewer rows.
    saddle_free : bool
        If it is not positive definite, modify it to be so and step with it.
    robust : bool
        Whether to factorise the precision at any cost, because there is no other point to return
        to.
    """
    few_rows = isinstance(rows, Rows) and len(rows) < len(theta)
    if few_rows and not (observed and len(theta) <= MAX_OBSERVED):
        assert isinstance(rows, Rows)
        return row_space_point(rows, whitening, mixture, theta, r_from, robust)
    here = derivatives_of_rows(rows, mixture, r_from, whitening, missing=observed)
    point = GradientPoint(theta, mixture, here.fit, here.grad - theta)
    precision = DensePrecision(here.curvature)
    saddle_free &= len(theta) <= MAX_OBSERVED
    factor = observed_cholesky(here, precision if saddle_free else None) if observed else None
    if factor is None:
        return point.with_step(precision, precision.solve(point.grad))
    direction, _ = lapack.dpotrs(factor, point.grad, lower=1)
    return point.with_step(precision, direction)


def row_space_point(
    rows: Rows,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None,
    robust: bool,
) -> NewtonPoint:
    """The same with an N x N matrix, if there are fewer rows than coordinates."""
    fit, grad, Gt, P_cm = row_space_derivatives(rows, mixture, r_from, whitening)
    precision = RowSpacePrecision.from_rows(Gt, P_cm, whitening.coordinates, robust=robust)
    point = GradientPoint(theta, mixture, fit, grad - theta)
    return point.with_step(precision, precision.solve(point.grad))


def observed_cholesky(
    here: Derivatives, precision: DensePrecision | None = None
) -> FloatArray | None:
    """Cholesky factor of the precision with the observed information, if that is known and fit.

    Given the precision with the complete one, made fit where it is not.
    """
    if here.missing is None:
        return None
    factor = precision_cholesky(here.curvature - here.missing)
    if factor is None and precision is not None:
        return saddle_free_cholesky(precision.cholesky, here.missing)
    return factor
