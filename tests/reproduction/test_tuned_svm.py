"""Claims about the tuned support vector machine."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from reproduction.tuned_svm import TunedSVMClassifier
from sdgm.datasets import make_ripley

X, Y, X_TEST, Y_TEST = make_ripley(n_train=100, n_test=200).split()
COSTS, GAMMAS = [0.1, 1.0, 10.0], [0.3, 3.0, 30.0]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def model() -> TunedSVMClassifier:
    return TunedSVMClassifier(costs=COSTS, gammas=GAMMAS, cv=FOLDS).fit(X, Y)


def test_cost_and_width_are_those_of_the_lowest_cross_validated_error(
    model: TunedSVMClassifier,
) -> None:
    accuracy = {
        (C, gamma): cross_val_score(SVC(C=C, gamma=gamma), X, Y, cv=FOLDS).mean()
        for C in COSTS
        for gamma in GAMMAS
    }
    chosen = accuracy[model.best_params_["C"], model.best_params_["gamma"]]
    assert chosen == max(accuracy.values()) > min(accuracy.values())


def test_labels_are_those_of_the_best_machine_fitted_to_all_rows(model: TunedSVMClassifier) -> None:
    best = SVC(**model.best_params_).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_TEST), best.predict(X_TEST))
    assert model.n_support_vectors_ == len(best.support_vectors_) < len(X)


def test_probabilities_sum_to_one_and_follow_the_decision_function(
    model: TunedSVMClassifier,
) -> None:
    P = model.predict_proba(X_TEST)
    assert P.shape == (len(X_TEST), 2) and (P >= 0.0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    decision = SVC(**model.best_params_).fit(X, Y).decision_function(X_TEST)
    # Platt: one logistic curve over the decision function of the machine itself
    log_odds = np.log(P[:, 1] / P[:, 0])
    slope, offset = np.polyfit(decision, log_odds, 1)
    assert slope > 0.0
    np.testing.assert_allclose(log_odds, slope * decision + offset, atol=1e-6)


def test_three_classes_with_names() -> None:
    rows, codes = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = TunedSVMClassifier(costs=[1.0], gammas=[0.1], cv=3).fit(rows, names[codes])
    assert model.classes_.tolist() == names.tolist()
    P = model.predict_proba(rows)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(names[P.argmax(axis=1)] == names[codes]) > 0.9
    assert model.score(rows, names[codes]) > 0.95


def test_nothing_is_predicted_before_fit() -> None:
    for predict in (TunedSVMClassifier().predict, TunedSVMClassifier().predict_proba):
        with pytest.raises(NotFittedError):
            predict(X)
