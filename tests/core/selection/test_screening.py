"""Claims about the linearised look at columns, against least squares and grids of precisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from sdgm._typing import FloatArray
from sdgm.core.selection.screening import (
    EVEN_SHARE,
    MAX_POOL,
    Linearised,
    evidence,
    factors,
    pool_of,
    ranked,
    relevant,
    screened_state,
    unexplained,
)

some = settings(max_examples=20, deadline=None, derandomize=True)


def regression(seed: int, N: int = 60, m: int = 8) -> tuple[FloatArray, FloatArray]:
    """Columns with a constant, and a response of two of them with noise."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(N, m))
    Phi[:, 0] = 1.0
    return Phi, Phi[:, [2, 5]] @ [2.0, -3.0] + rng.normal(size=N)


def log_evidence(Phi: FloatArray, f: FloatArray, alpha: FloatArray) -> float:
    """Log density of the response with the weights integrated out, noise of variance one."""
    active = np.isfinite(alpha)
    cov = np.eye(len(f)) + (Phi[:, active] / alpha[active]) @ Phi[:, active].T
    return float(-0.5 * (np.linalg.slogdet(cov)[1] + f @ np.linalg.solve(cov, f)))


# --- linearised ---


@some
@given(st.integers(2, 5), st.integers(0, 1000))
def test_logits_and_weights_are_of_the_softmax(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    P, s = rng.dirichlet(np.ones(n_classes), size=9), rng.uniform(1.0, 2.0, size=9)
    rows = Linearised.around(P, s)
    mixed = (1.0 - EVEN_SHARE) * P + EVEN_SHARE / n_classes
    if n_classes == 2:
        np.testing.assert_allclose(1.0 / (1.0 + np.exp(-rows.f[:, 0])), mixed[:, 0])
        np.testing.assert_allclose(rows.weight[:, 0], s * mixed[:, 0] * mixed[:, 1])
    else:
        np.testing.assert_allclose(softmax(rows.f, axis=1), mixed)
        np.testing.assert_allclose(rows.f.sum(axis=1), 0.0, atol=1e-12)
        np.testing.assert_allclose(rows.weight, s[:, None] * mixed * (1.0 - mixed))


def test_a_sure_teacher_keeps_a_say() -> None:
    rows = Linearised.around(np.eye(3), np.ones(3))
    assert np.isfinite(rows.f).all() and rows.weight.min() > 0.0


# --- the pool ---


@some
@given(st.integers(0, 1000))
def test_columns_are_ranked_by_what_they_explain_beside_those_before(seed: int) -> None:
    Phi, f = regression(seed)
    order = ranked(Phi.T @ Phi, (Phi.T @ f)[:, None], 8, 0.0)
    assert order[0] == 0 and len(set(order.tolist())) == len(order)

    def residual(columns: list[int]) -> float:
        coef = np.linalg.lstsq(Phi[:, columns], f, rcond=None)[0]
        return float(((f - Phi[:, columns] @ coef) ** 2).sum())

    for k in range(1, len(order)):
        before = order[:k].tolist()
        left = {j: residual([*before, j]) for j in range(1, 8) if j not in before}
        assert left[int(order[k])] == pytest.approx(min(left.values()), rel=1e-8)


def test_equal_columns_are_taken_once_and_useless_ones_not_at_all() -> None:
    Phi, f = regression(0)
    doubled = np.concatenate([Phi, Phi[:, 2:3]], axis=1)
    weighted = 100.0 * doubled
    order = ranked(weighted.T @ doubled, (weighted.T @ f)[:, None], 9, 0.0)
    assert len({2, 8} & set(order.tolist())) == 1
    clear = Phi[:, [2, 5]] @ np.array([2.0, -3.0])
    found = ranked(Phi.T @ Phi, (Phi.T @ clear)[:, None], 8)
    assert set(found.tolist()) == {0, 2, 5}


def test_a_pool_is_sorted_starts_with_the_constant_and_is_bounded() -> None:
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(700, 600))
    Phi[:, 0] = 1.0
    rows = Linearised.around(rng.dirichlet(np.ones(3), size=700), np.full(700, 32.0))
    pool = pool_of(Phi, rows)
    assert pool[0] == 0 and len(pool) <= MAX_POOL
    assert (np.diff(pool) > 0).all()
    assert len(pool_of(Phi, rows, 40)) == 40


