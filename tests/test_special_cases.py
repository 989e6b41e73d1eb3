"""Claims about the map of models: where an arrow starts is a special case of where it ends.

Each test names its arrow, and the last one that none is forgotten. Those of Gaussian processes are
with their estimator; that of shared covariances and logistic regression's own are in
tests/estimators/test_corners.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.features import monomials
from tests.estimators.problems import blobs, own_warnings_allowed, two_modes
from tests.reference.gaussians import weights_from_gaussian

# arrows whose tests are elsewhere
TESTED = {("Gaussian", "Logistic regression")}


def arrow(start: str, end: str) -> Callable[[Any], Any]:
    """Note that the test below is the one of this arrow."""
    TESTED.add((start, end))
    return lambda test: test


def features(X: FloatArray, covariance_type: str = "full") -> FloatArray:
    """phi(x), the constant first."""
    return monomials(X.shape[1], covariance_type).transform(X)


def class_posterior(scores: FloatArray, component_class: IntArray) -> FloatArray:
    """P(c | x) from the scores of the components (Eq. 1)."""
    P_cm = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return P_cm @ np.eye(component_class.max() + 1)[component_class]


# --- generative to discriminative ---


@arrow("GMM", "Discriminative GMM")
@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_bayes_rule_of_mixtures_is_a_softmax_of_quadratic_features(covariance_type: str) -> None:
    X, y = two_modes(200)
    prior = np.bincount(y) / len(y)
    mixtures = [
        GaussianMixture(2 + c, covariance_type=covariance_type, random_state=0).fit(X[y == c])
        for c in (0, 1)
    ]
    log_joint = np.log(prior) + np.column_stack([m.score_samples(X) for m in mixtures])
    expected = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    w = np.concatenate(
        [
            weights_from_gaussian(m.means_, m.covariances_, covariance_type=covariance_type)
            for m in mixtures
        ]
    )
    pi = np.concatenate([p * m.weights_ for p, m in zip(prior, mixtures, strict=True)])
    scores = features(X, covariance_type) @ w.T + np.log(pi)
    ours = class_posterior(scores, np.array([0, 0, 1, 1, 1]))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-10)


def sparse_precision(D: int, seed: int) -> FloatArray:
    """A positive definite matrix with zeros."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(-1.0, 1.0, (D, D)) * (rng.uniform(size=(D, D)) < 0.4), 1)
    S = (upper + upper.T) / D + np.eye(D)  # dominated by its diagonal
    scale = rng.uniform(0.5, 2.0, D)
    return S * scale * scale[:, None]


@arrow("Sparse GMM", "SDGM, original form")
@settings(deadline=None, max_examples=40)
@given(D=st.integers(2, 6), seed=st.integers(0, 2**32 - 1))
def test_zeros_of_an_inverse_covariance_are_zero_weights(D: int, seed: int) -> None:
    S = sparse_precision(D, seed)
    mean = np.random.default_rng(seed).normal(size=D)
    w = weights_from_gaussian(mean, np.linalg.inv(S))[1 + D :]
    i, j = np.triu_indices(D)
    np.testing.assert_array_equal(np.abs(w) > 1e-10, S[i, j] != 0.0)


@arrow("Sparse Gaussian", "Sparse logistic regression")
@settings(deadline=None, max_examples=40)
@given(D=st.integers(2, 6), seed=st.integers(0, 2**32 - 1))
def test_inputs_without_a_link_to_a_difference_of_the_means_have_no_weight(
    D: int, seed: int
) -> None:
    S = sparse_precision(D, seed)
    rng = np.random.default_rng(seed)
    difference = rng.normal(size=D) * (np.arange(D) == rng.integers(D))  # in one input only
    means = rng.normal(size=D) + np.array([np.zeros(D), difference])
    w = weights_from_gaussian(means, np.linalg.inv(S), covariance_type="tied")
    unlinked = S[:, difference != 0.0].ravel() == 0.0
    np.testing.assert_array_equal(np.abs(w[1] - w[0])[1:] < 1e-10, unlinked)


# --- mixture ---


