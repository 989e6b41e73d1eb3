"""Claims about mixtures of Gaussian processes: scikit-learn's GP and our corners are inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.utils.estimator_checks import parametrize_with_checks

from reproduction.gaussian_processes.estimator import MixtureOfGPsClassifier
from reproduction.gaussian_processes.latent import (
    Latent,
    latent_curvature,
    latent_mode,
    latent_posterior,
)
from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm.datasets import make_ripley
from tests.estimators.problems import own_warnings_allowed

X, y, X_TEST, _ = make_ripley(n_train=80, n_test=60, random_state=0).split()


@parametrize_with_checks([MixtureOfGPsClassifier(max_evaluations=2)])
def test_passes_the_battery(estimator: BaseEstimator, check: Any) -> None:
    with own_warnings_allowed():
        check(estimator)


@pytest.mark.parametrize("kernel", [1.5 * RBF(0.4), 20.0 * RBF(1.0), DotProduct(1.0)])
def test_with_one_component_it_is_the_gaussian_process_of_scikit_learn(kernel: Any) -> None:
    peer = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    ours = MixtureOfGPsClassifier(1, kernel=kernel, optimizer=False).fit(X, y)
    assert ours.log_evidence_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-4)
    P = peer.predict_proba(X_TEST)
    np.testing.assert_allclose(ours.predict_proba(X_TEST), P, atol=0.02)  # drawn, and integrated
    latent = peer.base_estimator_
    f = kernel(X_TEST, X) @ (latent.y_train_ - latent.pi_)
    mode = MixtureOfGPsClassifier(1, kernel=kernel, optimizer=False, predictive="map").fit(X, y)
    expected = 1.0 / (1.0 + np.exp(-f))
    np.testing.assert_allclose(mode.predict_proba(X_TEST)[:, 1], expected, atol=1e-4)


def test_search_ends_near_the_evidence_that_scikit_learn_finds() -> None:
    peer = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    ours = MixtureOfGPsClassifier(1, kernel=1.0 * RBF(1.0)).fit(X, y)
    assert ours.log_evidence_ > peer.log_marginal_likelihood_value_ - 0.2
    assert ours.n_evaluations_ <= 60


def test_a_mixture_has_five_functions_and_more_evidence_than_its_start() -> None:
    fixed = MixtureOfGPsClassifier(3, optimizer=False, random_state=0).fit(X, y)
    free = MixtureOfGPsClassifier(3, random_state=0).fit(X, y)
    assert free.n_active_weights_ == 5 * len(X)
    assert free.log_evidence_ > fixed.log_evidence_
    P_cm = free.predict_component_proba(X_TEST)
    assert P_cm.shape == (len(X_TEST), 6)
    np.testing.assert_allclose(P_cm.sum(axis=1), 1.0)


def dense(state: Any, H: int) -> np.ndarray:
    W = np.zeros((state.n_components, H))
    W[state.component, state.column] = state.w
    return W


def softmax(scores: np.ndarray, component_class: np.ndarray) -> np.ndarray:
    P = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return np.stack([P[:, component_class == c].sum(axis=1) for c in range(2)], axis=1)


def features(X: np.ndarray) -> np.ndarray:
    x1, x2 = X.T
    return np.column_stack([np.ones(len(X)), x1, x2, x1**2, x1 * x2, x2**2])


@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_logistic_regression_is_the_process_with_the_kernel_of_its_inputs(alpha: float) -> None:
    linear = SDGMClassifier(
        1, covariance_type="tied", prior="ridge", alpha=alpha, preset="paper", standardize=False
    ).fit(X, y)
    process = MixtureOfGPsClassifier(
        1, kernel=1.0 / alpha * DotProduct(1.0), optimizer=False, pinned=False, predictive="map"
    ).fit(X, y)
    np.testing.assert_allclose(
        process.predict_proba(X_TEST), linear.predict_proba(X_TEST), atol=1e-3
    )


def test_discriminative_mixture_is_the_mixture_of_processes_with_the_kernel_of_its_features() -> (
    None
):
    mixture = DiscriminativeGMMClassifier(
        2, alpha=0.5, preset="paper", standardize=False, random_state=0
    ).fit(X, y)
    Phi = features(X)
    state = mixture.model_.state
    W = dense(state, Phi.shape[1])
    gram = Phi @ Phi.T / 0.5
    f = (Phi @ W.T).T
    a = np.linalg.lstsq(gram, f.T, rcond=None)[0].T
    free = np.ones(4, dtype=bool)
    start = Latent(a, a @ gram, state.pi, np.zeros((len(X), 4)))
    latent, _ = latent_mode(gram, y, state.component_class, free, start, from_start=False)
    ours = softmax(latent.f.T + np.log(latent.pi), state.component_class)
    np.testing.assert_allclose(ours, mixture.predict_proba(X), atol=0.01)


@pytest.mark.parametrize("M", [1, 2])
def test_sparse_kernel_model_is_a_mixture_of_processes_with_the_covariance_of_its_weights(
    M: int,
) -> None:
    # of one component per class this is the arrow from GP to RVM, of more that from MGP to SDGM
    if M == 1:
        model: Any = RVMClassifier(gamma=1.0, standardize=False).fit(X, y)
    else:
        model = KernelSDGMClassifier(
            M, gamma=1.0, standardize=False, random_state=0, teacher=None
        ).fit(X, y)
    # at the precisions learned, the log posterior of the functions is stationary: f = gram (r - P)
    state = model.model_.state
    vectors = model.relevance_vectors_
    Phi = np.column_stack([np.ones(len(X)), model.model_.basis.kernel.gram(X, vectors)])
    column = np.concatenate([[0], np.unique(state.column[state.column > 0])])
    position = np.searchsorted(column, state.column)
    W = np.zeros((state.n_components, len(column)))
    W[state.component, position] = state.w
    scores = Phi @ W.T
    P = np.exp(scores + np.log(state.pi))
    P /= P.sum(axis=1, keepdims=True)
    own = state.component_class == y[:, None]
    r = np.where(own, P, 0.0)
    r /= r.sum(axis=1, keepdims=True)
    for k in range(state.n_components):
        mine = state.component == k
        scaled = Phi[:, position[mine]] / np.sqrt(state.alpha[mine])
        f = scaled @ (scaled.T @ (r - P)[:, k])
        np.testing.assert_allclose(f, scores[:, k], atol=0.05 * (1.0 + np.abs(scores).max()))


def test_latent_posterior_equals_the_dense_gaussian() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 8))
    gram = A @ A.T
    P = rng.dirichlet(np.ones(3), size=8)
    free = np.array([True, True, False])
    curvature = latent_curvature(gram, P, free)
    # dense: prior covariance of the two free functions, information W of all three
    prior = np.kron(np.eye(2), gram)
    W = np.block(
        [
            [np.diag(P[:, k] * (k == j)) - np.diag(P[:, k] * P[:, j]) for j in range(2)]
            for k in range(2)
        ]
    )
    sign, log_det = np.linalg.slogdet(np.eye(16) + prior @ W)
    assert sign > 0 and curvature.half_log_det == pytest.approx(0.5 * log_det, abs=1e-9)
    a = rng.normal(size=(3, 8)) * free[:, None]
    cross = rng.normal(size=(4, 8)) @ gram
    variance = np.einsum("ni,ij,nj->n", cross, np.linalg.inv(gram), cross) + 1.0
    mean, covariance = latent_posterior(curvature, a, cross, variance, free)
    np.testing.assert_allclose(mean, cross @ a.T)
    big = np.linalg.inv(np.linalg.inv(prior) + W)
    for n in range(4):
        weight = np.kron(np.eye(2), np.linalg.solve(gram, cross[n]))
        expected = weight @ big @ weight.T + np.eye(2)
        np.testing.assert_allclose(covariance[n, :2, :2], expected, atol=1e-6)
        np.testing.assert_array_equal(covariance[n, 2], 0.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_evaluations": 0}, "max_evaluations"),
        ({"predictive": "best"}, "predictive"),
        ({"pinned": "yes"}, "pinned"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        MixtureOfGPsClassifier(**parameters).fit(X, y)
