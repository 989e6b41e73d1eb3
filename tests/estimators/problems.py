"""Small problems and helpers that the tests of the estimators share."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sdgm import (
    ComponentsReducedWarning,
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    NumericalTroubleWarning,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm._typing import FloatArray, IntArray

ESTIMATORS = [
    SDGMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    DiscriminativeGMMClassifier,
]
# warnings that name what happened to a fit; any other is a stray message from below
OWN_WARNINGS = (ComponentsReducedWarning, ConvergenceWarning, NumericalTroubleWarning)

# without a teacher, so that labels are learned as they are
PLAIN: dict[type, dict[str, Any]] = {
    SDGMClassifier: {"n_components": 3, "teacher": None},
    KernelSDGMClassifier: {"n_components": 3, "teacher": None},
    RVMClassifier: {},
    DiscriminativeGMMClassifier: {},
}

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
both_presets = pytest.mark.parametrize("preset", ["fast", "paper"])


@contextmanager
def own_warnings_allowed() -> Iterator[None]:
    """Inside, our own warnings and ConvergenceWarning pass in silence; all others are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in OWN_WARNINGS:
            warnings.simplefilter("ignore", category)
        yield


def blobs(
    n_samples: int = 60,
    n_classes: int = 2,
    n_features: int = 2,
    *,
    seed: int = 0,
    separation: float = 1.5,
) -> tuple[FloatArray, IntArray]:
    """Classes of equal size, one round Gaussian each, that overlap."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centers = separation * rng.normal(size=(n_classes, n_features))
    return rng.normal(size=(n_samples, n_features)) + centers[y], y


def two_modes(n_samples: int = 80, *, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Two classes with two modes each on the corners of a square, as in exclusive or."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(2, size=(n_samples, 2))
    return corner + 0.3 * rng.normal(size=(n_samples, 2)), corner.sum(axis=1) % 2


def assert_proper(model: Any, X: FloatArray) -> None:
    """Probabilities are finite, not negative, sum to one, and agree with `predict`."""
    P = model.predict_proba(X)
    assert P.shape == (len(X), len(model.classes_))
    assert np.isfinite(P).all() and (P >= 0).all() and (P <= 1.0 + 1e-10).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-10)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()


def is_fitted_or_refused(model: Any, X: FloatArray, y: Any, s: FloatArray | None = None) -> bool:
    """Fit; false when the data are refused with a sentence that tells to standardise them."""
    try:
        with own_warnings_allowed():
            model.fit(X, y, s)
    except (ValueError, ArithmeticError) as error:
        if not re.search("standardize=True|standardise the inputs", str(error)):
            raise
        return False
    return True


def data_folder() -> Path:
    """Where the real data are; skips the test when nobody said."""
    folder = os.environ.get("SDGM_DATA")
    if not folder:
        pytest.skip("real data are needed: set SDGM_DATA to the folder that holds them")
    return Path(folder)


def pretend_memory(monkeypatch: pytest.MonkeyPatch, n_bytes: float) -> None:
    """Let the machine have so much memory."""
    real = os.sysconf
    pages = {"SC_PHYS_PAGES": int(n_bytes) // 4096, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", lambda name: pages.get(name, real(name)))
