"""The corners of the model are the classifiers they are said to be (DESIGN section 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm._typing import FloatArray, IntArray
from tests.estimators.problems import blobs, both_presets, own_warnings_allowed, two_modes
from tests.reference.gaussians import weights_from_gaussian


def features(X: FloatArray, covariance_type: str) -> FloatArray:
    """phi(x) of Eq. 2 and its smaller versions, written out, the constant first."""
    i, j = np.triu_indices(X.shape[1])
    quadratic = {
        "full": X[:, i] * X[:, j],
        "diag": X**2,
        "spherical": (X**2).sum(axis=1, keepdims=True),
        "tied": np.empty((len(X), 0)),
    }[covariance_type]
    return np.column_stack([np.ones(len(X)), X, quadratic])


def ridge(n_components: Any = 1, **parameters: Any) -> SDGMClassifier:
    return SDGMClassifier(
        n_components, prior="ridge", standardize=False, random_state=0, **parameters
    )


def logistic_regression(
    Phi: FloatArray, y: IntArray, alpha: float, s: FloatArray | None = None
) -> FloatArray:
    """Probabilities of scikit-learn's penalised multinomial regression without an intercept."""
    # with two classes scikit-learn has one weight vector v = w_1 - w_0 where we have two, and
    # alpha (|w_0|^2 + |w_1|^2) = alpha |v|^2 / 2 at the optimum, where w_0 = -w_1
    C = (2.0 if len(np.unique(y)) == 2 else 1.0) / alpha
    model = LogisticRegression(
        fit_intercept=False, C=C, tol=1e-12, max_iter=10_000, solver="newton-cg"
    )
    return model.fit(Phi, y, s).predict_proba(Phi)


# the paper preset goes to the mode, the fast one to where the next step promises a gain of 0.01
DIGITS = {"paper": 1e-9, "fast": 1e-4}


@both_presets
@pytest.mark.parametrize("covariance_type", ["tied", "spherical", "diag", "full"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 10.0])
def test_one_component_with_a_ridge_is_logistic_regression_on_the_features(
    preset: str, covariance_type: str, n_classes: int, alpha: float
) -> None:
    X, y = blobs(40 * n_classes, n_classes, 3)
    model = ridge(covariance_type=covariance_type, alpha=alpha, preset=preset).fit(X, y)
    expected = logistic_regression(features(X, covariance_type), y, alpha)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=DIGITS[preset])


def test_more_features_than_samples_are_logistic_regression_too() -> None:
    X, y = blobs(30, 3, 12)  # 91 features
    model = ridge(preset="paper").fit(X, y)
    expected = logistic_regression(features(X, "full"), y, 1.0)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-9)


@both_presets
def test_sample_weights_are_those_of_logistic_regression(preset: str) -> None:
    X, y = blobs(90, 3)
    s = np.random.default_rng(0).integers(0, 5, size=30).repeat(3).astype(float)  # balanced
    model = ridge(covariance_type="tied", preset=preset).fit(X, y, s)
    expected = logistic_regression(features(X, "tied"), y, 1.0, s)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=DIGITS[preset])


def test_the_paper_preset_needs_no_balance() -> None:
    X, y = blobs(90, 3)
    keep = (y > 0) | (np.arange(90) < 30)
    X, y = X[keep], y[keep]
    model = ridge(covariance_type="tied", preset="paper").fit(X, y)
    expected = logistic_regression(features(X, "tied"), y, 1.0)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-9)


def test_the_fast_preset_adds_the_log_of_the_class_shares() -> None:
    X, y = blobs(90, 3)
    keep = (y > 0) | (np.arange(90) < 30)
    X, y = X[keep], y[keep]
    Phi, T = features(X, "tied"), np.eye(3)[y]
    offset = np.log(T.mean(axis=0))

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        W = w.reshape(3, -1)
        logits = Phi @ W.T + offset
        log_P = logits - logsumexp(logits, axis=1, keepdims=True)
        grad = (np.exp(log_P) - T).T @ Phi + W
        return -(T * log_P).sum() + 0.5 * (w @ w), grad.ravel()

    best = minimize(loss, np.zeros(9), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    logits = Phi @ best.reshape(3, -1).T + offset
    expected = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    model = ridge(covariance_type="tied").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=DIGITS["fast"])


def test_coefficients_are_those_of_logistic_regression() -> None:
    X, y = blobs(90, 3)
    model = ridge(covariance_type="tied", preset="paper").fit(X, y)
    peer = LogisticRegression(fit_intercept=False, tol=1e-12, solver="newton-cg", max_iter=1000)
    peer.fit(features(X, "tied"), y)
    ours = np.column_stack([model.intercept_, model.coef_])
    np.testing.assert_allclose(ours, peer.coef_, atol=1e-8)


@both_presets
def test_a_weaker_ridge_is_the_same_model_under_standardisation(preset: str) -> None:
    X, y = blobs(90, 3)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = DiscriminativeGMMClassifier(1, standardize=True, preset=preset).fit(100 * X + 7, y)
    expected = logistic_regression(features(Z, "full"), y, 1.0)
    np.testing.assert_allclose(
        model.predict_proba(100 * X + 7), expected, rtol=0, atol=DIGITS[preset]
    )


