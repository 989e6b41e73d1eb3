"""The innermost loop for very many rows: the gradient of all rows, the information of a sample.

Newton's matrix costs as much as many gradients. The matrix of a sample is nearly as good, and BFGS
corrects it by the gradients of earlier steps: a few steps more, each at a fraction of the cost. The
mode is the mode of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows, RowSource, S
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers.newton import (
    STEPS_TO_MODE,
    Climb,
    GradientPoint,
    NewtonPoint,
    Target,
    backtracking,
    gradient_point,
    maximize_over_w,
    observed_cholesky,
)
from sdgm.core.solvers.precision import DensePrecision

# rows of a sample per coordinate above which its information is near enough to all rows': relative
# errors are of the order of the root of coordinates by rows, an eighth
ENOUGH_ROWS = 64
# steps after which Newton steps with all rows replace those with the sample; five to ten are usual
SAMPLED_STEPS = 25
# with this many coordinates Newton steps with all rows take too long, and the sample is kept if it
# has come closer
MANY_COORDINATES = 256
# part of the first gain that may remain then: the climb has not stalled, and the next pass
# continues
COMES_CLOSER = 0.5
# part of the tolerated gain to end with, since the sample only estimates the gain
CLOSER = 0.1
# ratio of successive gains up to which the information is still good enough: gains are squares, and
# relative errors of an eighth to a quarter shrink them to a sixty-fourth to a sixteenth
SHRINKS = 0.1
# steps whose gradients correct the directions of later ones: as many as scipy's L-BFGS-B keeps
KEPT_CHANGES = 10
# part of the product of their lengths by which a step and the change of the gradient must agree:
# about the root of the machine precision
SOUND = 1e-8


@dataclass(frozen=True)
class RowsWithSample:
    """Many rows, and a sample of them for the information."""

    rows: RowSource
    sample: RowSource  # in the same coordinates, weighted to stand for all rows

    def __len__(self) -> int:
        return len(self.rows)

    has_initial_r = False

    def without_initial_r(self) -> RowsWithSample:
        return self

    def unmapped(self) -> RowSource:
        return self.rows.unmapped()

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        return self.rows.total(statistic, width)

    def can_direct(self, n_coordinates: int) -> bool:
        """Whether the sample is large enough, by its effective number of rows."""
        s, s_squared = self.sample.total(
            lambda block: np.array([block.s.sum(), block.s @ block.s]), 1
        )
        return bool(s**2 >= ENOUGH_ROWS * n_coordinates * s_squared)


def climb_to(target: Target, rows: RowsWithSample, whitening: Whitening, several: bool) -> Climb:
    """A climb to the mode, however far; parameters are as in `newton.climb_to`."""
    return partial(
        maximize_by_sample,
        rows,
        whitening,
        tol=target.tol,
        observed=several,
        exact=target.exact_precision,
    )


def maximize_by_sample(
    rows: RowsWithSample,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    *,
    tol: float,
    observed: bool,
    exact: bool,
) -> tuple[NewtonPoint, int]:
    """Climb to the mode of the log posterior of all rows, by Newton steps if everything else fails.

    With many weights the climb may end before the mode, near enough to it by the sample's
    information.

    Parameters
    ----------
    rows, whitening, mixture, theta, observed
        As in `newton.newton_point`.
    tol : float
        Stop when the next step promises a smaller gain than this.
    exact : bool
        Whether the precision at the end is computed from all rows, by one more pass, or from the
        sample, near the end.
    """
    at = partial(gradient_point, rows, whitening)

    def information_at(place: GradientPoint) -> SampleInformation:
        return SampleInformation.of(rows.sample, place.mixture, whitening, observed)

    def system(place: GradientPoint) -> NewtonPoint:
        direction = corrected_direction(place.grad, information.solve, seen)
        return place.with_step(information.precision, direction)

    place = at(mixture, theta)
    information, seen = information_at(place), list[Change]()
    here = system(place)
    steps, first_gain, enough = 0, here.gain, CLOSER * tol
    while steps < SAMPLED_STEPS and here.gain > enough:
        steps += 1
        there = backtracking(here, whitening, at, complete=False)
        if there is None:
            break
        change = Change(there.theta - place.theta, place.grad - there.grad)
        if change.is_sound:
            seen = [*seen, change][-KEPT_CHANGES:]
        before, here, place = here.gain, system(there), there
        enough = CLOSER * tol if here.gain <= SHRINKS * before else tol  # along a ridge
        if here.gain > max(SHRINKS * before, enough):
            information = information_at(place)
            here = system(place)
    goes_on = len(theta) >= MANY_COORDINATES and here.gain <= COMES_CLOSER * first_gain
    if here.gain <= tol or goes_on:
        if exact:
            curvature = derivatives_of_rows(rows, place.mixture, None, whitening).curvature
            precision = DensePrecision(curvature)
            here = place.with_step(precision, precision.solve(place.grad))
        return here, steps
    end, more = maximize_over_w(
        rows,
        whitening,
        here.mixture,
        here.theta,
        max_steps=STEPS_TO_MODE,
        tol=tol,
        r_from=None,
        observed=observed,
        saddle_free=True,
    )
    return end, steps + more


@dataclass(frozen=True)
class SampleInformation:
    """Precision of the whitened weights, estimated from a sample."""

    precision: DensePrecision  # with the complete information
    observed: FloatArray | None  # Cholesky factor with the observed one, made positive: (m, m)

    @classmethod
    def of(
        cls, sample: RowSource, mixture: Mixture, whitening: Whitening, observed: bool
    ) -> SampleInformation:
        """Computed by a pass over the sample."""
        here = derivatives_of_rows(sample, mixture, None, whitening, missing=observed)
        precision = DensePrecision(here.curvature)
        return cls(precision, observed_cholesky(here, precision))

    def solve(self, b: FloatArray) -> FloatArray:
        """The inverse times b: (m,)."""
        if self.observed is None:
            return self.precision.solve(b)
        return lapack.dpotrs(self.observed, b, lower=1)[0]


class Change(NamedTuple):
    """A step, and the change of the gradient along it."""

    step: FloatArray
    of_grad: FloatArray

    @property
    def curvature(self) -> float:
        """Along the step, times its squared length."""
        return float(self.step @ self.of_grad)

    @property
    def is_sound(self) -> bool:
        """Whether the curvature is positive, beyond rounding."""
        lengths = np.linalg.norm(self.step) * np.linalg.norm(self.of_grad)
        return bool(self.curvature > SOUND * lengths)


def corrected_direction(
    grad: FloatArray, solve: Callable[[FloatArray], FloatArray], changes: Sequence[Change]
) -> FloatArray:
    """``solve(grad)``, corrected by earlier steps, oldest first (BFGS): (m,)."""
    left, parts = grad, []
    for change in reversed(changes):
        part = float(change.step @ left) / change.curvature
        left = left - part * change.of_grad
        parts.append(part)
    direction = solve(left)
    for change, part in zip(changes, reversed(parts), strict=True):
        other = float(change.of_grad @ direction) / change.curvature
        direction = direction + (part - other) * change.step
    return direction
