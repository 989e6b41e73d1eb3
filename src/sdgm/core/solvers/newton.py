"""The innermost loop: maximise the log posterior over w by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
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
    NumericalTrouble,
    Precision,
    RowSpacePrecision,
    precision_cholesky,
)

# a direction that is uphill raises the objective within this many halvings unless rounding rules
MAX_HALVINGS = 30
# coordinates up to which the observed information is formed although there are fewer rows, and is
# made positive definite where it is not
MAX_OBSERVED = 1000
# part of the complete information that counts as flat where the observed one has no sign
FLATTEST = 0.02
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


class Place(NamedTuple):
    """A point, the fit and the gradient of the log posterior there."""

    theta: FloatArray
    mixture: Mixture
    fit: Fit
    grad: FloatArray


def place_at(
    rows: RowSource,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None = None,
) -> Place:
    """The place of a point, by one gradient."""
    here = gradient_of_rows(rows, mixture, r_from)
    return Place(theta, mixture, here.fit, whitening.of_scores(here.of_V) - theta)


class Point(Protocol):
    """A point whose fit is known."""

    @property
    def fit(self) -> Fit: ...


P = TypeVar("P", bound=Point)


def log_posterior(fit: Fit, theta: FloatArray, *, complete: bool) -> float:
    """``J - |theta|^2 / 2``, or with the observed log likelihood in place of J."""
    return (fit.J if complete else fit.log_likelihood) - 0.5 * float(theta @ theta)


def newton_system(
    rows: RowSource,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None,
    *,
    observed: bool = False,
    leave_saddles: bool = False,
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
    leave_saddles : bool
        Where it is not positive definite, step with it all the same, made so.
    robust : bool
        Whether to go far to factorise the precision: where there is no other point to turn to.
    """
    few_rows = isinstance(rows, Rows) and len(rows) < len(theta)
    if few_rows and not (observed and len(theta) <= MAX_OBSERVED):
        assert isinstance(rows, Rows)
        fit, grad, precision, direction = row_space_step(
            rows, whitening, mixture, theta, r_from, robust
        )
    else:
        fit, grad, precision, direction = dense_step(
            rows, whitening, mixture, theta, r_from, observed, leave_saddles
        )
    gain = 0.5 * float(grad @ direction)
    return System(theta, mixture, fit, precision, direction, gain)


# fit, gradient with the prior's, precision, direction
Step = tuple[Fit, FloatArray, Precision, FloatArray]


def dense_step(
    rows: RowSource,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None,
    observed: bool,
    leave_saddles: bool,
) -> Step:
    """The whole precision, factorised."""
    here = derivatives_of_rows(rows, mixture, r_from, whitening, missing=observed)
    grad = here.grad - theta
    precision = DensePrecision.from_curvature(here.curvature)
    leave_saddles &= len(theta) <= MAX_OBSERVED  # eigenvectors take longer than the rows
    factor = observed_cholesky(here, precision if leave_saddles else None)
    if factor is None:
        return here.fit, grad, precision, precision.solve(grad)
    direction, _ = lapack.dpotrs(factor, grad, lower=1)
    return here.fit, grad, precision, direction


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


def saddle_free_cholesky(cholesky: FloatArray, missing: FloatArray) -> FloatArray | None:
    """Cholesky factor of the observed information with positive eigenvalues, if there is one.

    In units of the complete information they are one minus those of the missing one, and their
    sizes are taken: a step then leaves a saddle as fast as it would come to a mode, where that
    with the complete information, of the EM algorithm, hardly moves.

    Parameters
    ----------
    cholesky : (m, m) array
        Factor of the complete information, the prior's included, in the lower triangle.
    missing : (m, m) array
    """
    L = np.tril(cholesky)
    half, _ = lapack.dtrtrs(L, missing, lower=1)
    relative, _ = lapack.dtrtrs(L, half.T, lower=1)
    if not np.isfinite(relative).all():
        return None
    try:
        eigenvalues, vectors = np.linalg.eigh(relative)
    except np.linalg.LinAlgError:
        return None
    root = (L @ vectors) * np.sqrt(np.maximum(np.abs(1.0 - eigenvalues), FLATTEST))
    factor, info = lapack.dpotrf(root @ root.T, lower=1)
    return factor if info == 0 else None


def row_space_step(
    rows: Rows,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    r_from: Mixture | None,
    robust: bool,
) -> Step:
    """The same by a matrix of N x N numbers, where there are fewer rows than coordinates."""
    fit, grad, Gt, P_cm = row_space_derivatives(rows, mixture, r_from, whitening)
    precision = RowSpacePrecision.from_rows(Gt, P_cm, whitening.coordinates, robust=robust)
    grad -= theta
    return fit, grad, precision, precision.solve(grad)


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
    leave_saddles: bool = False,
) -> tuple[System, int]:
    """Climb the log posterior over the weights from ``theta``, by at least one step.

    Parameters
    ----------
    rows, whitening, mixture, theta, r_from, observed, leave_saddles
        As in `newton_system`.
    max_steps : int
    tol : float
        Stop when the next step promises a smaller gain than this.

    Returns
    -------
    end : System
    steps : int
    """
    complete = r_from is not None or rows.has_start
    system = partial(
        newton_system,
        rows,
        whitening,
        r_from=r_from,
        observed=observed,
        leave_saddles=leave_saddles,
    )
    here = system(mixture, theta, robust=True)
    for steps in range(1, max_steps + 1):
        there = uphill(here, whitening, system, complete=complete)
        if there is None:
            return here, steps
        here = there
        if here.gain <= tol:
            break
    return here, steps


def uphill(
    here: System,
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
        except NumericalTrouble:  # too far for the scores to be numbers
            continue
        if log_posterior(there.fit, theta, complete=complete) >= before - ROUNDING * abs(before):
            return there
    return None
