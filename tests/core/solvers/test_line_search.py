"""Claims about backtracking along a direction."""

from __future__ import annotations

from functools import partial

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.objective.derivatives import Mixture
from sdgm.core.solvers.newton import (
    MAX_HALVINGS,
    GradientPoint,
    backtracking,
    gradient_point,
    newton_point,
)
from sdgm.core.solvers.precision import FactorizationError
from tests.reference.problems import random_problem

PROBLEM = random_problem(0)
HERE = newton_point(PROBLEM.rows, PROBLEM.whitening, PROBLEM.mixture(), PROBLEM.theta, None)
at = partial(gradient_point, PROBLEM.rows, PROBLEM.whitening)


def test_a_step_to_where_nothing_can_be_factorised_is_halved() -> None:
    tried = []

    def fails_twice(mixture: Mixture, theta: FloatArray) -> GradientPoint:
        tried.append(theta)
        if len(tried) < 3:
            raise FactorizationError("too far")
        return at(mixture, theta)

    there = backtracking(HERE, PROBLEM.whitening, fails_twice, complete=False)
    assert there is not None
    np.testing.assert_allclose(there.theta, HERE.theta + 0.25 * HERE.direction)
    np.testing.assert_allclose(tried[0], HERE.theta + HERE.direction)


def test_there_is_no_step_downhill() -> None:
    downhill, tried = HERE._replace(direction=-HERE.direction), []

    def counted(mixture: Mixture, theta: FloatArray) -> GradientPoint:
        tried.append(theta)
        raise FactorizationError("nowhere")

    assert backtracking(downhill, PROBLEM.whitening, counted, complete=False) is None
    assert len(tried) == MAX_HALVINGS
    there = backtracking(downhill, PROBLEM.whitening, at, complete=False)
    # only where rounding rules
    assert there is None or np.abs(there.theta - HERE.theta).max() < 1e-8
