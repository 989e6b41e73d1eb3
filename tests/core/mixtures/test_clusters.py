"""Claims about Gaussian mixtures of all rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from sdgm._typing import FloatArray
from sdgm.core.mixtures.clusters import (
    SHAPES,
    cluster_models,
    enough_rows,
    fitted_clusters,
    shrunk,
)
from sdgm.core.mixtures.gaussian_mixture import COVARIANCE_FLOOR, maximization
from sdgm.core.model.features import CovarianceType

every_shape = pytest.mark.parametrize("shape", SHAPES)


def log_densities(X: FloatArray, s: FloatArray, r: FloatArray, shape: CovarianceType) -> FloatArray:
    return maximization(X, s, r, shrunk(shape)).log_joint(X)


def clouds(n: int = 50, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, 2)) + 6.0 * c for c in range(3)])


@every_shape
def test_separate_clouds_are_found(shape: CovarianceType) -> None:
    X = clouds()
    fit = fitted_clusters(X, np.ones(len(X)), 3, shape)
    np.testing.assert_allclose(fit.r.sum(axis=1), 1.0)
    label = fit.r.argmax(axis=1).reshape(3, 50)
    assert all(len(set(row.tolist())) <= 2 for row in label)
    assert len(set(np.median(label, axis=1).tolist())) == 3


@every_shape
def test_the_lowest_bic_has_as_many_clusters_as_clouds(shape: CovarianceType) -> None:
    X = clouds(100)
    models = [m for m in cluster_models(X, np.ones(len(X)), 2) if m.shape is shape]
    best = min(models, key=lambda model: model.bic)
    assert best.r.shape[1] == 3
    # and one cluster per class is there as well
    assert {model.r.shape[1] for model in models} == {2, 3}


@every_shape
def test_weights_are_repetition(shape: CovarianceType) -> None:
    rng = np.random.default_rng(0)
    X, n = clouds(20), rng.integers(1, 4, size=60)
    r = rng.dirichlet(np.ones(2), size=60)
    weighted = log_densities(X, n.astype(float), r, shape)
    repeated = log_densities(X.repeat(n, axis=0), np.ones(n.sum()), r.repeat(n, axis=0), shape)
    np.testing.assert_allclose(weighted.repeat(n, axis=0), repeated)


def test_one_tied_cluster_has_the_density_of_its_gaussian() -> None:
    X = clouds(30)
    log_p = log_densities(X, np.ones(len(X)), np.ones((len(X), 1)), CovarianceType.TIED)
    covariance = np.cov(X.T, bias=True) + COVARIANCE_FLOOR * np.eye(2)
    expected = multivariate_normal(X.mean(axis=0), covariance).logpdf(X)
    np.testing.assert_allclose(log_p[:, 0], expected)


@every_shape
def test_em_ends_at_a_fixed_point(shape: CovarianceType) -> None:
    X = clouds()
    s = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X))
    r = fitted_clusters(X, s, 3, shape).r
    log_joint = log_densities(X, s, r, shape)
    again = np.exp(log_joint - logsumexp(log_joint, axis=1)[:, None])
    np.testing.assert_allclose(again, r, atol=0.02)


def test_full_covariances_need_rows() -> None:
    X = np.zeros((30, 10))
    assert not enough_rows(X, 2, CovarianceType.FULL)
    assert enough_rows(X, 2, CovarianceType.TIED) and enough_rows(X, 1, CovarianceType.FULL)


def test_few_or_equal_points_are_no_obstacle() -> None:
    assert cluster_models(np.zeros((1, 2)), np.ones(1), 2) == []
    for fit in cluster_models(np.arange(12.0)[:, None], np.ones(12), 4):
        assert np.isfinite(fit.r).all()
