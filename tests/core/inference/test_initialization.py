"""Claims about the start: Appendix C, and what cannot change it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import (
    Start,
    distinct_rows,
    initial_responsibilities,
    initial_state,
)
from sdgm.core.mixtures.gaussian_mixture import COVARIANCE_FLOOR, em, with_floor
from sdgm.core.mixtures.kmeans import kmeans
from tests.reference.problems import dense_weights, random_rows

M = np.array([3, 1, 2])
EVERY_START = pytest.mark.parametrize("start", Start)


def rows_with_repeats(seed: int, N: int = 60) -> tuple[FloatArray, IntArray, FloatArray]:
    """Rows on a coarse grid, so that some are equal, with small whole weights."""
    rng = np.random.default_rng(seed)
    X, y = random_rows(rng, N, len(M))
    return np.round(2 * X) / 2, y, rng.integers(1, 4, size=N).astype(float)


# --- the state ---


def test_start_has_zero_weights_on_every_column_and_uniform_pi_within_each_class() -> None:
    state = initial_state(4, M, np.ones(3))
    assert state.n_components == 6 and state.n_weights == 24
    assert not state.w.any() and (state.alpha == 1.0).all()
    np.testing.assert_array_equal(state.component_class, [0, 0, 0, 1, 2, 2])
    np.testing.assert_allclose(state.pi, [1 / 3, 1 / 3, 1 / 3, 1.0, 0.5, 0.5])
    # ordered by component, then by column
    np.testing.assert_array_equal(state.component * 4 + state.column, np.arange(24))


def test_start_takes_the_shares_of_the_classes_and_the_precision_of_the_prior() -> None:
    share = np.array([0.5, 0.2, 0.3])
    state = initial_state(4, M, share, alpha=0.1)
    np.testing.assert_allclose(np.bincount(state.component_class, state.pi), share)
    assert (state.alpha == 0.1).all()


def test_pinned_start_leaves_the_last_component_without_weights() -> None:
    free, pinned = initial_state(4, M, np.ones(3)), initial_state(4, M, np.ones(3), pinned=True)
    np.testing.assert_array_equal(pinned.pi, free.pi)
    np.testing.assert_array_equal(np.diff(pinned.starts), [4, 4, 4, 4, 4, 0])


def test_state_selects_weights_and_components() -> None:
    state = initial_state(3, np.array([2, 1]), np.ones(2))
    state = replace(state, w=np.arange(9.0))
    np.testing.assert_array_equal(dense_weights(state, 3), np.arange(9.0).reshape(3, 3))
    np.testing.assert_array_equal(state.starts, [0, 3, 6, 9])
    fewer = state.keep_weights(np.isin(np.arange(9), [1, 7, 8]))
    np.testing.assert_array_equal(fewer.w, [1, 7, 8])
    np.testing.assert_array_equal(fewer.component, [0, 2, 2])
    np.testing.assert_array_equal(fewer.column, [1, 1, 2])
    np.testing.assert_array_equal(fewer.starts, [0, 1, 1, 3])
    np.testing.assert_array_equal(dense_weights(fewer, 4), [[0, 1, 0, 0], [0] * 4, [0, 7, 8, 0]])
    left = fewer.keep_components(np.array([False, True, True]), np.array([9.0, 0.3, 0.7]))
    np.testing.assert_array_equal(left.pi, [0.3, 0.7])
    np.testing.assert_array_equal(left.component_class, [0, 1])
    np.testing.assert_array_equal(left.component, [1, 1])
    np.testing.assert_array_equal(left.w, [7, 8])


# --- distinct rows ---


@settings(deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 15), st.integers(1, 3)), elements=st.integers(0, 2))
)
def test_distinct_rows_are_those_of_numpy_with_summed_weights(X: FloatArray) -> None:
    s = np.arange(1.0, len(X) + 1)
    rows, weights, inverse = distinct_rows(X, s)
    expected, expected_inverse = np.unique(X, axis=0, return_inverse=True)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(inverse, expected_inverse.ravel())
    np.testing.assert_array_equal(weights, np.bincount(inverse, s))
    np.testing.assert_array_equal(rows[inverse], X)


# --- responsibilities ---


@EVERY_START
def test_responsibilities_are_a_distribution_within_the_own_class(start: Start) -> None:
    X, y, s = rows_with_repeats(0)
    r = initial_responsibilities(X, y, s, M, start, seed=0)
    own = np.repeat(np.arange(3), M) == y[:, None]
    assert r.shape == (60, 6) and r.flags.f_contiguous
    assert not r[~own].any() and (r >= 0.0).all()
    np.testing.assert_allclose(r.sum(axis=1), 1.0)
    # every component starts with samples, and those of a class differ
    assert (r.sum(axis=0) > 0.5).all()
    assert not np.allclose(r[:, 0], r[:, 1]) and not np.allclose(r[:, 4], r[:, 5])


@EVERY_START
def test_order_of_the_rows_does_not_matter(start: Start) -> None:
    X, y, s = rows_with_repeats(1)
    r = initial_responsibilities(X, y, s, M, start, seed=3)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = initial_responsibilities(X[order], y[order], s[order], M, start, seed=3)
    np.testing.assert_array_equal(shuffled, r[order])


@EVERY_START
def test_row_of_weight_n_equals_the_row_n_times(start: Start) -> None:
    X, y, s = rows_with_repeats(2)
    n = s.astype(int)
    r = initial_responsibilities(X, y, s, M, start, seed=3)
    repeated = initial_responsibilities(
        X.repeat(n, axis=0), y.repeat(n), np.ones(n.sum()), M, start, seed=3
    )
    np.testing.assert_array_equal(repeated, r.repeat(n, axis=0))


@EVERY_START
def test_equal_rows_of_a_class_start_alike(start: Start) -> None:
    X, y, s = rows_with_repeats(2)
    X[30:], y[30:] = X[:30], y[:30]
    r = initial_responsibilities(X, y, s, M, start, seed=0)
    np.testing.assert_array_equal(r[:30], r[30:])


@EVERY_START
def test_names_of_the_classes_do_not_matter(start: Start) -> None:
    X, y, s = rows_with_repeats(4)
    new_name = np.array([2, 0, 1])  # of classes 0, 1, 2
    r = initial_responsibilities(X, y, s, M, start, seed=5)
    renamed = initial_responsibilities(X, new_name[y], s, M[np.argsort(new_name)], start, seed=5)
    # components of the old classes 1, 2, 0
    np.testing.assert_array_equal(renamed, r[:, [3, 4, 5, 0, 1, 2]])


@EVERY_START
def test_seed_decides_the_start(start: Start) -> None:
    X, y, s = rows_with_repeats(0)
    starts = [initial_responsibilities(X, y, s, M, start, seed=seed) for seed in (0, 0, 1, 2, 3)]
    np.testing.assert_array_equal(starts[0], starts[1])
    assert any(not np.array_equal(starts[0], other) for other in starts[2:])


@EVERY_START
def test_fewer_distinct_rows_than_components_leave_some_components_empty(start: Start) -> None:
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]], 4, axis=0)
    y = np.repeat([0, 0, 1], 4)
    r = initial_responsibilities(X, y, np.ones(12), np.array([3, 2]), start, seed=0)
    assert np.isfinite(r).all()
    np.testing.assert_allclose(r.sum(axis=1), 1.0)
    if start is Start.KMEANS:
        np.testing.assert_array_equal(r.sum(axis=0), [4, 4, 0, 4, 0])


# --- k-means ---


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_kmeans_start_equals_that_of_sklearn(seed: int, n_clusters: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = random_rows(rng, 120, 3)
    X[60:90], y[60:90] = X[:30], y[:30]  # no grid, where rows are as near to one mean as another
    s, M = rng.uniform(0.1, 3.0, size=120), np.array([n_clusters, 1, 1])
    r = initial_responsibilities(X, y, s, M, Start.KMEANS, seed=seed)
    points, weights, inverse = distinct_rows(X[y == 0], s[y == 0])
    expected = KMeans(n_clusters, init="random", n_init=1, random_state=seed, tol=0.0)
    label = expected.fit(points, sample_weight=weights).labels_[inverse]
    np.testing.assert_array_equal(r[y == 0].argmax(axis=1), label)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), n_clusters=st.integers(2, 6))
def test_kmeans_ends_where_every_row_is_nearest_to_its_own_mean(seed: int, n_clusters: int) -> None:
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(40, 2)), rng.uniform(0.1, 3.0, size=40)
    label = kmeans(X, s, n_clusters, np.random.RandomState(seed))
    used = np.unique(label)
    means = np.stack([np.average(X[label == m], axis=0, weights=s[label == m]) for m in used])
    distance = ((X[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_array_equal(used[distance.argmin(axis=1)], label)


def test_kmeans_with_a_row_per_cluster_gives_each_its_own() -> None:
    label = kmeans(np.arange(3.0)[:, None], np.ones(3), 5, np.random.RandomState(0))
    assert len(set(label)) == 3


# --- Gaussian mixture ---


def gaussian_mixture(X: FloatArray, s: FloatArray, r: FloatArray) -> FloatArray:
    return em(X, s, r, with_floor(X, s)).r


def one_em_step(X: FloatArray, s: FloatArray, r: FloatArray) -> FloatArray:
    """Textbook EM for a weighted Gaussian mixture, densities from scipy."""
    weight = s @ r
    variance = np.average((X - np.average(X, axis=0, weights=s)) ** 2, axis=0, weights=s).mean()
    floor = COVARIANCE_FLOOR * variance * np.eye(X.shape[1])
    density = np.stack(
        [
            weight[m]
            * multivariate_normal.pdf(
                X,
                np.average(X, axis=0, weights=s * r[:, m]),
                np.cov(X.T, aweights=s * r[:, m], ddof=0) + floor,
            )
            for m in range(r.shape[1])
        ],
        axis=1,
    )
    return density / density.sum(axis=1, keepdims=True)


def test_gaussian_mixture_start_is_a_fixed_point_of_em() -> None:
    rng = np.random.default_rng(0)
    centers = np.array([[-2.0, 0.0], [2.0, 0.5]])
    X = centers[rng.integers(2, size=80)] + rng.normal(size=(80, 2))
    s = rng.uniform(0.5, 2.0, size=80)
    first = np.eye(2)[(X[:, 0] > 0).astype(int)]
    r = gaussian_mixture(X, s, first)
    np.testing.assert_allclose(one_em_step(X, s, r), r, atol=2e-3)
    assert np.abs(r - first).max() > 0.1  # EM has moved


def test_gaussian_mixture_start_does_not_depend_on_the_unit_or_the_origin() -> None:
    rng = np.random.default_rng(1)
    X, s = rng.normal(size=(50, 2)) + [3.0, 0.0] * rng.integers(2, size=(50, 1)), np.ones(50)
    first = np.eye(2)[(X[:, 0] > 1.5).astype(int)]
    r = gaussian_mixture(X, s, first)
    np.testing.assert_allclose(gaussian_mixture(1e6 * X + 1e7, s, first), r, atol=1e-6)


def test_gaussian_mixture_start_survives_clusters_of_one_row_and_equal_rows() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [5.0, 2.0]])
    r = gaussian_mixture(X, np.ones(4), np.eye(3)[[0, 1, 1, 2]])
    assert np.isfinite(r).all()
    r = gaussian_mixture(np.ones((3, 2)), np.ones(3), np.eye(2)[[0, 1, 0]])
    assert np.isfinite(r).all()
