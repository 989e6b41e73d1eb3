"""Claims about Gaussian mixtures per class from labelled and unlabelled rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.mixtures.clusters import SHAPES
from sdgm.core.model.features import CovarianceType
from sdgm.semi_supervised.hybrid import fitted_hybrid, hybrid_models, left_out, tempered

every_shape = pytest.mark.parametrize("shape", SHAPES)


def clouds(
    n_labelled: int, N: int = 200, distance: float = 3.0, seed: int = 0
) -> tuple[FloatArray, IntArray, FloatArray, BoolArray]:
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    X = rng.normal(size=(N, 2)) + distance * y[:, None]
    return X, y, np.ones(N), np.arange(N) < n_labelled


@every_shape
def test_unlabelled_rows_say_where_the_classes_are(shape: CovarianceType) -> None:
    X, y, s, labelled = clouds(4)
    P_c = fitted_hybrid(X, y, s, labelled, 1, shape).P_c
    assert np.mean(P_c.argmax(axis=1) != y) < 0.05
    np.testing.assert_allclose(P_c.sum(axis=1), 1.0)


def test_with_all_labels_and_one_covariance_it_is_linear_discriminant_analysis() -> None:
    X, y, s, _ = clouds(0, distance=1.0)
    fit = fitted_hybrid(X, y, s, np.ones(len(y), dtype=bool), 1, CovarianceType.TIED)
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(fit.P_c, expected, atol=0.01)


def test_labels_of_unlabelled_rows_are_not_looked_at() -> None:
    X, y, s, labelled = clouds(10)
    wrong = np.where(labelled, y, 1 - y)
    for one, other in zip(
        hybrid_models(X, y, s, labelled), hybrid_models(X, wrong, s, labelled), strict=True
    ):
        np.testing.assert_array_equal(one.P, other.P)
        np.testing.assert_array_equal(one.P_left_out, other.P_left_out)


def test_two_components_are_chosen_where_classes_have_two_modes() -> None:
    rng = np.random.default_rng(0)
    corner = rng.integers(2, size=(400, 2))
    X, y = 4.0 * corner + 0.5 * rng.normal(size=(400, 2)), corner.sum(axis=1) % 2
    labelled = np.arange(400) < 40
    models = {model.shape: model for model in hybrid_models(X, y, np.ones(400), labelled)}
    full = models[CovarianceType.FULL]
    assert full.n_components == 2
    assert np.mean(full.P.argmax(axis=1) != y) < 0.02
    assert log_loss(y[labelled], full.P_left_out) < 0.2


def test_the_loss_is_small_where_clusters_are_classes_and_large_where_not() -> None:
    X, y, s, labelled = clouds(40, distance=5.0)
    across = (X[:, 0] - X[:, 1] > 0).astype(int)
    good = left_out(X, y, s, labelled, 1, CovarianceType.TIED)
    bad = left_out(X, across, s, labelled, 1, CovarianceType.TIED)
    assert log_loss(y[labelled], good) < 0.1 < log_loss(across[labelled], bad)


def test_of_a_class_nothing_is_known_without_its_only_label() -> None:
    X, y, s, labelled = clouds(3)  # of classes 0, 1, 0
    P = left_out(X, y, s, labelled, 1, CovarianceType.TIED)
    np.testing.assert_array_equal(P[1], [0.5, 0.5])
    assert P[0, 0] > 0.6 and P[2, 0] > 0.6


@every_shape
def test_weights_are_repetition(shape: CovarianceType) -> None:
    X, y, _, labelled = clouds(12, N=60)
    n = np.random.default_rng(0).integers(1, 4, size=60)
    weighted = fitted_hybrid(X, y, n.astype(float), labelled, 1, shape)
    twice = (a.repeat(n, axis=0) for a in (X, y, np.ones(60), labelled))
    repeated = fitted_hybrid(*twice, 1, shape)
    np.testing.assert_allclose(weighted.P_c.repeat(n, axis=0), repeated.P_c, atol=1e-8)
    assert weighted.bic == pytest.approx(repeated.bic)


@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 500))
@settings(deadline=None, max_examples=8)
def test_posteriors_are_proper_on_odd_rows(D: int, C: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy(size=(50, D)).round(1)
    X /= np.abs(X).max() + 1.0
    y, labelled = rng.integers(C, size=50), rng.random(50) < 0.4
    y[: 2 * C], labelled[: 2 * C] = np.tile(np.arange(C), 2), True
    for model in hybrid_models(X, y, np.ones(50), labelled):
        for P in model.P, model.P_left_out:
            assert (P > 0.0).all()
            np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_few_labels_leave_doubt() -> None:
    sure = np.array([[1.0, 0.0]])
    np.testing.assert_allclose(tempered(sure, 8.0), [[0.95, 0.05]])
    assert tempered(sure, 1e9)[0, 1] < 1e-8
