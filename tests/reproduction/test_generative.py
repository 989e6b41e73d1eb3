"""Claims about the Gaussian mixtures per class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import estimator_checks_generator

from reproduction.generative import (
    COVARIANCE_TYPES,
    VARIANCE_FLOOR,
    GaussianMixtureBayesClassifier,
)
from sdgm.datasets import make_ripley
from tests.estimators.problems import own_warnings_allowed

X, Y, X_TEST, Y_TEST = make_ripley().split()


def check_name(value: Any) -> str:
    return getattr(getattr(value, "func", value), "__name__", type(value).__name__)


# scikit-learn's mixtures start from k-means, which takes numpy arrays only
CHECKS = [
    (estimator, check)
    for estimator, check in estimator_checks_generator(
        GaussianMixtureBayesClassifier(max_components=2, n_init=1)
    )
    if "array_api" not in str(check)
]


@pytest.fixture(scope="module")
def model() -> GaussianMixtureBayesClassifier:
    return GaussianMixtureBayesClassifier(random_state=0).fit(X, Y)


def covariance(mixture: GaussianMixture, m: int) -> Any:
    """The covariance of a component, whatever the type."""
    D = mixture.means_.shape[1]
    match mixture.covariance_type:
        case "full":
            return mixture.covariances_[m]
        case "tied":
            return mixture.covariances_
        case "diag":
            return np.diag(mixture.covariances_[m])
        case _:
            return mixture.covariances_[m] * np.eye(D)


def density(mixture: GaussianMixture, x: Any) -> float:
    return sum(
        mixture.weights_[m] * multivariate_normal(mixture.means_[m], covariance(mixture, m)).pdf(x)
        for m in range(mixture.n_components)
    )


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=check_name)
def test_passes_the_battery(estimator: BaseEstimator, check: Any) -> None:
    with own_warnings_allowed():
        check(estimator)


def test_finds_the_two_components_of_each_class(model: GaussianMixtureBayesClassifier) -> None:
    assert [mixture.n_components for mixture in model.mixtures_] == [2, 2]


def test_the_posterior_is_bayes_rule_by_hand_with_classes_of_unequal_size() -> None:
    some = np.r_[np.flatnonzero(Y == 0)[::3], np.flatnonzero(Y == 1)]
    model = GaussianMixtureBayesClassifier(3, n_init=1, random_state=0).fit(X[some], Y[some])
    share = [np.mean(Y[some] == c) for c in (0, 1)]
    assert share[0] < 0.3
    np.testing.assert_allclose(model.class_prior_, share)
    rows = X_TEST[::50]
    joint = np.array([[share[c] * density(model.mixtures_[c], x) for c in (0, 1)] for x in rows])
    expected = joint / joint.sum(axis=1, keepdims=True)  # (N, C)
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(rows), joint.argmax(axis=1))


@pytest.mark.parametrize("c", [0, 1])
def test_no_other_mixture_of_a_class_has_a_lower_bic(
    model: GaussianMixtureBayesClassifier, c: int
) -> None:
    rows = X[c == Y]
    lowest = min(
        GaussianMixture(n, covariance_type=kind, n_init=3, reg_covar=VARIANCE_FLOOR, random_state=0)
        .fit(rows)
        .bic(rows)
        for kind in COVARIANCE_TYPES
        for n in range(1, 7)
    )
    assert model.mixtures_[c].bic(rows) == pytest.approx(lowest)


def test_parameters_are_counted_as_stored(model: GaussianMixtureBayesClassifier) -> None:
    D = 2
    stored = {"full": D * (D + 1) // 2, "diag": D, "spherical": 1, "tied": 0}
    total = 0
    for mixture in model.mixtures_:
        M, kind = mixture.n_components, mixture.covariance_type
        shared = D * (D + 1) // 2 if kind == "tied" else 0
        total += M * (D + stored[kind]) + shared + M - 1
    assert model.n_parameters_ == total


@settings(max_examples=20, deadline=None)
@given(names=st.lists(st.text("abc", min_size=1), min_size=2, max_size=4, unique=True))
def test_labels_of_any_kind_come_back(names: list[str]) -> None:
    rng = np.random.RandomState(0)
    codes = np.arange(10 * len(names)) % len(names)
    rows = rng.normal(size=(len(codes), 2)) + 20.0 * codes[:, None]
    y = np.array(names)[codes]
    model = GaussianMixtureBayesClassifier(1, n_init=1, random_state=0).fit(rows, y)
    assert model.classes_.tolist() == sorted(names)
    np.testing.assert_array_equal(model.predict(rows), y)
    P = model.predict_proba(rows)
    assert P.shape == (len(rows), len(names))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_repeated_rows_do_not_break_it() -> None:
    rows = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 10, axis=0)
    y = (rows[:, 0] > 0.5).astype(int)
    model = GaussianMixtureBayesClassifier(n_init=1, random_state=0).fit(rows, y)
    assert np.isfinite(model.predict_proba(rows)).all()
    np.testing.assert_array_equal(model.predict(rows), y)
    assert max(mixture.n_components for mixture in model.mixtures_) <= 2  # distinct rows


def test_one_class_is_refused_with_its_name() -> None:
    with pytest.raises(ValueError, match=r"y has one class only, 'a'\."):
        GaussianMixtureBayesClassifier().fit(X, np.full(len(X), "a"))


def test_a_class_of_one_row_is_refused() -> None:
    with pytest.raises(ValueError, match="one row only"):
        GaussianMixtureBayesClassifier(2, n_init=1).fit(X[:5], [0, 1, 1, 1, 1])
