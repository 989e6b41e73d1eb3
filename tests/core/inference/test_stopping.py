"""Claims about when learning has converged, or ends because its evidence hardly grows."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm import SDGMClassifier
from sdgm.core.inference.stopping import SAMPLE_GAIN, has_stalled, log_change
from sdgm.core.model.state import Record


def records(evidence: list[float]) -> list[Record]:
    return [Record(i, 0.0, 0.0, e, 1, 1, 0.0, 1, 0.0) for i, e in enumerate(evidence)]


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ([0.0] * 10, False),  # too few passes to tell
        ([0.0] * 11, True),
        ([0.1 * i for i in range(20)], True),  # one in ten passes
        ([0.2 * i for i in range(20)], False),
        ([-0.3 * i for i in range(20)], True),  # it only falls
        ([0.0, -30.0, -25.0, *[-20.0 + i for i in range(10)]], False),  # fell at first
    ],
)
def test_the_evidence_is_compared_with_the_lowest_of_ten_passes(evidence, expected) -> None:
    assert has_stalled(records(evidence), 1.5) is expected


def fitted(*, is_sample: bool) -> SDGMClassifier:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    X = rng.normal(size=(3000, 6)) @ (np.eye(6) + 0.3 * rng.normal(size=(3, 6, 6)))
    model = SDGMClassifier(1, covariance_type="full", random_state=0)
    model._is_sample_fit = is_sample
    return model.fit(X[y, np.arange(3000)], y)


def test_a_sample_is_learned_from_until_then_and_no_longer() -> None:
    to_the_end, rough = fitted(is_sample=False), fitted(is_sample=True)
    assert rough.converged_
    assert len(rough.history_) < len(to_the_end.history_)
    least = SAMPLE_GAIN * rough.n_active_weights_
    assert has_stalled(rough.history_, least) and not has_stalled(rough.history_[:-1], least)


def test_change_is_the_largest_relative_one() -> None:
    before, after = np.array([1.0, 2.0, 30.0]), np.array([2.0, 1.9, 12.0])
    assert log_change(before, after) == pytest.approx(np.log(2.5))
    assert log_change(np.empty(0), np.empty(0)) == 0.0
