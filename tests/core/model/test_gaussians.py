"""Claims about Gaussians collapsed into weights and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.mixture import GaussianMixture

from sdgm._typing import FloatArray
from sdgm.core.model.features import CovarianceType, monomials, n_monomials
from sdgm.core.model.gaussians import gaussian_from_weights, is_gaussian
from tests.reference.gaussians import weights_from_gaussian


def random_gaussians(K: int, D: int, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means (K, D), covariances (K, D, D) and mixture weights (K,)."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(K, D, D))
    covariances = factor @ np.swapaxes(factor, 1, 2) + 0.3 * np.eye(D)
    return rng.normal(size=(K, D)), covariances, rng.dirichlet(np.ones(K))


def test_collapse_formula_is_that_of_the_paper_in_the_plane() -> None:
    mu, Sigma = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    s = np.linalg.inv(Sigma)
    expected = [
        -np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(Sigma)) - 0.5 * mu @ s @ mu,
        s[0] @ mu,
        s[1] @ mu,
        -0.5 * s[0, 0],
        -s[0, 1],
        -0.5 * s[1, 1],
    ]
    np.testing.assert_allclose(weights_from_gaussian(mu, Sigma), expected, rtol=1e-13)


@pytest.mark.parametrize("D", [1, 2, 5])
def test_softmax_of_collapsed_gaussians_is_bayes_rule(D: int) -> None:
    means, covariances, pi = random_gaussians(4, D)
    X = 3 * np.random.default_rng(1).normal(size=(50, D))
    w = weights_from_gaussian(means, covariances, pi)
    assert w.shape == (4, n_monomials(D))
    log_joint = np.column_stack(
        [
            np.log(p) + multivariate_normal(mean, covariance).logpdf(X)
            for mean, covariance, p in zip(means, covariances, pi, strict=True)
        ]
    )
    scores = monomials(D).transform(X) @ w.T
    np.testing.assert_allclose(scores, log_joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(softmax(scores, axis=1), softmax(log_joint, axis=1), atol=1e-9)


def test_mixture_weight_only_moves_the_constant() -> None:
    mean, covariance, _ = random_gaussians(1, 3)
    moved = weights_from_gaussian(mean, covariance, 0.25) - weights_from_gaussian(mean, covariance)
    np.testing.assert_allclose(moved, np.log(0.25) * np.eye(1, n_monomials(3)))


@pytest.mark.parametrize("covariance_type", CovarianceType)
def test_every_covariance_type_takes_the_layout_of_gaussian_mixture(
    covariance_type: CovarianceType,
) -> None:
    X = np.random.default_rng(2).normal(size=(200, 3)) * [1.0, 2.0, 0.5] + 1.0
    mixture = GaussianMixture(3, covariance_type=covariance_type, random_state=0, tol=1e-1).fit(X)
    w = weights_from_gaussian(
        mixture.means_, mixture.covariances_, mixture.weights_, covariance_type
    )
    scores = monomials(3, covariance_type).transform(X) @ w.T
    np.testing.assert_allclose(softmax(scores, axis=1), mixture.predict_proba(X), atol=1e-9)
    if covariance_type != CovarianceType.TIED:  # there the shared quadratic term is left out
        np.testing.assert_allclose(logsumexp(scores, axis=1), mixture.score_samples(X))


def test_shared_covariance_collapses_to_the_posterior_of_lda() -> None:
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [30, 50, 20])
    X = rng.normal(size=(100, 2)) @ [[1.0, 0.4], [0.0, 0.8]] + y[:, None]
    lda = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(X, y)
    w = weights_from_gaussian(lda.means_, lda.covariance_, lda.priors_, "tied")
    scores = monomials(2, "tied").transform(X) @ w.T
    np.testing.assert_allclose(softmax(scores, axis=1), lda.predict_proba(X), atol=1e-10)


def test_tied_weights_are_the_full_ones_without_the_quadratic_term() -> None:
    """The constant carries -D/2 ln 2 pi - 1/2 ln |Sigma|; Appendix A flips these two signs."""
    means, covariances, pi = random_gaussians(4, 3)
    full = weights_from_gaussian(means, covariances[:1], pi)
    tied = weights_from_gaussian(means, covariances[0], pi, "tied")
    np.testing.assert_allclose(tied, full[:, :4])


@settings(deadline=None)
@given(K=st.integers(1, 4), D=st.integers(1, 6), seed=st.integers(0, 1000))
def test_gaussians_survive_the_round_trip(K: int, D: int, seed: int) -> None:
    means, covariances, pi = random_gaussians(K, D, seed)
    w = weights_from_gaussian(means, covariances, pi)
    assert is_gaussian(w, D).all()
    mean, covariance, log_scale = gaussian_from_weights(w, D)
    np.testing.assert_allclose(mean, means, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(covariance, covariances, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(np.exp(log_scale), pi, rtol=1e-8)


def test_one_gaussian_needs_no_component_axis() -> None:
    mean, covariance, log_scale = gaussian_from_weights([0.0, 2.0, -1.0], 1)
    np.testing.assert_allclose(mean, [1.0])
    np.testing.assert_allclose(covariance, [[0.5]])
    # exp(2x - x^2) = e exp(-(x - 1)^2), whose integral is e sqrt(pi)
    assert log_scale == pytest.approx(1.0 + 0.5 * np.log(np.pi))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_units_do_not_decide_what_is_a_gaussian(scale: float) -> None:
    means, covariances, _ = random_gaussians(1, 3)
    units = np.array([1.0, scale, 1.0])
    stretched = covariances * units[:, None] * units
    w = weights_from_gaussian(means * units, stretched)
    assert is_gaussian(w, 3).all()
    np.testing.assert_allclose(gaussian_from_weights(w, 3).covariance, stretched, rtol=1e-9)


@pytest.mark.parametrize(
    "w",
    [
        [0, 0, 0, -1, 0, 1],  # saddle
        [0, 0, 0, -1, 0, 0],  # x2 pruned from the quadratic form
        [0, 0, 0, -1, -2, -1],  # -(x1 + x2)^2: flat along x1 = -x2
        [0, 0, 0, -1, 3, -1],  # saddle by the cross term
        [0, 1, 1, 0, 0, 0],  # linear
    ],
)
def test_quadratic_form_that_is_not_negative_definite_has_no_gaussian(w: list[float]) -> None:
    assert not is_gaussian(w, 2)
    good: list[float] = [0, 0, 0, -1, 0, -1]
    np.testing.assert_array_equal(is_gaussian([good, w], 2), [True, False])
    with pytest.raises(ValueError, match="1 of 2 weight vectors is not negative definite"):
        gaussian_from_weights([good, w], 2)


def test_pruned_weight_vectors_are_told_to_be_filled_with_zeros() -> None:
    with pytest.raises(ValueError, match=r"5 weights, but .* 2 variables are 6; put zeros"):
        gaussian_from_weights(np.zeros(5), 2)


def test_covariances_that_are_not_positive_definite_are_refused() -> None:
    with pytest.raises(ValueError, match="covariance is not positive definite"):
        weights_from_gaussian(np.zeros(2), [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"Variances must be positive, got -1\.0"):
        weights_from_gaussian(np.zeros(2), [1.0, -1.0], covariance_type="diag")
    with pytest.raises(ValueError, match="Variances must be positive"):
        weights_from_gaussian(np.zeros((1, 2)), [0.0], covariance_type="spherical")
