"""Claims about Gaussian mixtures: their density, and the number of their components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sdgm._typing import FloatArray
from sdgm.core.mixtures import gaussian_mixture
from sdgm.core.mixtures.gaussian_mixture import ROWS_PER_INPUT, chosen_mixture, fitted_mixture
from sdgm.datasets import make_ripley


def cloud() -> FloatArray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]])


def test_a_mixture_has_the_density_of_its_gaussians() -> None:
    X = np.concatenate([cloud(), 6.0 - cloud()])
    mixture = fitted_mixture(X, np.ones(len(X)), 2, seed=0)
    assert len(mixture.share) == 2
    density = np.zeros(len(X))
    for share, mean, W in zip(*mixture, strict=True):
        covariance = np.linalg.inv(W.T @ W)
        density += share * multivariate_normal(mean, covariance).pdf(X)
    np.testing.assert_allclose(mixture.log_density(X), np.log(density), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_ripley_classes_have_two_components_each(seed: int) -> None:
    data = make_ripley(250, 4, random_state=seed)
    X, y, _, _ = data.split()
    for label in np.unique(y):
        own = X[y == label]
        assert len(chosen_mixture(own, np.ones(len(own)), 0).share) == 2


def test_a_round_cloud_has_one_component() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    assert len(chosen_mixture(X, np.ones(200), 0).share) == 1


def test_a_component_has_enough_rows_for_its_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    # two tight clusters, one row short of two components
    rng = np.random.default_rng(0)
    n = 2 * ROWS_PER_INPUT * 2 - 1
    X = 10.0 * (np.arange(n) % 2)[:, None] + 0.1 * rng.normal(size=(n, 2))
    assert len(chosen_mixture(X, np.ones(n), 0).share) == 1
    monkeypatch.setattr(gaussian_mixture, "ROWS_PER_INPUT", 1)
    assert len(chosen_mixture(X, np.ones(n), 0).share) > 1
