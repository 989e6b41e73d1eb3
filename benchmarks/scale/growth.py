"""Fit time and memory against the number of rows, beside scikit-learn on the same rows.

Ten inputs; two classes with two components each, and ten classes with one. All models are given two
threads. Logistic regression is given the 65 quadratic features ready made, and how long they took
to make is a number of its own; the others make their features within the fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.records import Cell, Record
from benchmarks.runner import Plan
from benchmarks.scale.fitting import fitted, in_parts, quality, quality_of_bayes, sizes_of
from benchmarks.scale.passes import counted
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN
from benchmarks.timing import rotated, timed
from sdgm import SDGMClassifier
from sdgm.core.data.blocked_rows import BlockedRows

COMPONENTS = {"2 classes": 2, "10 classes": 1}
SDGM, LOGISTIC, BOOSTING, BAYES = "SDGM", "logistic regression", "boosted trees", "Bayes' rule"
MODELS = (SDGM, LOGISTIC, BOOSTING)
SIZES = (10_000, 100_000, 1_000_000)
TEST_ROWS = 100_000
# rows from which one round is enough for the models that take minutes there
LONG = 300_000


def cells(plan: Plan) -> list[Cell]:
    """All models at all sizes, in turn."""
    sizes = (10_000, 40_000) if plan.quick else SIZES
    most = plan.rows or sizes[-1]
    return [
        {"problem": problem, "rows": rows, "model": model, "round": number}
        for problem in COMPONENTS
        for rows in sizes
        if rows <= most
        for number in range(1 if plan.quick else plan.repeats)
        for model in rotated(MODELS, number)
        if number == 0 or rows < LONG or problem == "2 classes"
    ]


def measure(problem: str, rows: int, model: str, round: int) -> Record:
    """One fit, and its test error."""
    data = PROBLEMS[problem]
    X, y = data.rows(rows, TRAIN)
    X_test, y_test = data.rows(TEST_ROWS, TEST)
    if model == SDGM:
        with counted(BlockedRows) as passes:
            sdgm = SDGMClassifier(
                COMPONENTS[problem], covariance_type="full", random_state=round, teacher=None
            )
            record = fitted(sdgm, X, y)
        record |= sizes_of(sdgm) | passes.record()
        predict = sdgm.predict_proba
    elif model == LOGISTIC:
        record, predict = logistic(X, y)
    else:
        trees = HistGradientBoostingClassifier(random_state=round)
        record = fitted(trees, X, y)
        record["iterations"] = int(trees.n_iter_)
        predict = trees.predict_proba
    return {
        **record,
        **quality(y_test, in_parts(predict, X_test)),
        **quality_of_bayes(data, X_test, y_test),
    }


def logistic(X: np.ndarray, y: np.ndarray) -> tuple[Record, Any]:
    """Fit logistic regression to quadratic features of standardised inputs."""
    scale, powers = StandardScaler(), PolynomialFeatures(2, include_bias=False)
    Phi, seconds, _ = timed(lambda: powers.fit_transform(scale.fit_transform(X)))
    model = LogisticRegression(solver="newton-cholesky")
    record = fitted(model, Phi, y)
    record |= {"feature_seconds": round(seconds, 4), "iterations": int(model.n_iter_.max())}
    return record, lambda x: model.predict_proba(powers.transform(scale.transform(x)))
