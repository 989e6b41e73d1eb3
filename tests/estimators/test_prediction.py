"""Prediction: proper probabilities that agree with each other, block by block and far away."""

from __future__ import annotations

import copy
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm._typing import FloatArray
from sdgm.core.model import fitted_model
from tests.estimators.problems import assert_proper, blobs, every_estimator, two_modes
from tests.fitted import set_covariance, set_weights

X, y = two_modes(100)
X_new = two_modes(50, seed=1)[0]
X3, y3 = blobs(120, 3)

MODELS = {
    "primal": lambda: SDGMClassifier(2, random_state=0, teacher=None).fit(X, y),
    "dual": lambda: KernelSDGMClassifier(2, random_state=0, teacher=None).fit(X, y),
    "rvm": lambda: RVMClassifier().fit(X, y),
    "ridge": lambda: DiscriminativeGMMClassifier(2, random_state=0).fit(X, y),
    "pinned": lambda: SDGMClassifier(2, preset="paper", random_state=0).fit(X, y),
    "three classes": lambda: SDGMClassifier(2, random_state=0, teacher=None).fit(X3, y3),
}


@cache
def fitted(name: str) -> Any:
    """A model, fitted when it is first asked for and never changed."""
    return MODELS[name]()


@pytest.fixture(scope="module", params=list(MODELS))
def model(request: pytest.FixtureRequest) -> Any:
    return fitted(request.param)


def test_the_kinds_of_probability_agree(model: Any) -> None:
    assert_proper(model, X_new)
    P = model.predict_proba(X_new)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X_new)), P, rtol=1e-12)
    P_cm = model.predict_component_proba(X_new)
    assert P_cm.shape == (len(X_new), model.n_components_.sum())
    for c in range(len(model.classes_)):
        own = P_cm[:, model.component_class_ == c].sum(axis=1)
        np.testing.assert_allclose(own, P[:, c], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["primal", "ridge", "three classes"])
def test_probabilities_are_the_softmax_of_the_weighted_terms(name: str) -> None:
    model = fitted(name)
    Z = (X_new - model.model_.scaler.center) * model.model_.scaler.inverse_scale
    values = {"x1": Z[:, 0], "x2": Z[:, 1]}
    values |= {"x1^2": values["x1"] ** 2, "x2^2": values["x2"] ** 2}
    values["x1*x2"] = values["x1"] * values["x2"]
    Phi = np.column_stack([values[term] for term in model.terms_])
    logits = Phi @ model.coef_.T + model.intercept_ + np.log(model.mixture_weights_)
    P_cm = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_component_proba(X_new), P_cm, rtol=1e-9, atol=1e-12)


def test_probabilities_of_the_dual_form_come_from_the_relevance_vectors_alone() -> None:
    model = fitted("dual")
    Z, R = (
        (rows - model.model_.scaler.center) * model.model_.scaler.inverse_scale
        for rows in (X_new, model.relevance_vectors_)
    )
    K = (model.gamma_ * Z @ R.T + 1.0) ** 2
    logits = K @ model.coef_.T + model.intercept_ + np.log(model.mixture_weights_)
    P_cm = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_component_proba(X_new), P_cm, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("numbers", [1, 300, 10**9])
def test_blocks_do_not_matter(model: Any, numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(1000, 2))
    methods = ("predict_proba", "predict_log_proba", "predict_component_proba", "predict")
    whole = [getattr(model, method)(rows) for method in methods]
    averaged = model.predict_proba_averaged(rows, return_std=True)
    monkeypatch.setattr(fitted_model, "PREDICT_NUMBERS", numbers)
    for method, expected in zip(methods, whole, strict=True):
        values = getattr(model, method)(rows)
        if method == "predict":
            np.testing.assert_array_equal(values, expected)
        else:
            np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
    for values, expected in zip(
        model.predict_proba_averaged(rows, return_std=True), averaged, strict=True
    ):
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)


def test_one_row_is_predicted_as_among_many(model: Any) -> None:
    P = model.predict_proba(X_new)
    for n in (0, 17):
        np.testing.assert_allclose(model.predict_proba(X_new[n : n + 1])[0], P[n], rtol=1e-10)


# --- averaged over the posterior ---


