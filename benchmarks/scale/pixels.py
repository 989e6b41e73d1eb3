"""MNIST's pixels, 60,000 x 784, in the diagonal form."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.records import Cell, Record
from benchmarks.runner import Plan
from benchmarks.scale.fitting import fitted, in_parts, quality, sizes_of
from sdgm import SDGMClassifier

ROWS = 60_000
SDGM = "SDGM, diagonal"
LOGISTIC, SQUARES = "logistic regression", "logistic regression, pixels and squares"
MODELS = (SDGM, LOGISTIC, SQUARES)


def cells(plan: Plan) -> list[Cell]:
    """The three models."""
    rows = plan.rows or (3_000 if plan.quick else ROWS)
    return [{"model": model, "rows": rows} for model in MODELS]


def measure(model: str, rows: int) -> Record:
    """One fit, and its error on the 10,000 test images."""
    from benchmarks.reproduced import mnist  # brings PyTorch

    train, test = mnist()
    order = np.random.default_rng(0).permutation(len(train[1]))[:rows]
    X, y = train[0][order].reshape(rows, -1) / 255.0, train[1][order].astype(np.int64)
    X_test, y_test = test[0].reshape(len(test[1]), -1) / 255.0, test[1].astype(np.int64)
    if model == SDGM:
        sdgm = SDGMClassifier(1, covariance_type="diag", random_state=0, teacher=None)
        record = fitted(sdgm, X, y) | sizes_of(sdgm)
        return record | quality(y_test, in_parts(sdgm.predict_proba, X_test))
    if model == SQUARES:
        X, X_test = (np.hstack([part, part**2]) for part in (X, X_test))
    regression = LogisticRegression(max_iter=300)
    record = fitted(regression, X, y)
    record["weights"] = int(regression.coef_.size + len(regression.intercept_))
    record["iterations"] = int(regression.n_iter_.max())
    return record | quality(y_test, in_parts(regression.predict_proba, X_test))
