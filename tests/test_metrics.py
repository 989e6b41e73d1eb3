"""Claims about measures of predicted probabilities, held against slow loops and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from sdgm.metrics import brier_score, calibration_bins, expected_calibration_error


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
    for measure in expected_calibration_error, brier_score:
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
    for measure in expected_calibration_error, brier_score:
        with pytest.raises(ValueError, match=message):
            measure(y, P, labels=labels)


def test_bins_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="n_bins must be a positive integer, got 0"):
        expected_calibration_error([0, 1], [[0.5, 0.5]] * 2, 0)
    with pytest.raises(ValueError, match="strategy must be one of 'uniform', 'quantile'"):
        calibration_bins(np.array([True]), np.array([0.5]), 3, "equal")
