"""The weights of members."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm.ensemble.stacking import stacked


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(2, 80), st.sampled_from([0.0, 3.0]))
def test_the_weights_satisfy_the_optimality_conditions(
    seed: int, n_members: int, n_cases: int, prior_rows: float
) -> None:
    rng = np.random.default_rng(seed)
    P, weight = rng.uniform(1e-6, 1.0, (n_cases, n_members)) ** 3, rng.uniform(0.1, 3.0, n_cases)
    v = stacked(P, weight, prior_rows)
    assert (v >= 0.0).all() and v.sum() == pytest.approx(1.0)
    gradient = (weight / (P @ v)) @ P
    total = weight.sum() + prior_rows
    if prior_rows:
        gradient += prior_rows / n_members / v
    assert (gradient <= total * (1 + 1e-6)).all()
    np.testing.assert_allclose(v * gradient, v * total, atol=1e-6 * total)


def test_a_member_that_is_better_everywhere_has_all_the_weight() -> None:
    P = np.array([[0.9, 0.5, 0.1]] * 5)
    np.testing.assert_allclose(stacked(P, np.ones(5), 0.0), [1.0, 0.0, 0.0], atol=1e-9)


def test_equal_members_share_the_weight_of_one() -> None:
    rng = np.random.default_rng(0)
    P = rng.uniform(0.1, 1.0, (50, 3))
    v = stacked(P, np.ones(50), 0.0)
    twice = stacked(np.column_stack([P, P[:, 0]]), np.ones(50), 0.0)
    assert twice[0] + twice[3] == pytest.approx(v[0], abs=1e-5)


def test_tiny_probabilities_do_no_harm() -> None:
    P = np.array([[1e-300, 1e-290], [0.5, 1e-300], [1e-300, 0.2]])
    assert np.isfinite(stacked(P, np.ones(3))).all()
