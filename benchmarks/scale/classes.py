"""Many classes: 26 of two modes each, generated, and scikit-learn's digits.

Peers are tuned on a fifth of the training rows and fitted again to all; their seconds are those of
all of that. sdgm is not tuned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from benchmarks.records import Cell, Record
from benchmarks.runner import Plan
from benchmarks.scale.fitting import fitted, in_parts, quality, quality_of_bayes, sizes_of
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN
from sdgm import SDGMClassifier

LETTERS, DIGITS = "26 classes", "digits"
TRAIN_ROWS, TEST_ROWS = 15_000, 5_000
C_OF_SVM, C_OF_LOGISTIC = (1.0, 10.0, 100.0), (0.1, 1.0, 10.0)
SDGM: dict[str, dict[str, dict[str, Any]]] = {
    LETTERS: {"SDGM": {"n_components": 2, "covariance_type": "full"}},
    DIGITS: {
        f"SDGM, {shape}, solver={solver!r}": {
            "n_components": 1,
            "covariance_type": shape,
            "solver": solver,
        }
        for shape in ("diag", "full")
        for solver in ("full", "block")
    },
}
A_FIFTH = StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
LOGISTIC, SVM = "quadratic logistic regression", "RBF SVM"


def cells(plan: Plan) -> list[Cell]:
    """All models of both problems."""
    return [
        {"problem": problem, "model": model, "rows": rows_of(problem, plan)}
        for problem, models in SDGM.items()
        for model in (*models, LOGISTIC, SVM)
    ]


def rows_of(problem: str, plan: Plan) -> int:
    """Training rows; digits have 1,797 in all."""
    if problem == DIGITS:
        return 1_200
    return plan.rows or (3_000 if plan.quick else TRAIN_ROWS)


def table_of(problem: str, rows: int) -> tuple[np.ndarray, ...]:
    """Inputs and classes to learn from, and to test on."""
    if problem == DIGITS:
        X, y = load_digits(return_X_y=True)
        parts = train_test_split(X, y, train_size=rows, random_state=0, stratify=y)
        return parts[0], parts[2], parts[1], parts[3]
    data = PROBLEMS[problem]
    return *data.rows(rows, TRAIN), *data.rows(TEST_ROWS, TEST)


def measure(problem: str, model: str, rows: int) -> Record:
    """One fit, and its test error."""
    X, y, X_test, y_test = table_of(problem, rows)
    if model in SDGM[problem]:
        sdgm = SDGMClassifier(**SDGM[problem][model], random_state=0)
        record = fitted(sdgm, X, y) | sizes_of(sdgm)
        record |= quality(y_test, in_parts(sdgm.predict_proba, X_test))
    else:
        tuned = PEERS[model]()
        record = fitted(tuned, X, y)
        record["chosen"] = next(iter(tuned.best_params_.values()))
        last = tuned.best_estimator_[-1]
        if model == SVM:
            record["error"] = float((in_parts(tuned.predict, X_test) != y_test).mean())
            record["vectors"] = int(last.n_support_.sum())
        else:
            record |= quality(y_test, in_parts(tuned.predict_proba, X_test))
            record["weights"] = int(last.coef_.size + len(last.intercept_))
    if problem != DIGITS:
        record |= quality_of_bayes(PROBLEMS[problem], X_test, y_test)
    return record


def logistic() -> GridSearchCV:
    powers = PolynomialFeatures(2, include_bias=False)
    last = LogisticRegression(max_iter=300)
    model = make_pipeline(StandardScaler(), powers, StandardScaler(), last)
    return GridSearchCV(model, {"logisticregression__C": C_OF_LOGISTIC}, cv=A_FIFTH)


def svm() -> GridSearchCV:
    model = make_pipeline(StandardScaler(), SVC(cache_size=500))
    return GridSearchCV(model, {"svc__C": C_OF_SVM}, cv=A_FIFTH)


PEERS: dict[str, Callable[[], GridSearchCV]] = {LOGISTIC: logistic, SVM: svm}
