"""The innermost loop: maximise the log posterior over w by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.objective import Fit, Mixture, derivatives_of_rows, row_space_derivatives
from sdgm.core.precision import (
    DensePrecision,
    NumericalTrouble,
    Precision,
    RowSpacePrecision,
    precision_cholesky,
)
from sdgm.core.rows import Rows
from sdgm.core.whitening import Whitening

# a direction that is uphill raises the objective within this many halvings unless rounding rules
MAX_HALVINGS = 30
# coordinates up to which the observed information is formed although there are fewer rows
MAX_OBSERVED = 1000
# relative loss of the objective that counts as rounding, not as a failed step
ROUNDING = 1e-12


class System(NamedTuple):
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


def log_posterior(fit: Fit, theta: FloatArray, *, complete: bool) -> float:
    """``J - |theta|^2 / 2``, or with the observed log likelihood in place of J."""
    return (fit.J if complete else fit.log_likelihood) - 0.5 * float(theta @ theta)


def newton_system(
    rows: Rows,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None,
    *,
    observed: bool = False,
    robust: bool = False,
) -> System:
    """Gradient and precision at a point, and the Newton step from it.

    Parameters
    ----------
    rows, whitening
        Data and coordinates.
    mixture : Mixture
        The model at ``theta``.
    theta : (m,) array
    r_from : Mixture or None
        The model that gives r, held fixed (the paper's M-step); None for the model itself, which
        makes the log likelihood the objective and the step one of the EM gradient algorithm.
    observed : bool
        Step with the observed information, where it is positive definite, instead of the complete
        one: Newton's method proper on the log likelihood, without the slow tail of EM. Not with
        many coordinates and fewer rows.
    robust : bool
        Whether to go far to factorise the precision: where there is no other point to turn to.
    """
    few_rows = len(rows) < len(theta)
    if few_rows and not (observed and len(theta) <= MAX_OBSERVED):
        fit, grad, Gt, P_cm = row_space_derivatives(rows, mixture, r_from, whitening)
        precision: Precision = RowSpacePrecision.from_rows(
            Gt, P_cm, whitening.coordinates, robust=robust
        )
        grad -= theta
        direction = precision.solve(grad)
    else:
        here = derivatives_of_rows(rows, mixture, r_from, whitening, missing=observed)
        fit, grad = here.fit, here.grad - theta
        precision = DensePrecision.from_curvature(here.curvature)
        factor = None if here.missing is None else precision_cholesky(here.curvature - here.missing)
        if factor is None:
            direction = precision.solve(grad)
        else:
            direction, _ = lapack.dpotrs(factor, grad, lower=1)
    gain = 0.5 * float(grad @ direction)
    return System(theta, mixture, fit, precision, direction, gain)


def maximize_over_w(
    rows: Rows,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    *,
    max_steps: int,
    tol: float,
    r_from: Mixture | None,
    observed: bool = False,
) -> tuple[System, int]:
    """Climb the log posterior over the weights from ``theta``, by at least one step.

    Parameters
    ----------
    rows, whitening, mixture, theta, r_from, observed
        As in `newton_system`.
    max_steps : int
    tol : float
        Stop when the next step promises a smaller gain than this.

    Returns
    -------
    end : System
    steps : int
    """
    complete = r_from is not None or rows.r0 is not None
    here = newton_system(rows, whitening, mixture, theta, r_from, observed=observed, robust=True)
    for steps in range(1, max_steps + 1):
        before = log_posterior(here.fit, here.theta, complete=complete)
        # the longest of the steps 1, 1/2, 1/4, ... that does not lower the objective
        for halvings in range(MAX_HALVINGS):
            theta = here.theta + 0.5**halvings * here.direction
            mixture = here.mixture.at(whitening.score_vectors(theta))
            try:
                there = newton_system(rows, whitening, mixture, theta, r_from, observed=observed)
            except NumericalTrouble:  # too far for the scores to be numbers
                continue
            after = log_posterior(there.fit, theta, complete=complete)
            if after >= before - ROUNDING * abs(before):
                break
        else:
            return here, steps
        here = there
        if here.gain <= tol:
            break
    return here, steps
