"""Claims about Gaussian mixtures per class: Bayes' rule, their number, the loss of the folds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sdgm._typing import FloatArray, IntArray
from sdgm.core.mixtures import gaussian_mixture
from sdgm.core.mixtures.gaussian_mixture import (
    COVARIANCE_FLOOR,
    ROWS_PER_INPUT,
    chosen_mixture,
    fitted_mixture,
)
from sdgm.core.model.features import CovarianceType
from sdgm.core.selection.generative import (
    FOLDS,
    bayes,
    generative_model,
    generative_models,
    shrunk_covariance,
    tied_gaussians,
)
from sdgm.datasets import make_ripley


def clouds(n_samples: int = 90, n_classes: int = 3) -> tuple[FloatArray, IntArray, FloatArray]:
    """Sorted rows of correlated Gaussians, unequal classes, uneven weights."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.choice(n_classes, size=n_samples, p=np.arange(1, n_classes + 1) / 6))
    X = rng.normal(size=(n_samples, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]]) + 1.5 * y[:, None]
    order = np.lexsort(X.T[::-1])
    return X[order], y[order], rng.uniform(0.5, 2.0, size=n_samples)


def gaussian_by_scipy(X: FloatArray, s: FloatArray) -> multivariate_normal:
    """The weighted Gaussian of some rows, with the floor under its covariance."""
    mean = np.average(X, axis=0, weights=s)
    covariance = np.cov(X.T, aweights=s, ddof=0)
    floor = COVARIANCE_FLOOR * np.trace(covariance) / X.shape[1]
    return multivariate_normal(mean, covariance + floor * np.eye(X.shape[1]))


def bayes_by_scipy(
    X: FloatArray, y: IntArray, s: FloatArray, new: FloatArray, n_classes: int
) -> FloatArray:
    """P(c | x) at new rows from one Gaussian per class: (n, C)."""
    joint = np.stack(
        [
            s[y == c].sum() * np.atleast_1d(gaussian_by_scipy(X[y == c], s[y == c]).pdf(new))
            for c in range(n_classes)
        ],
        axis=1,
    )
    return joint / joint.sum(axis=1, keepdims=True)


def test_one_component_per_class_is_bayes_rule_for_gaussians(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gaussian_mixture, "MAX_COMPONENTS", 1)
    X, y, s = clouds()
    found = generative_model(X, y, s)
    assert found is not None
    np.testing.assert_allclose(found.P_c, bayes_by_scipy(X, y, s, X, 3), rtol=1e-9, atol=1e-12)


def test_the_loss_is_that_of_rows_the_gaussians_have_not_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gaussian_mixture, "MAX_COMPONENTS", 1)
    X, y, s = clouds()
    loss = 0.0
    n_before = dict.fromkeys(range(3), 0)
    fold = []
    for label in y.tolist():  # rows of a class go to the folds in turn
        fold.append(n_before[label] % FOLDS)
        n_before[label] += 1
    for n, row in enumerate(X):
        seen = np.array(fold) != fold[n]
        P = bayes_by_scipy(X[seen], y[seen], s[seen], row[None], 3)
        loss -= s[n] * np.log(P.ravel()[y[n]])
    found = generative_model(X, y, s)
    assert found is not None
    assert -s @ found.log_left_out == pytest.approx(loss, rel=1e-9)


def test_a_mixture_has_the_density_of_its_gaussians() -> None:
    X = np.concatenate([clouds()[0], 6.0 - clouds()[0]])
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


@pytest.mark.parametrize("n_features", [1, 4])
def test_too_few_rows_of_a_class_are_no_model(n_features: int) -> None:
    rng = np.random.default_rng(0)
    needed = int(np.ceil(FOLDS * ROWS_PER_INPUT * n_features / (FOLDS - 1)))
    for n_rare, is_model in ((needed - 1, False), (needed, True)):
        y = np.repeat([0, 1], [50, n_rare])
        X = rng.normal(size=(len(y), n_features)) + y[:, None]
        assert (generative_model(X, y, np.ones(len(y))) is not None) is is_model


def test_heavier_rows_count_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian_mixture, "MAX_COMPONENTS", 1)
    X, y, _ = clouds()
    s = np.ones(len(y))
    plain, doubled = generative_model(X, y, s), generative_model(X, y, 2.0 * s)
    assert plain is not None and doubled is not None
    np.testing.assert_allclose(doubled.P_c, plain.P_c, rtol=1e-9)
    np.testing.assert_allclose(doubled.log_left_out, plain.log_left_out, rtol=1e-9)
    heavy = generative_model(X, y, np.where(y == 0, 20.0, 1.0))
    assert heavy is not None
    assert heavy.P_c[:, 0].mean() > plain.P_c[:, 0].mean() + 0.05


def test_the_classes_may_be_named_in_any_order() -> None:
    X, y, s = clouds()
    one, other = generative_model(X, y, s), generative_model(X, 2 - y, s)
    assert one is not None and other is not None
    np.testing.assert_allclose(other.P_c[:, ::-1], one.P_c, rtol=1e-9)
    np.testing.assert_allclose(other.log_left_out, one.log_left_out, rtol=1e-9)


def test_rows_far_from_every_gaussian_have_a_posterior_that_sums_to_one() -> None:
    X, y, s = clouds()
    mixtures = [fitted_mixture(X[y == c], s[y == c], 1, 0) for c in range(3)]
    P = np.exp(bayes(mixtures, 1e6 * X, np.ones(3)))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)


def test_rows_that_are_all_equal_are_no_error() -> None:
    X, y = np.zeros((40, 2)), np.arange(40) % 2
    found = generative_model(X, y, np.ones(40))
    assert found is not None
    np.testing.assert_allclose(found.P_c, 0.5)
    np.testing.assert_allclose(found.log_left_out, -np.log(2.0))


def test_the_shrunk_covariance_is_that_of_ledoit_and_wolf() -> None:
    X = np.random.default_rng(0).normal(size=(30, 5)) * np.arange(1, 6)
    X -= X.mean(axis=0)
    expected, _ = ledoit_wolf(X, assume_centered=True)
    np.testing.assert_allclose(shrunk_covariance(X, np.ones(30)), expected, rtol=1e-9)
    twice = shrunk_covariance(X, np.full(30, 2.0))
    np.testing.assert_allclose(twice, ledoit_wolf(np.tile(X, (2, 1)), assume_centered=True)[0])


def test_tied_gaussians_are_linear_discriminant_analysis() -> None:
    X, y, _ = clouds(300)
    mixtures = tied_gaussians(X, y, np.ones(300))
    found = np.exp(bayes(mixtures, X, np.bincount(y)))
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=0.05)  # which does not shrink


@pytest.mark.parametrize("shape", [CovarianceType.SPHERICAL, CovarianceType.DIAG])
def test_covariances_have_the_shape_asked_for(shape: CovarianceType) -> None:
    X = np.concatenate([clouds()[0], 6.0 - clouds()[0]])
    mixture = fitted_mixture(X, np.ones(len(X)), 2, 0, shape)
    for W in mixture.whitening:
        np.testing.assert_array_equal(W, np.diag(W.diagonal()))
        assert (np.ptp(W.diagonal()) < 1e-12) == (shape is CovarianceType.SPHERICAL)


def test_round_clouds_prefer_stiff_shapes() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 8)) + y[:, None]
    left_out = {
        model.shape: model.log_left_out.sum() for model in generative_models(X, y, np.ones(120))
    }
    assert left_out[CovarianceType.TIED] > left_out[CovarianceType.FULL]
    assert left_out[CovarianceType.SPHERICAL] > left_out[CovarianceType.FULL]
