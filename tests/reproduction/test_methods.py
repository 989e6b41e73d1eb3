"""Claims about the rows of Table 1: set up as their notes say, on training rows alone."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from reproduction.methods import METHODS, RBF_FACTORS, SDGM_GAMMAS, Situation
from sdgm import KernelSDGMClassifier, RVMClassifier
from sdgm._typing import FloatArray
from sdgm.datasets import make_ripley

X, Y, X_TEST, _ = make_ripley(n_train=60, n_test=40).split()
QUICK = Situation(n_features=2, seed=0, quick=True)
STANDARDISED = ("gp", "mgp", "rvm", "gmm", "svm", "logistic")

every_method = pytest.mark.parametrize("method", METHODS)


def fitted_to(method: str, rows: FloatArray, y: Any = Y) -> Any:
    with warnings.catch_warnings():  # as in the cells of an experiment
        warnings.simplefilter("ignore")
        return METHODS[method].make(QUICK).fit(rows, y)


@cache
def fitted(method: str) -> Any:
    return fitted_to(method, X)


@every_method
def test_predictions_of_a_row_do_not_depend_on_the_other_test_rows(method: str) -> None:
    model = fitted(method)
    half = X_TEST[::2]
    np.testing.assert_allclose(
        model.predict_proba(half), model.predict_proba(X_TEST)[::2], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(model.predict(half), model.predict(X_TEST)[::2])


@every_method
def test_the_same_rows_and_the_same_seed_give_the_same_model(method: str) -> None:
    again = fitted_to(method, X)
    np.testing.assert_array_equal(again.predict_proba(X_TEST), fitted(method).predict_proba(X_TEST))


@pytest.mark.parametrize("method", STANDARDISED)
def test_methods_with_standardised_inputs_do_not_depend_on_units(method: str) -> None:
    def in_other_units(rows: FloatArray) -> FloatArray:
        return rows * [1000.0, 0.01] + [5.0, -3.0]

    P = fitted_to(method, in_other_units(X)).predict_proba(in_other_units(X_TEST))
    np.testing.assert_allclose(P, fitted(method).predict_proba(X_TEST), atol=1e-4)


def test_sdgm_as_published_has_the_plain_quadratic_kernel_on_inputs_as_they_are() -> None:
    plain = KernelSDGMClassifier(
        3,
        kernel="poly",
        degree=2,
        gamma=1.0,
        coef0=1.0,
        standardize=False,
        preset="paper",
        random_state=0,
    ).fit(X, Y)
    P = fitted("sdgm-published").predict_proba(X_TEST)
    np.testing.assert_array_equal(P, plain.predict_proba(X_TEST))


@pytest.mark.parametrize(
    ("method", "model", "gammas"),
    [
        (
            "sdgm",
            KernelSDGMClassifier(3, standardize=False, random_state=0, teacher=None),
            SDGM_GAMMAS,
        ),
        ("rvm", RVMClassifier(), [factor / 2 for factor in RBF_FACTORS]),
    ],
)
def test_the_scale_is_that_of_the_lowest_cross_validated_log_loss(
    method: str, model: Any, gammas: list[float]
) -> None:
    tried = QUICK.grid(gammas)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = [
            cross_val_score(
                model.set_params(gamma=gamma), X, Y, cv=QUICK.folds, scoring="neg_log_loss"
            ).mean()
            for gamma in tried
        ]
    assert max(score) > min(score)
    assert fitted(method).best_params_ == {"gamma": tried[int(np.argmax(score))]}


def test_the_penalty_of_the_logistic_regression_is_chosen_by_log_loss() -> None:
    rows = StandardScaler().fit_transform(X)
    score = {
        C: cross_val_score(
            LogisticRegression(C=C), rows, Y, cv=QUICK.folds, scoring="neg_log_loss"
        ).mean()
        for C in QUICK.grid((0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0))
    }
    assert fitted("logistic")[-1].best_params_["C"] == max(score, key=lambda C: score[C])


def test_weights_are_counted_as_the_paper_counts_them() -> None:
    N, D, K = len(X), 2, 6
    n_weights = {name: method.n_weights(fitted(name), N) for name, method in METHODS.items()}
    assert n_weights["gp"] == (N, N)
    assert n_weights["mgp"] == ((K - 1) * N,) * 2
    assert n_weights["logistic"] == (D + 1, D + 1)
    assert n_weights["svm"] == (N, len(fitted("svm")[-1]._svm.support_))
    # with the constant: one component is pinned in the preset paper, none in fast
    assert n_weights["sdgm-published"][0] == (K - 1) * (N + 1)
    assert n_weights["sdgm"][0] == K * (N + 1)
    assert n_weights["rvm"][0] == 2 * (N + 1)
    for name in ("sdgm", "sdgm-published", "rvm"):
        model = getattr(fitted(name), "best_estimator_", fitted(name))
        nonzero = np.count_nonzero(model.coef_) + np.count_nonzero(model.intercept_)
        assert 0 < nonzero == n_weights[name][1] < n_weights[name][0]


def test_a_quick_run_tries_some_of_the_values_in_fewer_folds() -> None:
    full = Situation(2, 0, quick=False)
    assert full.grid(SDGM_GAMMAS) == list(SDGM_GAMMAS)
    assert 2 <= len(QUICK.grid(SDGM_GAMMAS)) < len(SDGM_GAMMAS)
    assert set(QUICK.grid(SDGM_GAMMAS)) < set(SDGM_GAMMAS)
    assert (QUICK.folds.n_splits, full.folds.n_splits) == (3, 5)


def test_folds_are_drawn_anew_for_another_seed_and_kept_for_the_same() -> None:
    def folds(seed: int) -> list[list[int]]:
        splitter = Situation(2, seed, quick=True).folds
        return [test.tolist() for _, test in splitter.split(X, Y)]

    assert folds(0) == folds(0) != folds(1)


def test_the_page_can_tell_the_rows_apart_and_says_which_scales_are_tried() -> None:
    assert len({method.title for method in METHODS.values()}) == len(METHODS) == 9
    for method in METHODS.values():
        assert "|" not in method.title + method.note
        assert not method.note.endswith(".")  # the page adds it
    assert METHODS["sdgm"].note.endswith("over 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3")
