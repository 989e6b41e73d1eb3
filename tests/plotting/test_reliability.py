"""Claims about reliability diagrams."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

pytest.importorskip("matplotlib")

from sdgm import KernelSDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.metrics import CalibrationBins, expected_calibration_error
from sdgm.plotting import ReliabilityDisplay, new_axes
from sdgm.plotting.reliability import wilson_interval

X, y, X_test, y_test = make_ripley().split()


@pytest.fixture(scope="module")
def model() -> KernelSDGMClassifier:
    return KernelSDGMClassifier(random_state=0).fit(X, y)


def test_the_error_shown_is_the_expected_calibration_error(model: KernelSDGMClassifier) -> None:
    display = ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=new_axes())
    error = expected_calibration_error(y_test, model.predict_proba(X_test))
    assert display.calibration_error == error
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert f"KernelSDGMClassifier (ECE {100 * error:.1f}%)" in texts


def test_the_curve_has_confidence_and_share_of_every_bin(model: KernelSDGMClassifier) -> None:
    display = ReliabilityDisplay.from_estimator(model, X_test, y_test, n_bins=10, ax=new_axes())
    P = model.predict_proba(X_test)
    sure, right = P.max(axis=1), P.argmax(axis=1) == y_test
    line = display.line_.lines[0]
    for low, (confidence, share) in zip((0.5, 0.6, 0.7, 0.8, 0.9), line.get_xydata(), strict=True):
        own = (sure > low) & (sure <= low + 0.1)
        assert confidence == pytest.approx(sure[own].mean())
        assert share == pytest.approx(right[own].mean())
    assert display.ax_.get_xlim()[0] == pytest.approx(0.5, abs=0.01)


def test_of_a_class_its_own_probability_is_drawn(model: KernelSDGMClassifier) -> None:
    display = ReliabilityDisplay.from_estimator(
        model, X_test, y_test, pos_label=1, strategy="quantile", n_bins=5, ax=new_axes()
    )
    np.testing.assert_array_equal(display.confidence, model.predict_proba(X_test)[:, 1])
    np.testing.assert_array_equal(display.came_true, y_test == 1)
    assert display.bins.n_rows.tolist() == [200] * 5
    assert display.axes_[1].get_xlabel() == "probability of class 1"
    with pytest.raises(ValueError, match=r"pos_label 2 is not among the labels \[0, 1\]"):
        ReliabilityDisplay.from_estimator(model, X_test, y_test, pos_label=2)


def test_several_models_share_axes_with_colours_markers_and_one_diagonal(
    model: KernelSDGMClassifier,
) -> None:
    first = ReliabilityDisplay.from_estimator(model, X_test, y_test, name="one", ax=new_axes())
    other = LogisticRegression().fit(X, y)
    second = ReliabilityDisplay.from_estimator(other, X_test, y_test, name="two", ax=first.axes_)
    assert second.axes_ == first.axes_ and second.diagonal_ is None
    styles = [(d.line_[0].get_color(), d.line_[0].get_marker()) for d in (first, second)]
    assert styles[0][0] != styles[1][0] and styles[0][1] != styles[1][1]
    names = [text.get_text().split(" (")[0] for text in second.legend_.get_texts()]
    assert names == ["perfectly calibrated", "one", "two"]


def test_the_histogram_counts_every_row(model: KernelSDGMClassifier) -> None:
    display = ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=new_axes())
    assert display.histogram_.get_data().values.sum() == len(y_test)


def test_many_classes_and_predictions_without_a_model_can_be_drawn() -> None:
    rows, labels = load_iris(return_X_y=True)
    P = LogisticRegression(max_iter=1000).fit(rows, labels).predict_proba(rows)
    display = ReliabilityDisplay.from_predictions(labels, P, ax=new_axes())
    assert display.lowest == pytest.approx(1 / 3)
    assert display.legend_.get_texts()[1].get_text().startswith("ECE ")


@pytest.mark.parametrize(("n_true", "n"), [(0, 5), (3, 10), (50, 50), (1, 1)])
def test_bars_are_wilson_intervals(n_true: int, n: int) -> None:
    bins = CalibrationBins(np.array([n]), np.array([0.5]), np.array([n_true / n]))
    low, high = binomtest(n_true, n).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson_interval(bins)[:, 0], [low, high], atol=1e-6)
