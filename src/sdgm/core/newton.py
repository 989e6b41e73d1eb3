"""The innermost loop: maximise the log posterior over w by Newton's method."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.objective import Fit, Mixture, derivatives_of_rows
from sdgm.core.rows import Rows
from sdgm.core.whitening import Whitening


class NumericalTrouble(ArithmeticError):
    """The posterior precision could not be factorised, whatever was added to its diagonal."""


# multiples of the largest entry, added to the diagonal in turn when the Cholesky factorisation
# fails, which happens when an alpha near zero makes a whitened column huge
JITTER_LADDER = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
# a direction that is uphill raises the objective within this many halvings unless rounding rules
MAX_HALVINGS = 30
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
    curvature, cholesky : (m, m) arrays
        Curvature of J, and the Cholesky factor of the precision ``I + curvature`` in the lower
        triangle.
    direction : (m,) array
        Newton step.
    gain : float
        What the step promises to add to the log posterior; near zero at the mode.
    """

    theta: FloatArray
    mixture: Mixture
    fit: Fit
    curvature: FloatArray
    cholesky: FloatArray
    direction: FloatArray
    gain: float


def log_posterior(fit: Fit, theta: FloatArray, *, complete: bool) -> float:
    """``J - |theta|^2 / 2``, or with the observed log likelihood in place of J."""
    return (fit.J if complete else fit.log_likelihood) - 0.5 * float(theta @ theta)


def precision_cholesky(curvature: FloatArray) -> FloatArray | None:
    """Cholesky factor of ``I + curvature`` in the lower triangle, or None if there is none."""
    precision = curvature.copy(order="F")
    precision.ravel(order="K")[:: len(precision) + 1] += 1.0
    factor, info = lapack.dpotrf(precision, lower=1, clean=0, overwrite_a=1)
    # LAPACK lets NaN and infinity pass; they always reach the diagonal
    return factor if info == 0 and math.isfinite(factor.trace()) else None


def robust_precision_cholesky(curvature: FloatArray) -> FloatArray:
    """Cholesky factor of ``I + curvature``, climbing the jitter ladder when needed."""
    factor = precision_cholesky(curvature)
    if factor is not None:
        return factor
    largest = float(np.abs(curvature).max())
    if np.isfinite(largest):
        for jitter in JITTER_LADDER:
            factor = precision_cholesky(curvature + jitter * largest * np.eye(len(curvature)))
            if factor is not None:
                return factor
        # rounding of entries that cancelled can be larger than any that is left: drop what is
        # negative of the curvature, which in exact arithmetic has no such part
        eigenvalues, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        factor = precision_cholesky((vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T)
        if factor is not None:
            return factor
    raise NumericalTrouble(
        "the posterior precision of the weights cannot be factorised (largest entry "
        f"{largest:.3g}); standardise the inputs or lower the kernel scale"
    )


def newton_system(
    rows: Rows,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None,
    *,
    observed: bool = False,
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
        one: Newton's method proper on the log likelihood, without the slow tail of EM.
    """
    here = derivatives_of_rows(rows, mixture, r_from, whitening, missing=observed)
    cholesky = robust_precision_cholesky(here.curvature)
    factor = cholesky
    if here.missing is not None:
        observed_factor = precision_cholesky(here.curvature - here.missing)
        factor = cholesky if observed_factor is None else observed_factor
    grad = here.grad - theta
    direction, _ = lapack.dpotrs(factor, grad, lower=1)
    gain = 0.5 * float(grad @ direction)
    return System(theta, mixture, here.fit, here.curvature, cholesky, direction, gain)


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
    here = newton_system(rows, whitening, mixture, theta, r_from, observed=observed)
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
