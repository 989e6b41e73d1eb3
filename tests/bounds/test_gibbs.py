"""Claims about classifiers drawn from the posterior: they are those of the weights drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm._typing import FloatArray, IntArray
from sdgm.bounds.gibbs import (
    Answers,
    Loss,
    mean_losses,
    positive_definite,
    weight_posterior,
)


def three_clouds(n: int = 90) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    angle = 2.0 * np.pi * y / 3.0
    return rng.normal(size=(n, 2)) + 1.5 * np.column_stack([np.cos(angle), np.sin(angle)]), y


MODELS = [
    SDGMClassifier(2, random_state=0, teacher=None),
    SDGMClassifier(2, covariance_type="tied", prior="ridge", random_state=0),
    KernelSDGMClassifier(1, kernel="rbf", gamma=0.5, preset="paper", random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=["primal", "ridge", "dual"])


def fitted(model: Any) -> tuple[Any, FloatArray, FloatArray, IntArray]:
    """A model, its columns at the rows with the constant, the rows and classes."""
    X, y = three_clouds()
    model.fit(X, y)
    Phi = model.model_.basis.transform(model.model_.scaler.standardized(X))
    return model, np.column_stack([np.ones(len(X)), Phi]), X, y


@every_model
def test_the_mean_of_the_scores_is_the_model(model: Any) -> None:
    model, Phi, X, _ = fitted(model)
    mean, _ = weight_posterior(model.model_, Phi).scores(Phi)
    P = np.exp(mean - mean.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P, model.predict_component_proba(X), rtol=1e-8, atol=1e-12)


@every_model
def test_the_scores_vary_as_the_weights_do(model: Any) -> None:
    model, Phi, _, _ = fitted(model)
    posterior = weight_posterior(model.model_, Phi)
    _, root = posterior.scores(Phi[:5])
    for n in range(5):
        A = np.zeros((posterior.n_components, len(posterior.mean)))
        A[posterior.component, np.arange(len(posterior.mean))] = Phi[n, posterior.column]
        expected = A @ posterior.covariance @ A.T
        np.testing.assert_allclose(root[n] @ root[n].T, expected, rtol=1e-6, atol=1e-9)


@every_model
def test_differences_of_scores_vary_as_under_the_models_covariance(model: Any) -> None:
    model, Phi, _, _ = fitted(model)
    K = len(model.mixture_weights_)
    component, column = np.nonzero(model.model_.active)
    A = np.zeros((K, len(component)))
    A[component, np.arange(len(component))] = Phi[0, column]
    own = A @ model.covariance_ @ A.T
    posterior = weight_posterior(model.model_, Phi)
    root = posterior.scores(Phi[:1])[1][0]
    found = root @ root.T
    # pruned constants of components other than the reference have a variance of their own
    pruned = np.flatnonzero(~model.model_.active[:, 0])[1:]
    used = np.setdiff1d(np.arange(K), pruned)
    D = np.eye(K)[used[1:]] - np.eye(K)[used[0]]
    np.testing.assert_allclose(D @ found @ D.T, D @ own @ D.T, rtol=1e-6, atol=1e-9)


def test_one_constant_is_left_out_because_only_differences_count() -> None:
    model, Phi, _, _ = fitted(SDGMClassifier(2, prior="ridge", random_state=0))
    posterior = weight_posterior(model.model_, Phi)
    K, H = model.model_.active.shape
    assert len(posterior.mean) == K * H - 1
    assert (posterior.column == 0).sum() == K - 1
    np.testing.assert_array_equal(posterior.column[posterior.groups[1]], 0)


@pytest.mark.parametrize("loss", list(Loss))
def test_losses_are_those_of_weights_drawn_once_for_all_rows(loss: Loss) -> None:
    model, Phi, X, y = fitted(SDGMClassifier(2, random_state=0, teacher=None))
    posterior = weight_posterior(model.model_, Phi)
    answers = Answers(model.component_class_, 3, y, loss)
    rng = np.random.default_rng(0)
    mean, root = posterior.scores(Phi)
    single, joint = mean_losses(mean, root, answers, 400, rng)
    draws = rng.multivariate_normal(posterior.mean, posterior.covariance, size=800)
    scores = np.zeros((800, len(X), posterior.n_components))
    for k in range(posterior.n_components):
        own = posterior.component == k
        scores[:, :, k] = draws[:, own] @ Phi[:, posterior.column[own]].T
    losses = answers.losses(scores)
    assert single == pytest.approx(losses.mean(), abs=0.02)
    assert joint == pytest.approx((losses[:400] * losses[400:]).mean(), abs=0.02)


def test_without_spread_the_losses_are_those_of_the_model() -> None:
    model, Phi, X, y = fitted(SDGMClassifier(2, random_state=0, teacher=None))
    mean, root = weight_posterior(model.model_, Phi).scores(Phi)
    rng = np.random.default_rng(0)
    error = Answers(model.component_class_, 3, y, Loss.ERROR)
    wrong = float(np.mean(model.predict(X) != y))
    assert mean_losses(mean, 0.0 * root, error, 2, rng) == pytest.approx((wrong, wrong))
    chance = Answers(model.component_class_, 3, y, Loss.PROBABILITY)
    lost = 1.0 - model.predict_proba(X)[np.arange(len(y)), y]
    expected = (lost.mean(), (lost**2).mean())
    assert mean_losses(mean, 0.0 * root, chance, 2, rng) == pytest.approx(expected)


def test_a_covariance_that_rounding_made_indefinite_is_lifted() -> None:
    V = np.array([[1.0, 1e-4], [1e-4, 1e-8 * (1 - 1e-12)]])
    np.linalg.cholesky(positive_definite(V))
    np.testing.assert_allclose(positive_definite(V), V, rtol=1e-6)
    good = np.diag([1e-12, 1.0, 1e12])
    np.testing.assert_allclose(positive_definite(good), good)
