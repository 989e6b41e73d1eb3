"""Claims about Newton's method without Newton's matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdgm import SDGMClassifier
from sdgm.core.model.state import State
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers.block_precision import BlockPrecision
from sdgm.core.solvers.newton import Target
from sdgm.core.solvers.truncated import (
    MAX_PRODUCTS,
    STEPS_BY_BLOCKS,
    Preconditioner,
    climb_to,
    conjugate_gradients,
    products_per_blocks,
)
from tests.reference.problems import random_problem

NO_BLOCKS = BlockPrecision.from_blocks([slice(0, 3)], [np.zeros((3, 3))])


def test_a_direction_ends_at_the_trusted_region() -> None:
    stiffness = np.array([1.0, 4.0, 9.0])
    b = np.array([1.0, 2.0, 3.0])
    far = conjugate_gradients(lambda v: stiffness * v, b, NO_BLOCKS, 1e-10)
    np.testing.assert_allclose(far.end, b / stiffness)
    assert far.length == pytest.approx(np.linalg.norm(far.end))
    near = conjugate_gradients(lambda v: stiffness * v, b, NO_BLOCKS, 1e-10, radius=0.5)
    assert np.linalg.norm(near.end) == pytest.approx(0.5)
    assert near.length == 0.5 and b @ near.end > 0.0


def test_where_nothing_is_left_to_do_nothing_is_done() -> None:
    path = conjugate_gradients(lambda v: v, np.zeros(3), NO_BLOCKS, 0.1)
    assert not path.end.any() and path.n_products == 0


@pytest.mark.parametrize("prior", ["ard", "ridge"])
def test_classes_that_are_alike_are_no_trouble(prior: str) -> None:
    X, y = np.array([[-1.0], [1.0], [-1.0], [1.0]] * 10), np.array([0, 0, 1, 1] * 10)
    model = SDGMClassifier(
        1, solver="block", covariance_type="tied", prior=prior, teacher=None
    ).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_directions_that_change_no_posterior_are_solved_by_the_prior() -> None:
    state = State(
        w=np.zeros(5),
        alpha=np.array([0.1, 1.0, 2.0, 0.5, 3.0]),
        column=np.array([0, 1, 2, 0, 1]),
        component=np.array([0, 0, 0, 1, 1]),
        pi=np.array([0.5, 0.5]),
        component_class=np.array([0, 1]),
    )
    whitening = whiten(np.eye(3), state)
    huge = [1e8 * np.eye(3), 1e8 * np.eye(2)]
    blocks = BlockPrecision.from_blocks(whitening.coordinates, huge)
    inverse = Preconditioner.of(blocks, whitening)
    # both components use columns 0 and 1
    assert inverse.shared.tolist() == [0, 1, 3, 4]
    along = whitening.to_theta(np.array([0.0, 1.0, 0.0, 0.0, 1.0]))
    np.testing.assert_allclose(inverse.solve(along), along, atol=1e-6)
    across = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(inverse.solve(across), 1e-8 * across, rtol=1e-6)


def test_a_direction_ends_after_so_many_products_with_its_length() -> None:
    stiffness = np.logspace(0.0, 8.0, 300)
    no_blocks = BlockPrecision.from_blocks([slice(0, 300)], [np.zeros((300, 300))])
    path = conjugate_gradients(lambda v: stiffness * v, np.ones(300), no_blocks, 1e-12)
    assert path.n_products == MAX_PRODUCTS
    assert path.length == pytest.approx(np.linalg.norm(path.end))


def test_blocks_cost_as_much_as_products_of_the_same_work() -> None:
    assert products_per_blocks(np.array([2.0, 4.0]), 5) == 20.0 / (2 * 5 * 2)


@pytest.mark.parametrize("to_mode", [False, True])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("has_start", [False, True])
@pytest.mark.parametrize("holds_r", [False, True])
def test_the_observed_information_is_for_a_mode_that_r_follows(
    to_mode: bool, several: bool, has_start: bool, holds_r: bool
) -> None:
    problem = random_problem(0)
    rows = replace(problem.rows, r0=None)
    if has_start:
        r0 = np.asfortranarray(np.ones((len(rows), len(problem.state.pi))))
        rows = replace(rows, r0=r0)
    r_from = problem.mixture() if holds_r else None
    target = Target(tol=1e-3, max_steps=3, steps_to_mode=50, to_mode=to_mode, r_from=r_from)
    climb = climb_to(target, rows, problem.whitening, several)
    expected = to_mode and several and not has_start and not holds_r
    assert climb.keywords["observed"] is expected
    goes_far = to_mode or (has_start and several)
    assert climb.keywords["max_steps"] == (STEPS_BY_BLOCKS if goes_far else 3)