def test_averaged_probabilities_are_proper(model: Any) -> None:
    mean, std = model.predict_proba_averaged(X_new, return_std=True)
    assert (mean >= 0).all() and (std >= 0).all()
    np.testing.assert_allclose(mean.sum(axis=1), 1.0)
    assert (std**2 <= mean * (1 - mean) + 1e-12).all()  # the largest that probabilities can have
    np.testing.assert_array_equal(model.predict_proba_averaged(X_new), mean)
    if len(model.classes_) == 2:
        np.testing.assert_allclose(std[:, 0], std[:, 1], rtol=1e-9)


def test_without_covariance_the_average_is_the_map_value(model: Any) -> None:
    certain = copy.deepcopy(model)
    set_covariance(certain, np.zeros_like(model.covariance_))
    mean, std = certain.predict_proba_averaged(X_new, return_std=True)
    np.testing.assert_allclose(mean, model.predict_proba(X_new), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(std, 0.0)


def test_averages_are_those_of_many_draws(model: Any) -> None:
    w = np.concatenate([model.intercept_[:, None], model.coef_], axis=1)
    assert model.covariance_.shape == (model.n_active_weights_,) * 2
    np.testing.assert_allclose(model.covariance_, model.covariance_.T, atol=1e-9)
    rng = np.random.default_rng(1)
    rows = X_new[:10]
    Phi = model.model_.basis.transform(model.model_.scaler.standardized(rows))
    draws = np.repeat(w[None], 20_000, axis=0)
    draws[:, w != 0] = rng.multivariate_normal(w[w != 0], model.covariance_, size=20_000)
    logits = draws[:, :, 1:] @ Phi.T + draws[:, :, :1] + np.log(model.mixture_weights_)[:, None]
    P_cm = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))  # (S, K, N)
    P_c = np.stack(
        [P_cm[:, model.component_class_ == c].sum(axis=1) for c in range(len(model.classes_))],
        axis=-1,
    )
    mean, std = model.predict_proba_averaged(rows, return_std=True)
    np.testing.assert_allclose(mean, P_c.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(std, P_c.std(axis=0), atol=0.05)


@pytest.mark.parametrize("name", ["primal", "dual", "three classes"])
def test_deviations_keep_their_digits_where_a_class_is_all_but_certain(name: str) -> None:
    model = copy.deepcopy(fitted(name))
    set_weights(model, 40.0 * model.coef_, 40.0 * model.intercept_)
    rows = (X3 if name == "three classes" else X_new)[:4]
    mean, std = model.predict_proba_averaged(rows, return_std=True)
    # here mean(P^2) - mean(P)^2 would have no digits left
    assert ((mean > 1.0 - 1e-15) & (std > 0.0)).any()
    Phi = model.model_.basis.transform(model.model_.scaler.standardized(rows))
    draws = model.model_.posterior_draws()
    logits = draws[:, :, 1:] @ Phi.T + draws[:, :, :1] + np.log(model.mixture_weights_)[:, None]
    for n, c in np.ndindex(mean.shape):
        slow_mean, slow_rest, slow_std = slow_moments(logits[:, :, n], model.component_class_ == c)
        assert mean[n, c] == pytest.approx(slow_mean, rel=1e-9, abs=1e-300)
        rounding = 1e-10 * min(slow_mean, slow_rest)  # of the scores
        assert std[n, c] == pytest.approx(slow_std, rel=1e-6, abs=rounding)


def slow_moments(logits: FloatArray, own: Any) -> tuple[float, float, float]:
    """Mean P, mean 1 - P and deviation of a class over draws (S, K), with 100 decimal digits."""
    with localcontext() as context:
        context.prec = 100
        values = []
        for draw in logits:
            terms = [Decimal(float(value)).exp() for value in draw]
            values.append(sum(t for t, o in zip(terms, own, strict=True) if o) / sum(terms))
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        return float(mean), float(1 - mean), float(variance.sqrt())


def test_the_covariance_is_the_inverse_of_the_negative_hessian() -> None:
    # one component, so that the complete and the observed information are one
    model = DiscriminativeGMMClassifier(
        1, covariance_type="tied", alpha=2.0, preset="paper", standardize=False
    ).fit(X3, y3)
    Phi = np.column_stack([np.ones(len(X3)), X3])
    w = np.column_stack([model.intercept_, model.coef_])
    logits = Phi @ w.T
    P = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    precision = 2.0 * np.eye(w.size)
    for phi, p in zip(Phi, P, strict=True):
        precision += np.kron(np.diag(p) - np.outer(p, p), np.outer(phi, phi))
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(precision), rtol=1e-5, atol=1e-9)


