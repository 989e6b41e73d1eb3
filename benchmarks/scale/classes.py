"""Many classes: 26 of two modes each, generated, and scikit-learn's digits.

Peers are tuned on a fifth of the training rows and fitted again to all; their seconds are those of
all of that. sdgm is not tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from benchmarks.records import Record
from benchmarks.scale.cells import Plan, Topic, fitted, in_parts, judged, sizes_of
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN
from reproduction.cells import Key
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
LOGISTIC, SVM = "quadratic logistic regression", "RBF SVM"


def keys(plan: Plan) -> list[Key]:
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


TOPIC = Topic("classes", keys)


def table_of(problem: str, rows: int) -> tuple[np.ndarray, ...]:
    """Inputs and classes to learn from, and to test on."""
    if problem == DIGITS:
        X, y = load_digits(return_X_y=True)
        parts = train_test_split(X, y, train_size=rows, random_state=0, stratify=y)
        return parts[0], parts[2], parts[1], parts[3]
    data = PROBLEMS[problem]
    return *data.rows(rows, TRAIN), *data.rows(TEST_ROWS, TEST)


def measure(problem: str, model: str, rows: int) -> Iterator[Record]:
    """One fit, and its test error."""
    X, y, X_test, y_test = table_of(problem, rows)
    if model in SDGM[problem]:
        sdgm = SDGMClassifier(**SDGM[problem][model], random_state=0)
        record = fitted(sdgm, X, y) | sizes_of(sdgm)
        record |= judged(y_test, in_parts(sdgm.predict_proba, X_test))
    else:
        tuned = Tuned(*PEERS[model]())
        record = fitted(tuned, X, y) | {"chosen": tuned.chosen}
        if model == SVM:
            record["error"] = float((in_parts(tuned.model.predict, X_test) != y_test).mean())
            record["vectors"] = int(tuned.model[-1].n_support_.sum())
        else:
            record |= judged(y_test, in_parts(tuned.model.predict_proba, X_test))
            record["weights"] = int(tuned.model[-1].coef_.size + len(tuned.model[-1].intercept_))
    if problem != DIGITS:
        bayes = judged(y_test, PROBLEMS[problem].posterior(X_test))
        record |= {"bayes_error": bayes["error"], "bayes_log_loss": bayes["log_loss"]}
    yield record


class Tuned:
    """A pipeline whose last step has a constant C, chosen on a fifth of the rows."""

    def __init__(self, model: Any, choices: tuple[float, ...]) -> None:
        self.model, self.choices, self.chosen = model, choices, 0.0

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        X_fit, X_held, y_fit, y_held = train_test_split(
            X, y, test_size=0.2, random_state=0, stratify=y
        )
        step = self.model.steps[-1][0]

        def score(C: float) -> float:
            model = clone(self.model).set_params(**{f"{step}__C": C})
            return float(model.fit(X_fit, y_fit).score(X_held, y_held))

        self.chosen = max(self.choices, key=score)
        self.model.set_params(**{f"{step}__C": self.chosen}).fit(X, y)


def logistic() -> tuple[Any, tuple[float, ...]]:
    powers = PolynomialFeatures(2, include_bias=False)
    last = LogisticRegression(max_iter=300)
    return make_pipeline(StandardScaler(), powers, StandardScaler(), last), C_OF_LOGISTIC


def svm() -> tuple[Any, tuple[float, ...]]:
    return make_pipeline(StandardScaler(), SVC(cache_size=500)), C_OF_SVM


PEERS: dict[str, Callable[[], tuple[Any, tuple[float, ...]]]] = {LOGISTIC: logistic, SVM: svm}
