"""Claims about Newton's method without Newton's matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm import SDGMClassifier
from sdgm.core.model.state import State
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers.block_precision import BlockPrecision
from sdgm.core.solvers.truncated import Preconditioner, conjugate_gradients

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