def test_the_covariance_is_in_the_units_of_the_weights() -> None:
    # scaling of columns inside the fit must not leak out: twice the kernel, half the weights
    K = (X @ X.T + 1.0) ** 2
    a = KernelSDGMClassifier(1, kernel="precomputed").fit(K, y)
    b = KernelSDGMClassifier(1, kernel="precomputed").fit(1024.0 * K, y)
    np.testing.assert_allclose(a.coef_, 1024.0 * b.coef_, rtol=1e-5)
    for P, Q in zip(
        a.predict_proba_averaged(K, return_std=True),
        b.predict_proba_averaged(1024.0 * K, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(P, Q, rtol=0, atol=1e-5)


@every_estimator
def test_averaging_on_request_everywhere(estimator: Any) -> None:
    model = estimator(predictive="averaged", random_state=0).fit(X, y)
    assert_proper(model, X_new)
    np.testing.assert_array_equal(model.predict_proba(X_new), model.predict_proba_averaged(X_new))
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(X_new)), model.predict_proba(X_new), rtol=1e-12
    )
    assert model.score(X, y) > 0.8
    # the switch needs no new fit
    model.set_params(predictive="map")
    plain = estimator(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X_new), plain.predict_proba(X_new))


@every_estimator
def test_an_unknown_predictive_is_refused_at_prediction_too(estimator: Any) -> None:
    model = estimator(random_state=0).fit(X, y).set_params(predictive="mean")
    with pytest.raises(ValueError, match="'map', 'averaged'"):
        model.predict_proba(X)


def test_averaging_is_less_sure_far_from_the_data() -> None:
    model = fitted("rvm")
    mean, _ = fitted("primal").predict_proba_averaged(10 * X_new, return_std=True)
    P = fitted("primal").predict_proba(10 * X_new)
    assert np.abs(mean - 0.5).mean() < np.abs(P - 0.5).mean() + 1e-9
    # kernels that vanish leave the class prior
    far = model.predict_proba(np.full((1, 2), 1e3))
    assert far.max() < 1.0


def test_no_average_without_a_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sdgm.estimators.fitting.SMALL_NUMBERS", 0
    )  # small ones are not asked about
    monkeypatch.setattr("sdgm.scale.memory.MAX_COVARIANCE", 1)
    model = DiscriminativeGMMClassifier(2, random_state=0).fit(X, y)
    assert model.covariance_ is None
    with pytest.raises(ValueError, match=r"has no covariance of its \d+ weights.*map"):
        model.predict_proba_averaged(X)
    assert_proper(model, X)


# --- far away ---


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rows=st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=5))
def test_rows_far_away_have_proper_probabilities(
    model: Any, rows: list[tuple[float, float]]
) -> None:
    far = np.array(rows) * X.std(axis=0)
    assert_proper(model, far)
    log_P = model.predict_log_proba(far)
    assert np.isfinite(log_P).all() and (log_P <= 1e-12).all()
    P_cm = model.predict_component_proba(far)
    assert np.isfinite(P_cm).all()
    np.testing.assert_allclose(P_cm.sum(axis=1), 1.0, rtol=0, atol=1e-10)
    mean, std = model.predict_proba_averaged(far, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all()
    np.testing.assert_allclose(mean.sum(axis=1), 1.0, rtol=0, atol=1e-10)


def test_equal_scores_far_away_still_sum_to_one() -> None:
    # two components whose scores are equal and huge, as happens far outside on an axis of symmetry
    model = DiscriminativeGMMClassifier(1, covariance_type="tied", standardize=False).fit(X, y)
    set_weights(model, np.array([[1.0, 0.0], [1.0, 0.0]]))
    rows: FloatArray = np.array([[1e6, 0.0], [1e12, 0.0], [1e15, 0.0], [-1e15, 1.0]])
    P = model.predict_proba(rows)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_prediction_touches_surviving_columns_only() -> None:
    wide = np.random.default_rng(0).normal(size=(200, 10))
    label = (wide[:, 3] * wide[:, 7] + 0.3 * wide[:, 2] > 0).astype(int)
    model = SDGMClassifier(1, teacher=None).fit(wide, label)
    assert len(model.model_.basis.first) == len(model.terms_) == model.coef_.shape[1] < 30
    assert (model.coef_ != 0).any(axis=0).all()
