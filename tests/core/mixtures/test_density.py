"""Claims about the density of inputs: mixtures over classes, shrinking, rows held out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sdgm._typing import FloatArray, IntArray
from sdgm.core.mixtures.density import SHRINKAGES, Density, fitted_density, held_out_density
from sdgm.core.mixtures.gaussian_mixture import fitted_mixture


def clouds(n: int = 120, D: int = 2) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, D)) * np.linspace(0.5, 1.5, D) + 2.0 * y[:, None], y


def of_scipy(density: Density, X: FloatArray) -> FloatArray:
    """The density, Gaussian by Gaussian."""
    total = np.zeros(len(X))
    for a, mixture in zip(density.share, density.mixtures, strict=True):
        for share, mean, W in zip(*mixture, strict=True):
            covariance = np.linalg.inv(W.T @ W)
            total += a * share * multivariate_normal(mean, covariance).pdf(X)
    return np.log(total)


def test_the_density_is_that_of_its_gaussians() -> None:
    X, y = clouds()
    density, numbers = fitted_density(X, y, [2, 1, 2], seed=0)
    assert numbers == [2, 1, 2]
    np.testing.assert_allclose(density.log_density(X), of_scipy(density, X), rtol=1e-9)
    shrunk = density.shrunk(0.3)
    np.testing.assert_allclose(shrunk.log_density(X), of_scipy(shrunk, X), rtol=1e-9)


def test_it_integrates_to_one() -> None:
    X, y = clouds(D=1)
    density = fitted_density(X, y, None, seed=0)[0].shrunk(0.1)
    grid = np.linspace(-20.0, 30.0, 20_001)
    total = np.exp(density.log_density(grid[:, None])).sum() * (grid[1] - grid[0])
    assert total == pytest.approx(1.0, abs=1e-6)


def test_shrinking_keeps_the_mean_variance_and_ends_at_a_sphere() -> None:
    X, _ = clouds()
    density, _ = fitted_density(X, np.zeros(len(X), dtype=int), [1], seed=0)

    def covariance(a: float) -> FloatArray:
        W = density.shrunk(a).mixtures[0].whitening[0]
        return np.linalg.inv(W.T @ W)

    expected = np.trace(covariance(0.0)) / 2
    assert np.trace(covariance(0.4)) / 2 == pytest.approx(expected)
    np.testing.assert_allclose(covariance(1.0), expected * np.eye(2), atol=1e-9)


def test_rows_held_out_are_judged_by_the_other_folds() -> None:
    X, y = clouds()
    fold = np.arange(len(X)) % 4
    found = held_out_density(X, y, fold, seed=0)
    numbers = [len(mixture.share) for mixture in found.density.mixtures]
    n = 7
    seen = fold != fold[n]
    mixtures = [
        fitted_mixture(X[seen & (y == c)], np.ones((seen & (y == c)).sum()), numbers[c], 0)
        for c in range(3)
    ]
    part = Density(mixtures, np.bincount(y[seen]) / seen.sum()).shrunk(found.shrinkage)
    assert found.log_density[n] == pytest.approx(part.log_density(X[n : n + 1])[0])


def test_few_rows_of_many_inputs_are_shrunk_more_than_many_rows() -> None:
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(12, 12)) / 3.0

    def shrinkage(n: int) -> float:
        X = rng.normal(size=(n, 12)) @ mix
        return held_out_density(X, np.zeros(n, dtype=int), np.arange(n) % 5, seed=0).shrinkage

    assert shrinkage(20) > shrinkage(600)
    assert shrinkage(600) == SHRINKAGES[0]


def test_a_class_that_is_held_out_as_a_whole_is_no_error() -> None:
    X, y = clouds()
    y[y == 2] = 1
    y[0] = 2
    found = held_out_density(X, y, np.arange(len(X)) % 5, seed=0)
    assert np.isfinite(found.log_density).all()
    assert len(found.density.mixtures) == 3


def test_rows_that_are_all_alike_have_a_density() -> None:
    X = np.zeros((10, 2))
    found = held_out_density(X, np.zeros(10, dtype=int), np.arange(10) % 5, seed=0)
    assert np.isfinite(found.log_density).all()
    far = found.density.log_density(np.full((1, 2), 1e100))
    assert np.isfinite(far).all() and far[0] < found.log_density.min()
