"""The innermost loop of Algorithm 1: maximise the log posterior over w by Newton's method."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.cost import MAX_OBSERVED
from sdgm.core.data.rows import Rows, RowSource
from sdgm.core.objective.derivatives import (
    Derivatives,
    Mixture,
    derivatives_of_rows,
    row_space_derivatives,
)
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers.points import Climb, GradientPoint, NewtonPoint, Target, backtracking
from sdgm.core.solvers.precision import DensePrecision, RowSpacePrecision, precision_cholesky

# part of the complete information that counts as flat where the observed one has no sign
FLATTEST = 0.02


def climb_to(target: Target, rows: RowSource, whitening: Whitening, several: bool) -> Climb:
    """A climb with the whole Newton matrix, or by rows where they are fewer than coordinates.

    Parameters
    ----------
    target : Target
    rows, whitening
        Data and coordinates.
    several : bool
        Whether some class has several components.
    """
    # from a start w has a long way to go, and the components of a class are to part on it
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
        Where it is not positive definite, step with it all the same, made so.
    robust : bool
        Whether to go far to factorise the precision: where there is no other point to turn to.
    """
    few_rows = isinstance(rows, Rows) and len(rows) < len(theta)
    if few_rows and not (observed and len(theta) <= MAX_OBSERVED):
        assert isinstance(rows, Rows)
        return row_space_point(rows, whitening, mixture, theta, r_from, robust)
    here = derivatives_of_rows(rows, mixture, r_from, whitening, missing=observed)
    point = GradientPoint(theta, mixture, here.fit, here.grad - theta)
    precision = DensePrecision.from_curvature(here.curvature)
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
    """The same by a matrix of N x N numbers, where there are fewer rows than coordinates."""
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


def saddle_free_cholesky(cholesky: FloatArray, missing: FloatArray) -> FloatArray | None:
    """Cholesky factor of the observed information with positive eigenvalues, if there is one.

    The eigenvalues, in units of the complete information (whose factor, with the prior, is given),
    are one minus the eigenvalues of the missing one. Their absolute values are taken: a step then
    leaves a saddle as fast as it would come to a mode, where EM hardly moves.
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