@arrow("Logistic regression", "Discriminative GMM")
@pytest.mark.parametrize("covariance_type", ["tied", "full"])
@pytest.mark.parametrize("n_components", [2, 3])
def test_a_mixture_of_equal_components_is_one_component_with_their_penalties_added(
    covariance_type: str, n_components: int
) -> None:
    X, y = blobs(90, 3)
    same = np.kron(np.eye(3)[y], np.full(n_components, 1.0 / n_components))
    common: dict[str, Any] = {"covariance_type": covariance_type, "preset": "paper"}
    mixture = DiscriminativeGMMClassifier(n_components, alpha=0.5, init=same, **common).fit(X, y)
    one = SDGMClassifier(1, prior="ridge", alpha=0.5 * n_components, **common).fit(X, y)
    np.testing.assert_allclose(
        mixture.coef_, np.repeat(one.coef_, n_components, axis=0), rtol=0, atol=1e-7
    )
    np.testing.assert_allclose(mixture.predict_proba(X), one.predict_proba(X), rtol=0, atol=1e-8)


def relevance_vector_machine(Phi: FloatArray, t: IntArray, n_iter: int) -> FloatArray:
    """Weights after so many updates of alpha in Tipping's machine for two classes: (H,)."""
    alpha, w = np.ones(Phi.shape[1]), np.zeros(Phi.shape[1])
    active = np.arange(Phi.shape[1])
    for _ in range(n_iter):
        for _ in range(25):
            p = expit(Phi[:, active] @ w[active])
            weighted = Phi[:, active] * (p * (1.0 - p))[:, None]
            hessian = weighted.T @ Phi[:, active] + np.diag(alpha[active])
            gradient = Phi[:, active].T @ (t - p) - alpha[active] * w[active]
            w[active] += np.linalg.solve(hessian, gradient)
        variance = np.linalg.inv(hessian).diagonal()
        alpha[active] = (1.0 - alpha[active] * variance) / w[active] ** 2
        w[alpha > 1e5] = 0.0
        active = np.flatnonzero(alpha <= 1e5)
    return w


@arrow("Sparse logistic regression", "SDGM, original form")
@pytest.mark.parametrize("n_iter", [1, 5, 100])
def test_one_linear_component_is_the_relevance_vector_machine_on_the_inputs(n_iter: int) -> None:
    X, y = blobs(80, 2, 6)
    with own_warnings_allowed():
        model = SDGMClassifier(1, covariance_type="tied", preset="paper", max_iter=n_iter).fit(X, y)
    # the second class has no weights: P(first class) is a logistic function
    w = relevance_vector_machine(features(X, "tied"), 1 - y, n_iter)
    expected = expit(features(X, "tied") @ w)
    # rounding grows from one update of alpha to the next
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], expected, rtol=0, atol=1e-5)
    assert model.n_active_weights_ == np.count_nonzero(w)


@arrow("RVM", "SDGM, dual form")
@pytest.mark.parametrize("n_iter", [1, 5, 100])
def test_one_component_on_kernels_is_the_relevance_vector_machine(n_iter: int) -> None:
    X, y = two_modes(60)
    settings: dict[str, Any] = {"gamma": 2.0, "preset": "paper", "max_iter": n_iter}
    with own_warnings_allowed():
        model = KernelSDGMClassifier(1, kernel="rbf", **settings, teacher=None).fit(X, y)
        named = RVMClassifier(**settings).fit(X, y)
    Phi = np.column_stack([np.ones(len(X)), rbf_kernel(X, gamma=2.0)])
    w = relevance_vector_machine(Phi, 1 - y, n_iter)
    # the kernel matrix is factorised to 1e-8 of its largest entry
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], expit(Phi @ w), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(model.relevance_, np.flatnonzero(w[1:]))
    np.testing.assert_array_equal(named.predict_proba(X), model.predict_proba(X))


# --- sparse ---


