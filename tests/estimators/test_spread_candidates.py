"""Claims about which rows can be relevance vectors of a model that learns from a teacher."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdgm import KernelSDGMClassifier
from sdgm.core.model.kernels import RBFKernel
from sdgm.estimators import kernel_form
from sdgm.estimators.plan import plan_of
from sdgm.estimators.preparation import prepared_again
from tests.estimators.problems import blobs, own_warnings_allowed


def test_they_are_distinct_training_rows_in_order_and_not_too_many() -> None:
    X, y = blobs(120, 3, seed=2)
    model = KernelSDGMClassifier(kernel="rbf", gamma=0.5, teacher=None)
    _, problem = prepared_again(model, np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]]))
    form = plan_of(model).form
    for n_rows, max_columns, expected in ((120, 1_000, 120), (100, 1_000, 100), (120, 30, 30)):
        basis = form.basis_at(problem, n_rows, max_columns)
        assert len(basis) == expected
        assert (np.diff(basis.user_rows) > 0).all() and basis.user_rows.max() < n_rows
        np.testing.assert_array_equal(basis.vectors, problem.X[basis.user_rows])


def test_precomputed_kernels_are_not_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(40, 2)
    asked: list[Any] = []
    monkeypatch.setattr(kernel_form, "spread_candidates", lambda kernel, *_: asked.append(kernel))
    with own_warnings_allowed():
        KernelSDGMClassifier(1, kernel="precomputed", random_state=0).fit(X @ X.T, y)
        assert asked == []
        KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None).fit(X, y)
    assert [type(kernel) for kernel in asked] == [RBFKernel]
