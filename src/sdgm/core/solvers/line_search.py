"""Backtracking along a direction that promises to raise the log posterior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sdgm._typing import FloatArray
from sdgm.core.objective.derivatives import Fit, Mixture
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers.points import NewtonPoint, log_posterior
from sdgm.core.solvers.precision import FactorizationError

# a direction that is uphill raises the objective within this many halvings unless rounding rules
MAX_HALVINGS = 30
# relative loss of the objective that counts as rounding, not as a failed step
ROUNDING = 1e-12


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
