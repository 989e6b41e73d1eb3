"""Claims about scores as quadratic functions, and about the form that all components share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

pytest.importorskip("matplotlib")

from sdgm import DiscriminativeGMMClassifier, KernelSDGMClassifier, RVMClassifier, SDGMClassifier
from sdgm.core.model.features import monomials
from sdgm.core.model.gaussians import gaussian_from_weights
from sdgm.datasets import make_ripley
from sdgm.estimators.quadratics import quadratic_weights, shared_form
from tests.reference.gaussians import weights_from_gaussian

X, y, _, _ = make_ripley().split()

MODELS = [
    SDGMClassifier(random_state=0),
    SDGMClassifier(3, random_state=0, teacher=None),
    SDGMClassifier(random_state=0, standardize=False, preset="paper"),
    *(
        SDGMClassifier(2, random_state=0, covariance_type=t, teacher=None)
        for t in ("diag", "spherical", "tied")
    ),
    DiscriminativeGMMClassifier(random_state=0),
    KernelSDGMClassifier(3, random_state=0, teacher=None),
    KernelSDGMClassifier(random_state=0, gamma=0.3, coef0=2.0, standardize=False, teacher=None),
    KernelSDGMClassifier(
        random_state=0, kernel="poly", gamma="auto", n_components="auto", teacher=None
    ),
    KernelSDGMClassifier(3, random_state=0, degree=1, teacher=None),
    KernelSDGMClassifier(3, random_state=0, coef0=0.0, teacher=None),
    KernelSDGMClassifier(random_state=0, kernel="linear", teacher=None),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:60])
def test_quadratic_weights_give_the_posteriors_of_the_model_in_the_users_units(model: Any) -> None:
    rows = 7.0 * X + [30.0, -4.0]
    w = quadratic_weights(model.fit(rows, y).model_)
    P_cm = softmax(monomials(2).transform(rows) @ w.T, axis=1)
    np.testing.assert_allclose(P_cm, model.predict_component_proba(rows), atol=1e-7)


def test_other_kernels_are_refused() -> None:
    gram = (X @ X.T + 1.0) ** 2
    precomputed = KernelSDGMClassifier(random_state=0, kernel="precomputed").fit(gram, y)
    for model in RVMClassifier().fit(X, y), precomputed:
        with pytest.raises(ValueError, match=r"not quadratic functions of the inputs; use kernel="):
            quadratic_weights(model.model_)


def moments(w: Any, D: int) -> tuple[Any, Any, Any]:
    """Total mass, mean and covariance of a mixture."""
    mean, covariance, log_share = gaussian_from_weights(w, D)
    share = np.exp(log_share)
    mu = share @ mean
    square = np.einsum("k,kij->ij", share, covariance + mean[:, :, None] * mean[:, None])
    return share.sum(), mu, square - np.outer(mu, mu)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 5))
def test_with_the_shared_form_the_mixture_has_the_moments_of_the_rows(
    seed: int, D: int, K: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, D)) * rng.uniform(0.5, 2.0, size=D) + rng.normal(size=D)
    w = rng.normal(size=(K, 1 + D + D * (D + 1) // 2))  # most are not Gaussians
    total, mean, covariance = moments(w + shared_form(w, rows), D)
    scale = np.abs(np.cov(rows.T, bias=True)).max()
    assert total == pytest.approx(1.0)
    np.testing.assert_allclose(mean, rows.mean(axis=0), atol=1e-5 * np.sqrt(scale))
    expected = np.atleast_2d(np.cov(rows.T, bias=True))
    np.testing.assert_allclose(covariance, expected, atol=1e-5 * scale)


def test_a_mixture_is_recovered_when_a_form_is_taken_from_all_its_components() -> None:
    means = np.array([[-1.0, 0.0], [2.0, 1.0]])
    covariances = np.array([[[0.5, 0.1], [0.1, 0.3]], [[0.2, 0.0], [0.0, 0.9]]])
    w = weights_from_gaussian(means, covariances, [0.3, 0.7])
    # rows with the moments of the mixture
    _, mean, covariance = moments(w, 2)
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    rows = mean + corners @ np.linalg.cholesky(covariance).T
    taken = np.array([3.0, 1.0, -2.0, 5.0, 0.5, -4.0])
    np.testing.assert_allclose(shared_form(w - taken, rows), taken, atol=1e-6)


def test_a_form_that_is_not_found_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdgm.estimators.quadratics.MAX_NEWTON", 1)
    with pytest.raises(ValueError, match=r"found in 1 steps.*use shared='zero'"):
        shared_form(
            quadratic_weights(SDGMClassifier(3, random_state=0, teacher=None).fit(X, y).model_), X
        )


def test_rows_on_a_line_are_refused() -> None:
    with pytest.raises(ValueError, match="the rows lie on a line"):
        shared_form(np.zeros((1, 6)), np.column_stack([np.arange(5.0), np.zeros(5)]))
