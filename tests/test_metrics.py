"""Claims about measures of predicted probabilities, held against slow loops and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from sdgm.metrics import (
    RejectionCurve,
    area_under_rejection_curve,
    brier_score,
    calibration_bins,
    expected_calibration_error,
    rejection_curve,
)

MEASURES = (expected_calibration_error, brier_score, area_under_rejection_curve)


def predictions(seed: int, n_samples: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n_classes, 0.5), n_samples)
    return rng.integers(n_classes, size=n_samples), P


problems = st.builds(
    predictions,
    st.integers(0, 2**32 - 1),
    n_samples=st.integers(1, 60),
    n_classes=st.integers(2, 5),
)


def tied(problem: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same with probabilities of one digit, so that many rows are equally sure."""
    y, P = problem
    P = np.round(10 * P)
    P[P.sum(axis=1) == 0] = 1.0
    return y, P / P.sum(axis=1, keepdims=True)


tied_problems = problems.map(tied)


def slow_calibration_error(y: Any, P: Any, n_bins: int) -> float:
    total = 0.0
    for b in range(n_bins):
        sure, right = [], []
        for label, p in zip(y, P, strict=True):
            if b / n_bins < p.max() <= (b + 1) / n_bins:
                sure.append(p.max())
                right.append(float(p.argmax() == label))
        if sure:
            total += len(sure) * abs(np.mean(sure) - np.mean(right))
    return total / len(y)


@given(problems, st.integers(1, 20))
def test_calibration_error_is_that_of_the_definition(problem: Any, n_bins: int) -> None:
    y, P = problem
    error = expected_calibration_error(y, P, n_bins, labels=range(P.shape[1]))
    assert error == pytest.approx(slow_calibration_error(y, P, n_bins), abs=1e-12)
    assert 0.0 <= error <= 1.0


@given(problems)
def test_brier_score_is_the_squared_distance_to_the_truth(problem: Any) -> None:
    y, P = problem
    slow = 0.0
    for label, p in zip(y, P, strict=True):
        for c, value in enumerate(p):
            slow += (value - float(c == label)) ** 2
    assert brier_score(y, P, labels=range(P.shape[1])) == pytest.approx(slow / len(y))


def test_brier_score_of_two_classes_is_twice_that_of_scikit_learn() -> None:
    y, P = predictions(0, 50, 2)
    assert brier_score(y, P) == pytest.approx(2.0 * brier_score_loss(y, P[:, 1]))


def test_always_right_and_sure_is_calibrated_and_always_wrong_and_sure_is_not() -> None:
    y = np.array(["a", "b", "a"])
    P = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert expected_calibration_error(y, P) == 0.0 and brier_score(y, P) == 0.0
    assert expected_calibration_error(y, P[:, ::-1]) == 1.0 and brier_score(y, P[:, ::-1]) == 2.0


@given(problems, st.permutations(range(5)))
def test_order_of_the_classes_does_not_matter(problem: Any, order: list[int]) -> None:
    y, P = problem
    order = [c for c in order if c < P.shape[1]]
    labels = np.array(list("vwxyz"))[: P.shape[1]]
    for measure in MEASURES:
        given_order = measure(labels[y], P, labels=labels)
        assert measure(labels[y], P[:, order], labels=labels[order]) == pytest.approx(given_order)


@given(problems, st.integers(1, 12), st.sampled_from(["uniform", "quantile"]))
def test_bins_hold_every_row_once(problem: Any, n_bins: int, strategy: str) -> None:
    y, P = problem
    right, sure = P.argmax(axis=1) == y, P.max(axis=1)
    n_rows, confidence, frequency = calibration_bins(right, sure, n_bins, strategy)
    assert n_rows.sum() == len(y) and (n_rows > 0).all() and len(n_rows) <= n_bins
    assert n_rows @ confidence == pytest.approx(sure.sum())
    assert n_rows @ frequency == pytest.approx(right.sum())
    assert (np.diff(confidence) > 0).all()


def test_quantile_bins_hold_equal_numbers_of_rows() -> None:
    sure = np.random.default_rng(0).permutation(np.linspace(0.6, 0.9, 100))
    assert calibration_bins(sure > 0.7, sure, 4, "quantile").n_rows.tolist() == [25] * 4


@given(st.one_of(problems, tied_problems))
def test_rejection_curve_is_that_of_the_definition(problem: Any) -> None:
    y, P = problem
    curve = rejection_curve(y, P, labels=range(P.shape[1]))
    thresholds = sorted({p.max() for p in P}, reverse=True)
    assert curve.confidence.tolist() == thresholds
    for answered, error, threshold in zip(*curve, strict=True):
        wrong = [p.argmax() != label for label, p in zip(y, P, strict=True) if p.max() >= threshold]
        assert answered == pytest.approx(len(wrong) / len(y))
        assert error == pytest.approx(np.mean(wrong))
    assert curve.answered[-1] == 1.0


