"""Claims about the detector of rows unlike the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgm import FamiliarityDetector, SDGMClassifier
from sdgm._typing import FloatArray, IntArray


@parametrize_with_checks([FamiliarityDetector()])
def test_passes_the_battery(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


def two_clouds(n: int, seed: int) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + 4.0 * y[:, None], y


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("with_labels", [True, False])
def test_false_alarms_are_as_frequent_as_asked_for(rate: float, with_labels: bool) -> None:
    X, y = two_clouds(800, seed=0)
    detector = FamiliarityDetector(rate).fit(X, y if with_labels else None)
    new, _ = two_clouds(20_000, seed=1)
    assert np.mean(detector.predict(new) == -1) == pytest.approx(rate, abs=0.03)


def test_familiarity_of_rows_like_the_training_rows_is_spread_evenly() -> None:
    X, y = two_clouds(800, seed=0)
    share = FamiliarityDetector().fit(X, y).familiarity(two_clouds(20_000, seed=1)[0])
    assert share.min() >= 1 / 801 and share.max() <= 1.0
    for level in (0.1, 0.5, 0.9):
        assert np.mean(share <= level) == pytest.approx(level, abs=0.05)


def test_the_score_is_a_log_density_in_the_units_of_the_user() -> None:
    X, y = two_clouds(400, seed=0)
    new, _ = two_clouds(50, seed=1)
    scale = np.array([3.0, 0.01, 100.0])
    plain = FamiliarityDetector().fit(X, y)
    scaled = FamiliarityDetector().fit(7.0 + scale * X, y)
    expected = plain.score_samples(new) - np.log(scale).sum()
    np.testing.assert_allclose(scaled.score_samples(7.0 + scale * new), expected, rtol=1e-6)
    np.testing.assert_array_equal(scaled.predict(7.0 + scale * new), plain.predict(new))


def test_decisions_are_scores_less_the_offset() -> None:
    X, y = two_clouds(100, seed=0)
    detector = FamiliarityDetector().fit(X, y)
    decision = detector.decision_function(X)
    np.testing.assert_allclose(decision, detector.score_samples(X) - detector.offset_)
    np.testing.assert_array_equal(detector.predict(X) == -1, decision < 0.0)
    assert len(detector.held_out_scores_) == 100 and len(detector.n_components_) == 2


def test_no_false_alarms_means_none_among_rows_held_out() -> None:
    X, y = two_clouds(60, seed=0)
    detector = FamiliarityDetector(0.0).fit(X, y)
    assert (detector.held_out_scores_ > detector.offset_).all()


def test_the_names_of_the_classes_do_not_matter() -> None:
    X, y = two_clouds(100, seed=0)
    one = FamiliarityDetector().fit(X, y).score_samples(X)
    named = FamiliarityDetector().fit(X, np.array(["a", "b"])[y]).score_samples(X)
    np.testing.assert_array_equal(one, named)


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_gives_the_same_detector_again(seed: int) -> None:
    X, y = two_clouds(100, seed=0)
    detector = FamiliarityDetector(random_state=seed)
    first = detector.fit(X, y).score_samples(X)
    np.testing.assert_array_equal(clone(detector).fit(X, y).score_samples(X), first)


def test_it_notices_a_class_on_which_the_classifier_is_sure() -> None:
    X, y = load_iris(return_X_y=True)
    known, new = X[y != 0], X[y == 0]
    is_familiar = np.repeat([1, 0], [len(known), len(new)])
    rows = np.concatenate([known, new])
    model = SDGMClassifier(1, random_state=0, teacher=None).fit(known, y[y != 0])
    confidence = roc_auc_score(is_familiar, model.predict_proba(rows).max(axis=1))
    detector = FamiliarityDetector().fit(known, y[y != 0])
    assert confidence < 0.1  # it is surest of what it has never seen
    assert roc_auc_score(is_familiar, detector.score_samples(rows)) > 0.99


@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_many_inputs_are_no_hindrance(load: Any) -> None:
    X, y = load(return_X_y=True)
    train = np.arange(len(X)) % 2 == 0
    known = y != 0
    detector = FamiliarityDetector().fit(X[train & known], y[train & known])
    assert np.mean(detector.predict(X[~train & known]) == -1) < 0.12
    assert np.mean(detector.predict(X[y == 0]) == -1) > 0.5


def test_far_away_rows_are_unfamiliar_whatever_their_size() -> None:
    X, y = two_clouds(100, seed=0)
    detector = FamiliarityDetector().fit(X, y)
    far = np.array([[1e3, 0, 0], [1e50, -1e50, 0], [1e300, 1e300, -1e300]])
    assert np.isfinite(detector.score_samples(far)).all()
    np.testing.assert_array_equal(detector.predict(far), -1)
    np.testing.assert_allclose(detector.familiarity(far), 1 / 101)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 2)),
        np.tile([[0.0, 1.0], [1.0, 0.0]], (10, 1)),
        np.column_stack([np.arange(20.0), np.full(20, 7.0)]),
        1e-200 * np.arange(40.0).reshape(20, 2),
        np.array([[0.0], [1.0]]),
        np.random.default_rng(0).normal(size=(5, 40)),
    ],
    ids=["equal", "two values", "constant column", "tiny", "two rows", "few rows"],
)
def test_degenerate_rows_have_a_density(X: FloatArray) -> None:
    for y in (None, np.arange(len(X)) % 2):
        detector = FamiliarityDetector().fit(X, y)
        assert np.isfinite(detector.score_samples(X)).all()
        assert set(detector.predict(X)) <= {-1, 1}


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2, "0.1", None, True, np.nan])
def test_a_rate_that_is_none_is_refused(rate: Any) -> None:
    with pytest.raises(ValueError, match="false_alarm_rate"):
        FamiliarityDetector(rate).fit(np.eye(3))


@pytest.mark.parametrize("n_folds", [0, 1, 2.5, "5"])
def test_folds_that_hold_out_nothing_are_refused(n_folds: Any) -> None:
    with pytest.raises(ValueError, match="n_folds"):
        FamiliarityDetector(n_folds=n_folds).fit(np.eye(3))


def test_one_row_or_a_table_with_gaps_is_refused() -> None:
    with pytest.raises(ValueError, match="minimum of 2"):
        FamiliarityDetector().fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="NaN"):
        FamiliarityDetector().fit([[1.0], [np.nan]])