def test_of_very_many_columns_those_that_matter_are_looked_at() -> None:
    rng = np.random.default_rng(1)
    Phi = rng.normal(size=(200, 2_500))
    Phi[:, 0], Phi[:, 7] = 1.0, 0.0
    P = softmax(np.outer(Phi[:, 2_345], [2.0, -2.0]), axis=1)
    assert 2_345 in pool_of(Phi, Linearised.around(P, np.full(200, 32.0)))


# --- one class ---


@some
@given(st.integers(0, 1000))
def test_a_column_adds_to_the_evidence_what_the_formula_says(seed: int) -> None:
    Phi, f = regression(seed)
    alpha = np.full(8, np.inf)
    alpha[[0, 2]] = 0.7, 1.3
    A, b = Phi.T @ Phi, Phi.T @ f
    sparsity, quality = factors(A, b, alpha, np.array([0, 2]))
    for j, value in ((2, np.inf), (5, 0.4), (0, 3.0)):
        changed = alpha.copy()
        changed[j] = value
        expected = log_evidence(Phi, f, changed) - log_evidence(Phi, f, alpha)
        gain = evidence(changed, sparsity, quality) - evidence(alpha, sparsity, quality)
        assert gain[j] == pytest.approx(expected, rel=1e-7, abs=1e-8)


@some
@given(st.integers(0, 1000))
def test_relevant_columns_are_where_the_evidence_is_highest(seed: int) -> None:
    Phi, f = regression(seed)
    found = relevant(Phi.T @ Phi, Phi.T @ f, 8)
    assert {2, 5} <= set(found.columns.tolist())
    alpha = np.full(8, np.inf)
    alpha[found.columns] = found.alpha
    best = log_evidence(Phi, f, alpha)
    for j in range(8):
        for value in (np.inf, *np.logspace(-3, 3, 13)):
            changed = alpha.copy()
            changed[j] = value
            if np.isfinite(changed).any():
                assert log_evidence(Phi, f, changed) <= best + 0.02
    precision = Phi.T @ Phi + np.diag(np.where(np.isfinite(alpha), alpha, 1e12))
    np.testing.assert_allclose(found.w, np.linalg.solve(precision, Phi.T @ f)[found.columns], 1e-6)


def test_no_more_columns_than_wanted() -> None:
    Phi, f = regression(3)
    assert len(relevant(Phi.T @ Phi, Phi.T @ f, 2).columns) <= 2


# --- where learning starts ---


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_start_says_nearly_what_the_teacher_says(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    Phi = rng.normal(size=(300, 10))
    Phi[:, 0] = 1.0
    P = softmax(Phi[:, :4] @ rng.normal(size=(4, n_classes)), axis=1)
    rows = Linearised.around(P, np.full(300, 32.0))
    state = screened_state(Phi, rows, P.mean(axis=0), (1e-8, 1e5))
    assert state.n_components == n_classes
    scores = np.zeros((300, n_classes))
    np.add.at(scores.T, state.component, Phi.T[state.column] * state.w[:, None])
    assert np.abs(softmax(scores, axis=1) - P).mean() < 0.03
    assert (np.diff(state.component) >= 0).all()


# --- scales ---


def test_columns_that_explain_only_by_weights_that_cancel_explain_less() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    distance = ((X[:, None] - X[None, ::4]) ** 2).sum(axis=2)
    own = np.exp(-distance)
    rows = Linearised(2.0 * own[:, [3]] - 3.0 * own[:, [8]], np.full((200, 1), 0.2))
    train, test = np.arange(0, 200, 2), np.arange(1, 200, 2)

    def loss(gamma: float) -> float:
        Phi = np.column_stack([np.ones(200), np.exp(-gamma * distance)])
        return unexplained(Phi / np.sqrt((Phi**2).mean(axis=0)), rows, train, test, 40)

    losses = {gamma: loss(gamma) for gamma in (1e-4, 1.0, 100.0)}
    assert min(losses, key=lambda gamma: losses[gamma]) == 1.0
    assert losses[1e-4] > 5.0 * losses[1.0]
