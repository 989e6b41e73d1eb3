"""Claims about models as plain numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
    SemiSupervisedSDGMClassifier,
)
from sdgm.core.model.kernels import RBFKernel
from sdgm.export.model import exportable

X, y = make_blobs(120, centers=3, random_state=0)
MODELS = [
    SDGMClassifier(2, teacher=None),
    SDGMClassifier(1, covariance_type="spherical", teacher=None),
    SDGMClassifier(1, standardize=False, teacher=None),
    KernelSDGMClassifier(2, kernel="poly", degree=3, teacher=None),
    KernelSDGMClassifier(1, kernel="rbf", teacher=None),
    KernelSDGMClassifier(1, kernel="linear", teacher=None),
    RVMClassifier(),
    DiscriminativeGMMClassifier(1),
    SemiSupervisedSDGMClassifier(SDGMClassifier(1, teacher=None)),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_numbers_predict_what_the_model_predicts(model) -> None:
    model.fit(X, y)
    far = np.vstack([X, [[1e300, -1e300], [0.0, 1e40]]])
    np.testing.assert_allclose(
        exportable(model).model.log_proba(far), model.predict_log_proba(far), rtol=1e-12, atol=1e-12
    )


def test_inputs_have_the_names_of_the_columns() -> None:
    assert exportable(SDGMClassifier(1, teacher=None).fit(X, y)).feature_names == ("x1", "x2")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "dose"])
    assert exportable(SDGMClassifier(1, teacher=None).fit(frame, y)).feature_names == (
        "age",
        "dose",
    )


def test_what_cannot_be_carried_away_is_refused() -> None:
    with pytest.raises(ValueError, match="predictive='map'"):
        exportable(SDGMClassifier(1, predictive="averaged", teacher=None).fit(X, y))
    with pytest.raises(ValueError, match="it has no features"):
        exportable(KernelSDGMClassifier(1, kernel="precomputed").fit(X @ X.T / 100.0, y))
    with pytest.raises(ValueError, match="given as a function"):
        exportable(KernelSDGMClassifier(1, kernel=lambda a, b: a @ b.T, teacher=None).fit(X, y))
    with pytest.raises(TypeError, match="int cannot be described or exported"):
        exportable(3)


def test_a_kernel_that_the_exports_do_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = KernelSDGMClassifier(1, kernel="linear", teacher=None).fit(X, y)
    monkeypatch.setattr("sdgm.export.model.EXPORTED", (RBFKernel,))
    with pytest.raises(ValueError, match="A kernel 'linear' cannot be exported"):
        exportable(model)
