"""The ensemble passes scikit-learn's own checks, all of them."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgm import KernelEnsembleClassifier


@parametrize_with_checks([KernelEnsembleClassifier()])
def test_passes_the_battery(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)
