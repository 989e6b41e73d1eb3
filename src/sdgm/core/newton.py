"""The innermost loop: maximise the log posterior over w by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.objective import Fit, Mixture, derivatives_of_rows, fit_of_rows
from sdgm.core.rows import Rows
from sdgm.core.whitening import Whitening


class NumericalTrouble(ArithmeticError):
    """The posterior precision could not be factorised, whatever was added to its diagonal."""


# multiples of the largest diagonal entry, added in turn when the Cholesky factorisation fails,
# which happens when an alpha near zero makes a whitened column huge
JITTER_LADDER = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
# a direction that is uphill raises the objective within this many halvings unless rounding rules
MAX_HALVINGS = 30
# relative loss of the objective that counts as rounding, not as a failed step
ROUNDING = 1e-12


@dataclass(frozen=True)
class Mode:
    """Where Newton's method ended, and the last quadratic model of the log posterior.

    Attributes
    ----------
    theta : (m,) array
        Whitened weights.
    mixture : Mixture
        The same point in the coordinates of Z.
    fit : Fit
        Fit at this point.
    curvature, cholesky : (m, m) arrays
        Curvature of J in the last Newton system, one step before this point, and the lower
        Cholesky factor of the precision ``I + curvature``.
    steps : int
        Newton steps taken.
    gain : float
        Gain of the objective that the last system promised; near zero at the mode.
    """

    theta: FloatArray
    mixture: Mixture
    fit: Fit
    curvature: FloatArray
    cholesky: FloatArray
    steps: int
    gain: float


def log_posterior(fit: Fit, theta: FloatArray, *, complete: bool) -> float:
    """``J - |theta|^2 / 2``, or with the observed log likelihood in place of J."""
    return (fit.J if complete else fit.log_likelihood) - 0.5 * float(theta @ theta)


def precision_cholesky(curvature: FloatArray) -> FloatArray | None:
    """Lower Cholesky factor of ``I + curvature``, or None if it is not positive definite."""
    precision = curvature.copy(order="F")
    np.einsum("ii->i", precision)[...] += 1.0
    factor, info = lapack.dpotrf(precision, lower=1, clean=1, overwrite_a=1)
    return factor if info == 0 else None


def robust_precision_cholesky(curvature: FloatArray) -> FloatArray:
    """Lower Cholesky factor of ``I + curvature``, climbing the jitter ladder when needed."""
    largest = float(np.einsum("ii->i", curvature).max(initial=1.0))
    if np.isfinite(largest):
        for jitter in JITTER_LADDER:
            jittered = curvature
            if jitter:
                jittered = curvature + jitter * largest * np.eye(len(curvature))
            factor = precision_cholesky(jittered)
            if factor is not None:
                return factor
    raise NumericalTrouble(
        "the posterior precision of the weights cannot be factorised (largest entry "
        f"{largest:.3g}); standardise the inputs or lower the kernel scale"
    )


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
) -> Mode:
    """Climb the log posterior over the weights from ``theta``.

    Parameters
    ----------
    rows, whitening
        Data and coordinates.
    mixture : Mixture
        The model at ``theta``.
    theta : (m,) array
    max_steps : int
        At least one step is taken.
    tol : float
        Stop after a step that promised a smaller gain than this.
    r_from : Mixture or None
        The model that gives r, held fixed (the paper's M-step); None for the model itself, which
        makes the log likelihood the objective and a step one of the EM gradient algorithm.
    observed : bool
        Step with the observed information, where it is positive definite, instead of the complete
        one: Newton's method proper on the log likelihood, without the slow tail of EM.

    Returns
    -------
    Mode
    """
    complete = r_from is not None or rows.r0 is not None
    for steps in range(1, max_steps + 1):
        here = derivatives_of_rows(rows, mixture, r_from, whitening, missing=observed)
        cholesky = robust_precision_cholesky(here.curvature)
        factor = cholesky
        if here.missing is not None:
            observed_factor = precision_cholesky(here.curvature - here.missing)
            factor = cholesky if observed_factor is None else observed_factor
        grad = here.grad - theta
        direction, _ = lapack.dpotrs(factor, grad, lower=1)
        gain = 0.5 * float(grad @ direction)
        stay = Mode(theta, mixture, here.fit, here.curvature, cholesky, steps, gain)
        mode = _climb(rows, whitening, stay, direction, r_from, complete)
        if gain <= tol or mode is stay:
            break
        theta, mixture = mode.theta, mode.mixture
    return mode


def _climb(
    rows: Rows,
    whitening: Whitening,
    start: Mode,
    direction: FloatArray,
    r_from: Mixture | None,
    complete: bool,
) -> Mode:
    """The longest of the steps 1, 1/2, 1/4, ... that does not lower the objective."""
    before = log_posterior(start.fit, start.theta, complete=complete)
    step = 1.0
    for _ in range(MAX_HALVINGS):
        theta = start.theta + step * direction
        mixture = start.mixture.at(whitening.score_vectors(theta))
        fit = fit_of_rows(rows, mixture, r_from)
        if log_posterior(fit, theta, complete=complete) >= before - ROUNDING * abs(before):
            return Mode(
                theta, mixture, fit, start.curvature, start.cholesky, start.steps, start.gain
            )
        step *= 0.5
    return start
