"""The `paper` preset is Algorithm 1: it matches a slow transcription, weight by weight."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm._typing import FloatArray, IntArray
from tests.reference import algorithm1

MONOMIALS = ["1", "x1", "x2", "x1^2", "x1*x2", "x2^2"]


def two_blobs_per_class(
    N: int, n_components: list[int], seed: int
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Rows, class indices and random responsibilities to start from."""
    rng = np.random.default_rng(seed)
    C = len(n_components)
    y = np.arange(N) % C
    centers = 1.5 * rng.normal(size=(C, 2, 2))
    X = centers[y, rng.integers(2, size=N)] + 0.6 * rng.normal(size=(N, 2))
    r = rng.random((N, sum(n_components))) * (np.repeat(range(C), n_components) == y[:, None])
    return X, y, r / r.sum(axis=1, keepdims=True)


def quadratic_features(X: FloatArray) -> FloatArray:
    x1, x2 = X.T
    return np.column_stack([np.ones(len(X)), x1, x2, x1**2, x1 * x2, x2**2])


def kernel_columns(X: FloatArray, Z: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(X)), (X @ Z.T + 1.0) ** 2])


def class_posterior(Phi: FloatArray, model: algorithm1.Model) -> FloatArray:
    P = algorithm1.component_posterior(Phi, model)
    return np.stack(
        [P[:, model.component_class == c].sum(axis=1) for c in np.unique(model.component_class)],
        axis=1,
    )


def weights_of_all_columns(model: SDGMClassifier | KernelSDGMClassifier, H: int) -> FloatArray:
    """The fitted weights with the pruned columns put back as zeros: (K, H)."""
    w = np.zeros((len(model.mixture_weights_), H))
    w[:, 0] = model.intercept_
    if isinstance(model, KernelSDGMClassifier):
        columns = 1 + model.relevance_
    else:
        columns = [MONOMIALS.index(term) for term in model.terms_]
    w[:, columns] = model.coef_
    return w


def assert_same(
    model: SDGMClassifier | KernelSDGMClassifier, expected: algorithm1.Model, H: int
) -> None:
    assert model.n_iter_ == expected.n_iter
    assert model.converged_ == expected.converged
    np.testing.assert_array_equal(model.component_class_, expected.component_class)
    w = weights_of_all_columns(model, H)
    np.testing.assert_array_equal(w != 0, expected.active)
    assert model.n_active_weights_ == expected.active.sum()
    np.testing.assert_allclose(w, expected.w, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(model.mixture_weights_, expected.pi, rtol=1e-5)
    alpha = model.history_[-1].state.alpha
    np.testing.assert_allclose(alpha, expected.alpha[expected.active], rtol=1e-3)


# the seeds are those of runs that converge soon, some with several components per class left
@pytest.mark.parametrize(
    ("n_components", "seed", "components_left"),
    [([2, 3], 5, 3), ([2, 1, 2], 4, 5), ([1, 1], 3, 2)],
)
def test_original_form_converges_as_the_transcription_does(
    n_components: list[int], seed: int, components_left: int
) -> None:
    X, y, r = two_blobs_per_class(40, n_components, seed)
    model = SDGMClassifier(n_components, preset="paper", init=r, record_states=True).fit(X, y)
    expected = algorithm1.learn(quadratic_features(X), y, r, n_components, max_iter=100)
    assert expected.converged and len(expected.pi) == components_left  # or the case is dull
    assert_same(model, expected, 6)
    X_new = two_blobs_per_class(200, n_components, seed + 1)[0]
    np.testing.assert_allclose(
        model.predict_proba(X_new), class_posterior(quadratic_features(X_new), expected), atol=1e-6
    )


@pytest.mark.parametrize(
    ("n_components", "seed", "components_left"),
    [([2, 3], 2, 2), ([2, 2], 4, 3), ([2, 1, 2], 1, 3)],
)
def test_dual_form_converges_as_the_transcription_does(
    n_components: list[int], seed: int, components_left: int
) -> None:
    X, y, r = two_blobs_per_class(30, n_components, seed)
    model = KernelSDGMClassifier(n_components, preset="paper", init=r, record_states=True)
    model.fit(X, y)
    expected = algorithm1.learn(kernel_columns(X, X), y, r, n_components, max_iter=200)
    assert expected.converged and len(expected.pi) == components_left
    assert_same(model, expected, 31)
    X_new = two_blobs_per_class(200, n_components, seed + 1)[0]
    np.testing.assert_allclose(
        model.predict_proba(X_new), class_posterior(kernel_columns(X_new, X), expected), atol=1e-6
    )


@pytest.mark.filterwarnings("ignore:The fit stopped at max_iter")
@pytest.mark.parametrize("max_iter", [1, 2, 4, 8])
@pytest.mark.parametrize("form", ["original", "dual", "precomputed"])
def test_first_iterations_equal_those_of_the_transcription(form: str, max_iter: int) -> None:
    n_components = [2, 1, 3]
    X, y, r = two_blobs_per_class(24, n_components, seed=0)
    settings = {"preset": "paper", "init": r, "max_iter": max_iter, "record_states": True}
    if form == "original":
        Phi = quadratic_features(X)
        model = SDGMClassifier(n_components, **settings, teacher=None).fit(X, y)
    elif form == "dual":
        Phi = kernel_columns(X, X)
        model = KernelSDGMClassifier(n_components, **settings, teacher=None).fit(X, y)
    else:
        Phi = kernel_columns(X, X)
        model = KernelSDGMClassifier(n_components, kernel="precomputed", **settings)
        model.fit(Phi[:, 1:], y)
    expected = algorithm1.learn(Phi, y, r, n_components, max_iter)
    assert_same(model, expected, Phi.shape[1])
    assert expected.n_iter == max_iter


def test_transcription_has_the_gradient_and_the_hessian_of_its_log_posterior() -> None:
    X, _, r = two_blobs_per_class(15, [1, 2], seed=0)
    Phi = quadratic_features(X)
    rng = np.random.default_rng(1)
    K, H = 3, 6
    active = np.ones((K, H), dtype=bool)
    model = algorithm1.Model(
        w=0.5 * rng.normal(size=(K, H)),
        alpha=rng.uniform(0.5, 2.0, size=(K, H)),
        active=active,
        pi=np.array([1.0, 0.4, 0.6]),
        component_class=np.array([0, 1, 1]),
    )

    def at(w: FloatArray) -> algorithm1.Model:
        return algorithm1.Model(w, model.alpha, active, model.pi, model.component_class)

    step = 1e-5
    units = np.eye(K * H).reshape(K * H, K, H)
    up, down = [[at(model.w + sign * step * e) for e in units] for sign in (1, -1)]
    grad = [
        (algorithm1.log_posterior(Phi, r, u) - algorithm1.log_posterior(Phi, r, d)) / (2 * step)
        for u, d in zip(up, down, strict=True)
    ]
    np.testing.assert_allclose(algorithm1.gradient(Phi, r, model).ravel(), grad, atol=1e-6)
    hess = [
        (algorithm1.gradient(Phi, r, u) - algorithm1.gradient(Phi, r, d)).ravel() / (2 * step)
        for u, d in zip(up, down, strict=True)
    ]
    np.testing.assert_allclose(algorithm1.hessian(Phi, model), hess, atol=1e-6)
