"""Claims about the graph of near rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from sdgm.semi_supervised import graph
from sdgm.semi_supervised.graph import MAX_EIGENVECTORS, N_NEIGHBORS, graph_vectors, nearest


@given(st.integers(8, 40), st.integers(1, 5), st.integers(0, 1000))
@settings(deadline=None)
def test_nearest_are_the_nearest(N: int, D: int, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(N, D)) + 1e3
    index, distance = nearest(X, N_NEIGHBORS)
    full = cdist(X, X)
    np.fill_diagonal(full, np.inf)
    np.testing.assert_allclose(distance, np.sort(full, axis=1)[:, :N_NEIGHBORS], rtol=1e-6)
    np.testing.assert_allclose(distance, np.take_along_axis(full, index, 1), rtol=1e-9)


def test_nearest_is_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    whole = nearest(X, 5)
    monkeypatch.setattr(graph, "HELD_DISTANCES", 100)
    np.testing.assert_array_equal(nearest(X, 5)[0], whole[0])


def two_clouds(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 50.0])


def test_separate_clouds_have_a_function_that_is_constant_on_each() -> None:
    found = graph_vectors(two_clouds())
    assert found is not None
    eigenvalues, vectors = found
    np.testing.assert_allclose(eigenvalues[:2], 0.0, atol=1e-9)
    assert (np.diff(eigenvalues) >= -1e-12).all()
    for part in vectors[:60, :2], vectors[60:, :2]:
        assert np.ptp(part, axis=0).max() < 1e-6
    assert vectors.shape == (120, MAX_EIGENVECTORS)


def test_large_and_small_graphs_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    full = graph_vectors(X)
    monkeypatch.setattr(graph, "MAX_DENSE", 10)
    sparse = graph_vectors(X)
    assert full is not None and sparse is not None
    np.testing.assert_allclose(full[0], sparse[0], atol=1e-5)
    decay = np.exp(-30.0 * full[0])
    kernels = [(vectors * decay) @ vectors.T for _, vectors in (full, sparse)]
    np.testing.assert_allclose(kernels[0], kernels[1], atol=1e-3 * np.abs(kernels[0]).max())


def test_scale_does_not_matter_and_few_points_have_no_graph() -> None:
    X = two_clouds()
    one, other = graph_vectors(X), graph_vectors(1e5 * X)
    assert one is not None and other is not None
    np.testing.assert_allclose(one[0], other[0], atol=1e-9)
    assert graph_vectors(X[: 2 * N_NEIGHBORS - 1]) is None


def test_points_far_out_leave_all_finite() -> None:
    X = np.random.default_rng(0).standard_cauchy(size=(60, 2)) ** 5
    found = graph_vectors(X)
    assert found is not None
    assert np.isfinite(found[0]).all() and np.isfinite(found[1]).all()