def test_the_dual_form_with_a_ridge_is_logistic_regression_on_kernel_values() -> None:
    X, y = blobs(60, 3)
    model = KernelSDGMClassifier(
        1, kernel="rbf", gamma=0.5, prior="ridge", preset="paper", standardize=False
    ).fit(X, y)
    Phi = np.column_stack([np.ones(len(X)), rbf_kernel(X, gamma=0.5)])
    expected = logistic_regression(Phi, y, 1.0)
    # the kernel matrix is factorised to 1e-8 of its largest entry
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-6)


def test_the_quadratic_kernel_with_a_ridge_is_logistic_regression_on_kernel_values() -> None:
    X, y = blobs(60, 3)
    model = KernelSDGMClassifier(1, gamma=1.0, prior="ridge", preset="paper").fit(X, y)
    Phi = np.column_stack([np.ones(len(X)), (X @ X.T + 1.0) ** 2])
    expected = logistic_regression(Phi, y, 1.0)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("prior", ["ard", "ridge"])
def test_the_paper_preset_has_the_kernel_of_the_paper_whatever_the_prior(prior: str) -> None:
    X, y = blobs()
    model = KernelSDGMClassifier(1, prior=prior, preset="paper").fit(X, y)
    assert model.gamma_ == 1.0


def test_a_root_of_the_kernel_as_features_with_unit_alpha_is_a_gaussian_process() -> None:
    # Two free components with scores of covariance F F' + 1, the 1 from the constant: their
    # difference, all that matters, is a Gaussian process with kernel 2 F F' + 2.
    X, y = blobs(40, 2)
    eigenvalues, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.5))
    F = vectors * np.sqrt(np.maximum(eigenvalues, 0.0) / 2.0)  # (N, N)
    model = ridge(covariance_type="tied", preset="paper").fit(F, y)
    scores = F @ model.coef_.T + model.intercept_
    kernel = RBF(1.0, "fixed") + ConstantKernel(2.0, "fixed")
    peer = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y).base_estimator_
    mode = kernel(X) @ (peer.y_train_ - peer.pi_)
    # scikit-learn's Newton steps end when the evidence gains less than 1e-10
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], mode, atol=1e-4)


def test_gaussians_with_a_shared_covariance_are_linear_discriminant_analysis() -> None:
    X, y = blobs(90, 3)
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)  # exactly this covariance
    w = weights_from_gaussian(lda.means_, lda.covariance_, lda.priors_, "tied")
    logits = features(X, "tied") @ w.T
    P = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    np.testing.assert_allclose(P, lda.predict_proba(X), atol=1e-10)


@both_presets
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_a_converged_ridge_mixture_is_a_fixed_point(preset: str, alpha: float) -> None:
    X, y = two_modes(120)
    model = DiscriminativeGMMClassifier(
        3, alpha=alpha, preset=preset, random_state=0, warm_start=True
    ).fit(X, y)
    assert model.converged_
    before = model.predict_proba(X)
    for _ in range(5):
        model.fit(X, y)  # goes on from where it was
    np.testing.assert_allclose(model.predict_proba(X), before, rtol=0, atol=0.02)


@both_presets
def test_a_ridge_mixture_is_a_maximum_of_its_log_posterior(preset: str) -> None:
    # no small change of the weights raises sum ln P(c_n | x_n) - alpha |w|^2 / 2, pi held
    X, y = two_modes(120)
    model = ridge(2, preset=preset).fit(X, y)
    Phi = features(X, "full")
    W = np.column_stack([model.intercept_, model.coef_])
    log_pi = np.log(model.mixture_weights_)
    own = model.component_class_ == y[:, None]

    def log_posterior(W: FloatArray) -> float:
        logits = Phi @ W.T + log_pi
        log_P = logsumexp(np.where(own, logits, -np.inf), axis=1) - logsumexp(logits, axis=1)
        return float(log_P.sum() - 0.5 * (W**2).sum())

    rng = np.random.default_rng(0)
    here = log_posterior(W)
    gains = [log_posterior(W + 1e-2 * rng.normal(size=W.shape)) - here for _ in range(200)]
    assert max(gains) < 0.05


def test_ard_with_one_linear_component_is_sparse_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    truth = 1.0 / (1.0 + np.exp(-3 * X[:, 2] + 2 * X[:, 5]))
    y = (rng.uniform(size=300) < truth).astype(int)
    model = SDGMClassifier(1, covariance_type="tied", teacher=None).fit(X, y)
    assert {"x3", "x6"} <= set(model.terms_)
    assert len(model.terms_) <= 5
    dense = LogisticRegression(C=np.inf).fit(X, y)
    error, dense_error = (np.abs(m.predict_proba(X)[:, 1] - truth).mean() for m in (model, dense))
    assert error < dense_error


@both_presets
def test_the_named_corners_are_the_estimators_they_stand_for(preset: str) -> None:
    X, y = two_modes()
    with own_warnings_allowed():
        rvm = RVMClassifier(preset=preset).fit(X, y)
        dual = KernelSDGMClassifier(1, kernel="rbf", preset=preset, teacher=None).fit(X, y)
        gmm = DiscriminativeGMMClassifier(2, alpha=0.5, preset=preset, random_state=0).fit(X, y)
        primal = SDGMClassifier(2, prior="ridge", alpha=0.5, preset=preset, random_state=0).fit(
            X, y
        )
    assert (rvm.predict_proba(X) == dual.predict_proba(X)).all()
    assert (gmm.predict_proba(X) == primal.predict_proba(X)).all()
