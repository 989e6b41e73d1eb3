"""The calibration of scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from sdgm.ensemble.calibration import CalibrationLoss, calibrated, minimum


def random_loss(U: int = 40, C: int = 3) -> CalibrationLoss:
    rng = np.random.default_rng(0)
    T = rng.dirichlet(np.ones(C), U)
    return CalibrationLoss(rng.normal(size=(U, C)) + T, T, rng.dirichlet(np.ones(U)), 0.1)


def value_at(loss: CalibrationLoss, theta: np.ndarray) -> float:
    return loss.value(theta, loss.log_proba(theta))


def gradient_at(loss: CalibrationLoss, theta: np.ndarray) -> np.ndarray:
    return loss.derivatives(theta, loss.log_proba(theta))[0]


def test_derivatives_agree_with_finite_differences() -> None:
    loss, theta = random_loss(), np.array([0.7, 0.2, -0.4, 0.3])
    gradient, hessian = loss.derivatives(theta, loss.log_proba(theta))
    expected = approx_fprime(theta, lambda t: value_at(loss, t), 1e-7)
    np.testing.assert_allclose(gradient, expected, atol=1e-6)
    steps = [1e-6 * row for row in np.eye(4)]
    rows = [(gradient_at(loss, theta + e) - gradient_at(loss, theta - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(hessian, rows, atol=1e-7)


def test_the_minimum_has_no_gradient() -> None:
    loss = random_loss()
    theta, _ = minimum(loss, np.array([5.0, 3.0, -3.0, 1.0]))
    np.testing.assert_allclose(gradient_at(loss, theta), 0.0, atol=1e-3)


def test_the_slope_undoes_a_change_of_unit() -> None:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 60)
    F = rng.normal(size=(60, 3)) + np.eye(3)[label]
    one, other = (calibrated(unit * F, label, np.ones(60)) for unit in (1.0, 1e6))
    assert one.loss == pytest.approx(other.loss, rel=1e-6)
    assert one.slope == pytest.approx(1e6 * other.slope, rel=1e-3)
    np.testing.assert_allclose(one.proba(F), other.proba(1e6 * F), atol=1e-4)


def test_calibration_never_does_worse_than_the_frequencies_by_more_than_the_doubt() -> None:
    rng = np.random.default_rng(2)
    label = np.array([0] * 70 + [1] * 30)
    F = -np.eye(2)[label] + 0.1 * rng.normal(size=(100, 2))  # the wrong way round
    found = calibrated(F, label, np.ones(100))
    assert found.slope == 0.0
    assert found.loss == pytest.approx(-(0.7 * np.log(0.7) + 0.3 * np.log(0.3)), abs=2e-3)


def test_separated_classes_have_a_finite_slope() -> None:
    label = np.repeat([0, 1], 20)
    found = calibrated(np.eye(2)[label], label, np.ones(40))
    assert np.isfinite(found.slope)
    assert 0.0 < found.loss < 0.1


def test_equal_scores_are_the_frequencies() -> None:
    label = np.repeat([0, 1], [30, 10])
    found = calibrated(np.full((40, 2), 3.0), label, np.ones(40))
    np.testing.assert_allclose(found.proba(np.zeros((1, 2))), [[0.75, 0.25]], atol=0.02)


def test_a_weight_is_a_number_of_copies() -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 30)
    F, weight = rng.normal(size=(30, 2)) + np.eye(2)[label], rng.integers(1, 4, 30)
    copies = np.repeat(np.arange(30), weight)
    once = calibrated(F, label, weight.astype(float))
    often = calibrated(F[copies], label[copies], np.ones(len(copies)))
    assert once.slope == pytest.approx(often.slope)
    np.testing.assert_allclose(once.bias, often.bias, atol=1e-8)
