"""The dual form, which has a candidate column per row, on many rows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.records import Record
from benchmarks.scale.cells import Plan, Topic, fitted, in_parts, judged, sizes_of
from benchmarks.scale.problems import PROBLEMS, TEST, TRAIN
from reproduction.cells import Key
from sdgm import KernelSDGMClassifier

ROWS = 100_000
KERNELS = {"polynomial, degree 2": "poly", "RBF": "rbf"}
TEST_ROWS = 100_000


def keys(plan: Plan) -> list[Key]:
    """Two kernels."""
    rows = plan.rows or (40_000 if plan.quick else ROWS)
    return [{"rows": rows, "kernel": kernel} for kernel in KERNELS]


TOPIC = Topic("dual", keys)


def measure(rows: int, kernel: str) -> Iterator[Record]:
    """One fit, and its test error."""
    data = PROBLEMS["2 classes"]
    X, y = data.rows(rows, TRAIN)
    X_test, y_test = data.rows(TEST_ROWS, TEST)
    model = KernelSDGMClassifier(2, kernel=KERNELS[kernel], degree=2, random_state=0)
    record = fitted(model, X, y)
    bayes = judged(y_test, data.posterior(X_test))
    yield {
        **record,
        **sizes_of(model),
        "vectors": len(model.relevance_vectors_),
        **judged(y_test, in_parts(model.predict_proba, X_test)),
        "bayes_error": bayes["error"],
        "bayes_log_loss": bayes["log_loss"],
    }
