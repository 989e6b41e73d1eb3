"""Claims about rows with frequencies of classes: they are rows repeated once per class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.initialization import Start, initial_responsibilities, initial_state
from sdgm.core.inference.recipe import FAST
from sdgm.core.model.design import feature_design
from sdgm.core.model.features import CovarianceType, monomials
from sdgm.core.model.posterior import row_posterior
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows, fit_of_rows
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers.block_precision import curvature_product
from tests.reference.tasks import shares

N_COMPONENTS = np.array([2, 1, 3])
COMPONENT_CLASS = np.repeat(np.arange(3), N_COMPONENTS)


def frequencies(N: int, seed: int) -> FloatArray:
    """Frequencies of three classes, some of them zero."""
    rng = np.random.default_rng(seed)
    found: FloatArray = rng.dirichlet(np.ones(3), size=N)
    found[rng.random((N, 3)) < 0.2] = 0.0
    found[found.sum(axis=1) == 0.0] = 1.0
    return found / found.sum(axis=1, keepdims=True)


def repeated(frequency: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Which row, which class, and which part of the weight, once per class that occurs."""
    row, label = np.nonzero(frequency)
    return row, label, frequency[row, label]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 1e4))
def test_posteriors_are_means_over_the_classes(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    logits = size * rng.normal(size=(7, 6))
    frequency = frequencies(7, seed)
    row, label, part = repeated(frequency)
    soft = row_posterior(logits, frequency, COMPONENT_CLASS)
    hard = row_posterior(logits[row], label, COMPONENT_CLASS)
    np.testing.assert_allclose(soft.P_cm[row], hard.P_cm, rtol=1e-12, atol=1e-300)
    r = np.zeros_like(soft.r)
    np.add.at(r, row, part[:, None] * hard.r)
    np.testing.assert_allclose(soft.r, r, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(
        soft.log_P_own, np.bincount(row, part * hard.log_P_own), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(soft.log_total[row], hard.log_total, rtol=1e-12)


def problem(seed: int = 0) -> tuple[Rows, Rows, FloatArray, State, FloatArray]:
    """The same problem with frequencies and with repeated rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2))
    frequency = frequencies(80, seed)
    s = rng.uniform(0.5, 3.0, size=80)
    design = feature_design(monomials(2, CovarianceType.FULL).transform(X))
    row, label, part = repeated(frequency)
    state = initial_state(design.Rt.shape[0], N_COMPONENTS, shares(FAST, frequency, s))
    soft = Rows(design.Z, frequency, s)
    hard = Rows(np.asfortranarray(design.Z[row]), label, s[row] * part)
    return soft, hard, design.Rt, state, X


def test_fit_and_derivatives_are_those_of_repeated_rows() -> None:
    soft, hard, Rt, state, _ = problem()
    state = replace(state, w=np.random.default_rng(1).normal(size=state.n_weights))
    whitening = whiten(Rt, state)
    V = whitening.score_vectors(whitening.to_theta(state.w))
    mixture = Mixture(V, np.log(state.pi), state.component_class)
    found, expected = (
        derivatives_of_rows(rows, mixture, None, whitening, missing=True) for rows in (soft, hard)
    )
    np.testing.assert_allclose(found.grad, expected.grad, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.curvature, expected.curvature, rtol=1e-9, atol=1e-9)
    assert found.missing is not None
    assert expected.missing is not None
    np.testing.assert_allclose(found.missing, expected.missing, rtol=1e-9, atol=1e-9)
    one, other = (fit_of_rows(rows, mixture, None) for rows in (soft, hard))
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-12)
    assert pytest.approx(other.J, rel=1e-12) == one.J
    np.testing.assert_allclose(one.r_sum, other.r_sum, rtol=1e-12)


@pytest.mark.parametrize("start", list(Start))
def test_starts_are_those_of_repeated_rows(start: Start) -> None:
    soft, hard, _, _, X = problem()
    assert soft.y.ndim == 2
    row, _, part = repeated(np.asarray(soft.y, dtype=np.float64))
    found = initial_responsibilities(X, soft.y, soft.s, N_COMPONENTS, start, seed=3)
    each = initial_responsibilities(X[row], hard.y, hard.s, N_COMPONENTS, start, seed=3)
    expected = np.zeros_like(found)
    np.add.at(expected, row, part[:, None] * each)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_learning_ends_where_it_does_with_repeated_rows() -> None:
    soft, hard, Rt, state, X = problem()
    row, _, _ = repeated(np.asarray(soft.y, dtype=np.float64))
    ends = []
    for rows, points in ((soft, X), (hard, X[row])):
        r0 = initial_responsibilities(points, rows.y, rows.s, N_COMPONENTS, Start.KMEANS, seed=0)
        ends.append(FAST.learn(replace(rows, r0=r0), Rt, state).state)
    found, expected = ends
    np.testing.assert_array_equal(found.column, expected.column)
    np.testing.assert_array_equal(found.component, expected.component)
    np.testing.assert_allclose(found.w, expected.w, rtol=1e-5)
    np.testing.assert_allclose(found.pi, expected.pi, rtol=1e-5)


def test_class_shares_are_sums_of_frequencies() -> None:
    soft, hard, *_ = problem()
    np.testing.assert_allclose(shares(FAST, soft.y, soft.s), shares(FAST, hard.y, hard.s))


@pytest.mark.parametrize("observed", [False, True])
def test_products_with_the_curvature_are_those_of_repeated_rows(observed: bool) -> None:
    soft, hard, Rt, state, _ = problem()
    whitening = whiten(Rt, state)
    rng = np.random.default_rng(1)
    mixture = Mixture(
        rng.normal(size=(Rt.shape[1], len(COMPONENT_CLASS))), np.log(state.pi), COMPONENT_CLASS
    )
    v = rng.normal(size=len(whitening.component))
    products = [
        curvature_product(rows, mixture, whitening, observed=observed)(v) for rows in (soft, hard)
    ]
    np.testing.assert_allclose(products[0], products[1], rtol=1e-9, atol=1e-9)
