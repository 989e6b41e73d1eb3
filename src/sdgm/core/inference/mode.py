"""The middle and the innermost loop of Algorithm 1: r and w, with alpha and pi fixed.

Two methods find the mode of the weights: `EM`, as in the paper, and `EMGradient`, which updates r
within every Newton step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import fit_of_rows, mean_change_of_r, mixture_at
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers.newton import STEPS_TO_MODE, NewtonPoint, Target
from sdgm.core.solvers.select import AUTOMATIC, SolverChoice

# --- when to iterate until the mode is reached ---

# The paper's update of alpha is gradual, which is necessary for many correlated weights. With few
# weights, w can be moved to its mode and each weight can be assessed individually: this is the
# final phase of the preset `fast`.
Phase = Callable[[State], bool]


@dataclass(frozen=True)
class FewWeights:
    """Whether there are at most this many weights per component; zero means never."""

    per_component: int

    def __call__(self, state: State) -> bool:
        return state.n_weights <= self.per_component * state.n_components


@dataclass(frozen=True)
class FewColumns:
    """The same for columns that components share."""

    per_component: int

    def __call__(self, state: State) -> bool:
        return len(np.unique(state.column)) <= self.per_component * state.n_components


def always(state: State) -> bool:
    """True for every state."""
    return True


NEVER = FewWeights(0)


# --- methods to find it ---


class Mode(NamedTuple):
    """The mode of w, or a point near it.

    Attributes
    ----------
    point : NewtonPoint
    r_sum : (K,) array
        ``sum s r``.
    n_steps : int
        Number of Newton steps.
    is_reached : bool
        Whether the gain of the next step is below the tolerance.
    has_initial_r : bool
        Whether r is still the initial one.
    """

    point: NewtonPoint
    r_sum: FloatArray
    n_steps: int
    is_reached: bool
    has_initial_r: bool


@dataclass(frozen=True)
class EM:
    """The paper's method: w by Newton's method, then r, until r has converged.

    The very first pass uses the initial r, whose k-means clusters separate the components of a
    class; after an E-step from w = 0 the components would remain equal.

    Attributes
    ----------
    max_passes : int
        Maximum number of passes of the middle loop.
    r_tol : float
        Tolerance on the mean absolute change of r.
    max_steps : int
        Maximum number of Newton steps per pass.
    tol : float
        Tolerance on the predicted gain of the next Newton step.
    solver : SolverChoice
    """

    max_passes: int
    r_tol: float
    max_steps: int
    tol: float
    solver: SolverChoice = AUTOMATIC
    forms_missing_information = False

    def __call__(self, rows: RowSource, whitening: Whitening, state: State) -> Mode:
        theta = whitening.to_theta(state.w)
        mixture = mixture_at(whitening, theta, state)
        several = mixture.has_several_per_class
        has_initial_r, n_steps = rows.has_initial_r, 0
        for _ in range(self.max_passes):  # while r has not converged
            target = Target(self.tol, self.max_steps, self.max_steps, to_mode=True, r_from=mixture)
            before, climb = mixture, self.solver.climb_to(target, rows, whitening, several)
            point, steps = climb(mixture, theta)  # while w has not converged
            n_steps += steps
            theta, mixture = point.theta, point.mixture
            if mean_change_of_r(rows, before, mixture) < self.r_tol:
                break
            rows = rows.without_initial_r()
        r_sum = fit_of_rows(rows.without_initial_r(), mixture, None).r_sum
        return Mode(point, r_sum, n_steps, point.gain <= self.tol, has_initial_r)


@dataclass(frozen=True)
class EMGradient:
    """A few Newton steps in which r follows w (Lange's EM gradient algorithm).

    Attributes
    ----------
    max_steps : int
        Number of Newton steps if the mode need not be reached.
    tol : float
        Tolerance on the predicted gain of the next Newton step.
    to_mode : Phase
        When to iterate until the mode is reached, with the observed information, which avoids the
        slow convergence of EM.
    steps_to_mode : int
    solver : SolverChoice
    saddle_free, exact_precision : bool
        As in `Target`.
    """

    max_steps: int
    tol: float
    to_mode: Phase
    steps_to_mode: int = STEPS_TO_MODE
    solver: SolverChoice = AUTOMATIC
    saddle_free: bool = False
    exact_precision: bool = True
    forms_missing_information = True

    def __call__(self, rows: RowSource, whitening: Whitening, state: State) -> Mode:
        theta = whitening.to_theta(state.w)
        target = Target(
            tol=self.tol,
            max_steps=self.max_steps,
            steps_to_mode=self.steps_to_mode,
            to_mode=self.to_mode(state),
            saddle_free=self.saddle_free,
            exact_precision=self.exact_precision,
        )
        mixture = mixture_at(whitening, theta, state)
        climb = self.solver.climb_to(target, rows, whitening, mixture.has_several_per_class)
        point, steps = climb(mixture, theta)
        is_reached = point.gain <= self.tol
        return Mode(point, point.fit.r_sum, steps, is_reached, rows.has_initial_r)
