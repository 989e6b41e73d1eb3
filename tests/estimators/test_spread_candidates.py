"""Claims about which rows can be relevance vectors when a reference is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm import KernelSDGMClassifier
from sdgm._typing import FloatArray, LabelArray
from sdgm.core.inference.initialization import Start
from sdgm.core.inference.recipe import FAST
from sdgm.core.model.fitted_model import Scaler
from sdgm.core.model.kernels import Kernel, PolynomialKernel, RBFKernel, make_kernel
from sdgm.estimators import kernel_form
from sdgm.estimators.kernel_form import MAX_SPREAD, MIN_CANDIDATES, spread_candidates
from sdgm.estimators.problem import Problem
from tests.estimators.problems import assert_proper, blobs, own_warnings_allowed

N_ROWS = 500


def rows(seed: int = 0, D: int = 2) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(N_ROWS, D))


def problem(X: FloatArray, n_components: int, *, labels: bool = False) -> Problem:
    """So many components in two classes, and labels or frequencies to learn."""
    y: LabelArray = np.arange(len(X)) % 2 if labels else np.full((len(X), 2), 0.5)
    M = np.array([n_components - n_components // 2, n_components // 2])
    classes, scaler = np.arange(2), Scaler.identity(X.shape[1])
    return Problem(
        classes, scaler, X, np.arange(len(X)), X, y, np.ones(len(X)), M, FAST, Start.KMEANS
    )


def test_with_labels_all_rows_can_be() -> None:
    X = rows()
    assert spread_candidates(RBFKernel(1.0), X, problem(X, 60, labels=True)) is None


def test_with_labels_a_kernel_that_overflows_is_not_asked() -> None:
    X = rows()
    steep = PolynomialKernel(degree=2000)
    assert spread_candidates(steep, X, problem(X, 60, labels=True)) is None


def test_with_few_components_all_rows_can_be() -> None:
    X, enough = rows(), MAX_SPREAD // N_ROWS
    assert spread_candidates(RBFKernel(1.0), X, problem(X, enough)) is None
    assert spread_candidates(RBFKernel(1.0), X, problem(X, enough + 1)) is not None


def test_a_kernel_of_low_rank_needs_no_spreading() -> None:
    X = rows()  # quadratics of two inputs have six coordinates
    assert spread_candidates(PolynomialKernel(), X, problem(X, 60)) is None


def test_a_kernel_that_may_be_indefinite_is_left_alone() -> None:
    X = rows()
    kernel = make_kernel(lambda A, B: np.tanh(A @ B.T), gamma=1.0, degree=2, coef0=1.0)
    assert spread_candidates(kernel, X, problem(X, 60)) is None


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_components=st.integers(9, 80),
    kernel=st.sampled_from([RBFKernel(0.01), RBFKernel(1.0), PolynomialKernel(degree=9)]),
)
def test_they_are_distinct_rows_in_order_and_not_too_many(
    seed: int, n_components: int, kernel: Kernel
) -> None:
    X = rows(seed)
    found = spread_candidates(kernel, X, problem(X, n_components))
    if found is None:
        size = kernel.explicit_size(2)
        assert size is not None and size * n_components <= MAX_SPREAD
        return
    assert 0 < len(found) <= max(MAX_SPREAD // n_components, MIN_CANDIDATES)
    assert (np.diff(found) > 0).all()
    assert found[0] >= 0 and found[-1] < len(X)


def test_what_all_rows_can_say_the_chosen_ones_can_say_nearly() -> None:
    X, kernel = rows(), RBFKernel(0.3)
    found = spread_candidates(kernel, X, problem(X, 40))
    assert found is not None
    f = kernel.gram(X, X) @ np.random.default_rng(1).normal(size=N_ROWS)
    columns = kernel.gram(X, X[found])
    rest = f - columns @ np.linalg.lstsq(columns, f, rcond=1e-12)[0]
    assert np.abs(rest).max() < 1e-3 * np.abs(f).max()


def test_a_fit_with_few_candidates_keeps_rows_of_the_user(monkeypatch: Any) -> None:
    X, y = blobs(120, 4, seed=2)
    monkeypatch.setattr(kernel_form, "MAX_SPREAD", 100)
    monkeypatch.setattr(kernel_form, "MIN_CANDIDATES", 30)
    order = np.random.default_rng(0).permutation(120)
    with own_warnings_allowed():
        model = KernelSDGMClassifier(kernel="rbf", gamma="auto", n_components=1, random_state=0)
        model.fit(X[order], y[order])
    assert model.n_initial_weights_ <= 31 * 4
    np.testing.assert_array_equal(X[order][model.relevance_], model.relevance_vectors_)
    assert_proper(model, X)
    best = KernelSDGMClassifier(kernel="rbf", gamma="auto", n_components=1, random_state=0)
    monkeypatch.undo()
    with own_warnings_allowed():
        best.fit(X[order], y[order])
    assert best.n_initial_weights_ == 121 * 4
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=0.1)


def test_precomputed_kernels_are_not_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(40, 2)
    monkeypatch.setattr(kernel_form, "spread_candidates", lambda *_: pytest.fail("was asked"))
    with own_warnings_allowed():
        KernelSDGMClassifier(1, kernel="precomputed", random_state=0).fit(X @ X.T, y)
