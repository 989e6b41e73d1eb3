"""Claims about the dual form with more rows than can all be relevance vectors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from sdgm import KernelSDGMClassifier
from sdgm.core.model import design
from sdgm.estimators import kernel_form

rng = np.random.default_rng(0)
N = 600
X = rng.uniform(-2.0, 2.0, size=(N, 2))
Y = (np.hypot(*X.T) + 0.2 * rng.normal(size=N) > 1.2).astype(int)


@pytest.fixture
def few_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred rows are many."""
    monkeypatch.setattr(kernel_form, "MANY_CANDIDATES", 200)
    monkeypatch.setattr(kernel_form, "MAX_VECTORS", 60)


def laplacian(A, B):
    return np.exp(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


@pytest.mark.parametrize("kernel", ["rbf", laplacian])
def test_rows_that_lie_apart_do_as_well_as_all(kernel, few_vectors, monkeypatch) -> None:
    def refuse(*_):
        raise AssertionError("the matrix of all rows was made")

    monkeypatch.setattr(design, "kernel_design", refuse)
    monkeypatch.setattr(kernel_form, "kernel_design", refuse)
    few = KernelSDGMClassifier(1, kernel=kernel, gamma=1.0, random_state=0, teacher=None).fit(X, Y)
    monkeypatch.undo()
    every = KernelSDGMClassifier(1, kernel=kernel, gamma=1.0, random_state=0, teacher=None).fit(
        X, Y
    )
    losses = [log_loss(Y, model.predict_proba(X)) for model in (every, few)]
    assert losses[1] < losses[0] + 0.03
    np.testing.assert_array_equal(few.relevance_vectors_, X[few.relevance_])


def test_a_kernel_with_few_explicit_features_has_all_rows(few_vectors) -> None:
    fitted = KernelSDGMClassifier(1, kernel="poly", degree=2, random_state=0, teacher=None).fit(
        X, Y
    )
    assert fitted.n_initial_weights_ == 2 * (N + 1)
