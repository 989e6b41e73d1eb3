"""The dual form, which has a candidate column per row, on many rows."""

from __future__ import annotations

from benchmarks.records import Cell, Record
from benchmarks.runner import Plan
from benchmarks.scale.fitting import fitted, in_parts, quality, quality_of_bayes, sizes_of
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN
from sdgm import KernelSDGMClassifier

ROWS = 100_000
KERNELS = {"polynomial, degree 2": "poly", "RBF": "rbf"}
TEST_ROWS = 100_000


def cells(plan: Plan) -> list[Cell]:
    """Two kernels."""
    rows = plan.rows or (40_000 if plan.quick else ROWS)
    return [{"rows": rows, "kernel": kernel} for kernel in KERNELS]


def measure(rows: int, kernel: str) -> Record:
    """One fit, and its test error."""
    data = PROBLEMS["2 classes"]
    X, y = data.rows(rows, TRAIN)
    X_test, y_test = data.rows(TEST_ROWS, TEST)
    model = KernelSDGMClassifier(2, kernel=KERNELS[kernel], degree=2, random_state=0, teacher=None)
    record = fitted(model, X, y)
    return {
        **record,
        **sizes_of(model),
        "vectors": len(model.relevance_vectors_),
        **quality(y_test, in_parts(model.predict_proba, X_test)),
        **quality_of_bayes(data, X_test, y_test),
    }