@given(st.one_of(problems, tied_problems))
def test_area_is_the_integral_of_the_error_over_the_share_answered(problem: Any) -> None:
    y, P = problem
    curve = rejection_curve(y, P, labels=range(P.shape[1]))
    share = (np.arange(20_000) + 0.5) / 20_000
    wrong = np.interp(share, [0.0, *curve.answered], [0.0, *(curve.answered * curve.error)])
    assert curve.area == pytest.approx(np.mean(wrong / share), abs=1e-4)
    assert curve.area == area_under_rejection_curve(y, P, labels=range(P.shape[1]))
    assert -1e-12 <= curve.perfect_area <= curve.area + 1e-12 <= 1.0 + 2e-12


@given(st.integers(0, 30), st.integers(0, 30))
def test_a_perfect_order_has_the_perfect_area_and_a_random_one_the_error(
    n_right: int, n_wrong: int
) -> None:
    n = n_right + n_wrong
    if n == 0:
        return
    wrong = np.arange(n) >= n_right
    sure = np.linspace(0.99, 0.6, n)
    P = np.column_stack([sure, 1.0 - sure])
    curve = rejection_curve(wrong.astype(int), P, labels=[0, 1])
    assert curve.area == pytest.approx(curve.perfect_area, abs=1e-12)
    same = rejection_curve(wrong.astype(int), np.full((n, 2), [0.7, 0.3]), labels=[0, 1])
    assert same.area == pytest.approx(n_wrong / n)
    assert same.perfect_area == pytest.approx(curve.perfect_area)
    assert len(same.answered) == 1


def test_area_of_many_distinct_confidences_is_the_mean_error_of_the_first_rows() -> None:
    y, P = predictions(3, 5000, 3)
    wrong = (P.argmax(axis=1) != y)[np.argsort(-P.max(axis=1))]
    mean = np.mean(wrong.cumsum() / np.arange(1, len(y) + 1))
    assert area_under_rejection_curve(y, P) == pytest.approx(mean, abs=1e-3)


def test_rows_equally_sure_count_as_the_mean_over_their_orders() -> None:
    # nearly equal confidences in all orders, each row as many equal ones
    right = np.repeat([True, True, False], 200)
    rng = np.random.default_rng(0)
    areas = []
    for _ in range(200):
        wrong = ~rng.permutation(right)
        share = np.arange(1, len(right) + 1) / len(right)
        areas.append(RejectionCurve(share, wrong.cumsum() / (share * len(right)), share).area)
    together = RejectionCurve(np.ones(1), np.array([1 / 3]), np.ones(1)).area
    assert np.mean(areas) == pytest.approx(together, abs=0.01)


@given(problems, st.data())
def test_a_row_of_weight_two_is_the_row_twice_and_one_of_weight_zero_none(
    problem: Any, data: st.DataObject
) -> None:
    y, P = tied(problem)
    s = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    s[0] = max(s[0], 1)
    labels = range(P.shape[1])
    for measure in MEASURES:
        weighted = measure(y, P, labels=labels, sample_weight=s)
        repeated = measure(np.repeat(y, s), np.repeat(P, s, axis=0), labels=labels)
        assert weighted == pytest.approx(repeated, abs=1e-12)
    weighted_curve = rejection_curve(y, P, labels=labels, sample_weight=s)
    repeated_curve = rejection_curve(np.repeat(y, s), np.repeat(P, s, axis=0), labels=labels)
    for a, b in zip(weighted_curve, repeated_curve, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"shape \(1,\) for 2 rows; pass one number per row"),
        ([1.0, -1.0], "negative or not finite"),
        ([1.0, np.nan], "negative or not finite"),
        ([0.0, 0.0], "only zeros"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights: Any, message: str) -> None:
    for measure in MEASURES:
        with pytest.raises(ValueError, match=message):
            measure([0, 1], [[0.5, 0.5]] * 2, sample_weight=weights)


@pytest.mark.parametrize(
    ("y", "P", "labels", "message"),
    [
        ([0, 1], [[0.5, 0.5]], None, r"shape \(2,\) and P \(1, 2\); pass one label and one row"),
        ([0, 1], [0.5, 0.5], None, r"pass one label and one row"),
        ([], np.empty((0, 2)), [0, 1], r"pass one label and one row"),
        ([0, 0], [[0.5, 0.5]] * 2, None, r"2 columns for 1 labels, \[0\]; pass labels"),
        ([0, 2], [[0.5, 0.5]] * 2, [0, 1], r"label 2, which is not among labels \[0, 1\]"),
        ([0, 1], [[2.0, -1.0]] * 2, None, r"not a probability distribution"),
        ([0, 1], [[0.2, 0.3]] * 2, None, r"not a probability distribution"),
        ([0, 1], [[np.nan, np.nan]] * 2, None, r"not a probability distribution"),
    ],
)
def test_predictions_that_make_no_sense_are_refused(
    y: Any, P: Any, labels: Any, message: str
) -> None:
    for measure in MEASURES:
        with pytest.raises(ValueError, match=message):
            measure(y, P, labels=labels)


def test_bins_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="n_bins must be a positive integer, got 0"):
        expected_calibration_error([0, 1], [[0.5, 0.5]] * 2, 0)
    with pytest.raises(ValueError, match="strategy must be one of 'uniform', 'quantile'"):
        calibration_bins(np.array([True]), np.array([0.5]), 3, "equal")