@arrow("Logistic regression", "Sparse logistic regression")
def test_with_its_precisions_given_sparse_logistic_regression_is_logistic_regression() -> None:
    X, y = blobs(120, 2, 8)
    model = SDGMClassifier(1, covariance_type="tied", preset="paper", record_states=True).fit(X, y)
    state = model.history_[-1].state
    assert 0 < state.n_weights < 9
    # a precision is a scale: alpha w^2 = v^2 with w = v / sqrt(alpha)
    Phi = features(X, "tied")[:, state.column] / np.sqrt(state.alpha)
    peer = LogisticRegression(fit_intercept=False, tol=1e-12, solver="newton-cg", max_iter=1000)
    expected = peer.fit(Phi, 1 - y).predict_proba(Phi)[:, ::-1]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-3)


@arrow("Discriminative GMM", "SDGM, original form")
@pytest.mark.parametrize("prior", ["ridge", "ard"])
def test_with_its_precisions_given_the_sparse_mixture_is_the_discriminative_one(prior: str) -> None:
    # both maximise sum ln P(c_n | x_n) - w'Aw / 2 over the weights they have, pi held
    X, y = two_modes(120)
    model = SDGMClassifier(2, prior=prior, preset="paper", random_state=0, record_states=True)
    state = model.fit(X, y).history_[-1].state
    assert (np.ptp(state.alpha) == 0.0) == (prior == "ridge")
    Phi, log_pi = features(X), np.log(state.pi)

    def posterior(w: FloatArray) -> FloatArray:
        W = np.zeros((state.n_components, Phi.shape[1]))
        W[state.component, state.column] = w
        return class_posterior(Phi @ W.T + log_pi, state.component_class)

    def loss(w: FloatArray) -> float:
        P_own = posterior(w)[np.arange(len(y)), y]
        return float(0.5 * (state.alpha * w**2).sum() - np.log(P_own).sum())

    np.testing.assert_allclose(posterior(state.w), model.predict_proba(X), rtol=0, atol=1e-12)
    best = minimize(loss, state.w, method="L-BFGS-B")
    np.testing.assert_allclose(posterior(best.x), model.predict_proba(X), rtol=0, atol=0.01)


# --- Bayesian kernelisation ---


@arrow("Sparse logistic regression", "RVM")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rvm_is_sparse_logistic_regression_with_kernel_values_as_inputs(
    n_classes: int,
) -> None:
    X, y = blobs(45, n_classes)
    settings: dict[str, Any] = {"preset": "paper", "max_iter": 50}
    with own_warnings_allowed():
        rvm = RVMClassifier(gamma=0.5, **settings).fit(X, y)
        linear = SDGMClassifier(1, covariance_type="tied", **settings, teacher=None)
        linear.fit(rbf_kernel(X, gamma=0.5), y)
    new = blobs(30, n_classes, seed=1)[0]
    expected = linear.predict_proba(rbf_kernel(new, X, gamma=0.5))
    np.testing.assert_allclose(rvm.predict_proba(new), expected, rtol=0, atol=1e-4)
    assert rvm.n_active_weights_ == linear.n_active_weights_


@arrow("SDGM, original form", "SDGM, dual form")
def test_a_quadratic_kernel_is_the_original_form_with_other_weights() -> None:
    # w = sum_n psi_n phi(x_n) (Eq. 7) with (x'z + 1)^2 written out
    X, y = two_modes(120)
    model = KernelSDGMClassifier(
        2, gamma=1.0, standardize=False, preset="fast", random_state=0, teacher=None
    ).fit(X, y)
    z1, z2 = model.relevance_vectors_.T
    rows = np.column_stack([np.ones(len(z1)), 2 * z1, 2 * z2, z1**2, 2 * z1 * z2, z2**2])
    w = model.coef_ @ rows
    w[:, 0] += model.intercept_
    scores = features(X) @ w.T + np.log(model.mixture_weights_)
    expected = class_posterior(scores, model.component_class_)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-9)


# --- all of them ---


def test_every_arrow_to_a_model_of_ours_has_a_test() -> None:
    pytest.importorskip("matplotlib")
    from reproduction.figures.position import arrows

    wanted = {
        (start.name, end.name)
        for start, end, _ in arrows()
        if end.is_code and not any("GP" in box.name for box in (start, end))
    }
    assert wanted == TESTED
