"""Every estimator passes scikit-learn's own checks, all of them."""

from __future__ import annotations

from typing import Any

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.fixes import parse_version

from tests.estimators.problems import ESTIMATORS, every_estimator, own_warnings_allowed

# how many checks a peer passes
CHECKS_OF_A_PEER = 53


@parametrize_with_checks([estimator() for estimator in ESTIMATORS])
def test_passes_the_battery(estimator: BaseEstimator, check: Any) -> None:
    with own_warnings_allowed():
        check(estimator)


@parametrize_with_checks([estimator(preset="paper") for estimator in ESTIMATORS])
@pytest.mark.slow
def test_passes_the_battery_with_the_paper_preset(estimator: BaseEstimator, check: Any) -> None:
    if "sample_weight_equivalence" in str(check) and hasattr(estimator, "kernel"):
        pytest.skip("in the dual form of the paper each repeated row is a weight of its own")
    with own_warnings_allowed():
        check(estimator)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="older versions have fewer checks",
)
@every_estimator
def test_the_battery_has_more_checks_than_a_peer_passes(estimator: type[BaseEstimator]) -> None:
    checks = [check for _, check in estimator_checks_generator(estimator())]
    ran = [check for check in checks if "array_api" not in str(check)]  # skipped by default
    assert len(ran) >= CHECKS_OF_A_PEER
