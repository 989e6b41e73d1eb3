"""Claims about pictures of rejection curves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

pytest.importorskip("matplotlib")

from sdgm import KernelSDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.metrics import area_under_rejection_curve, rejection_curve
from sdgm.plotting import RejectionDisplay, new_axes
from sdgm.plotting.rejection import perfect_curve

X, y, X_test, y_test = make_ripley().split()


@pytest.fixture(scope="module")
def model() -> KernelSDGMClassifier:
    return KernelSDGMClassifier(1, random_state=0, teacher=None).fit(X, y)


def test_the_curve_drawn_is_the_rejection_curve(model: KernelSDGMClassifier) -> None:
    display = RejectionDisplay.from_estimator(model, X_test, y_test, ax=new_axes())
    curve = rejection_curve(y_test, model.predict_proba(X_test))
    share, error = display.line_.get_data()
    np.testing.assert_array_equal(share[1:], curve.answered)
    np.testing.assert_array_equal(error[1:], curve.error)
    assert share[0] == 0.0 and error[0] == curve.error[0]
    assert error[-1] == pytest.approx(1.0 - model.score(X_test, y_test))
    assert display.ax_.get_xlim() == (0.0, 1.0)


def test_the_mean_shown_is_the_area(model: KernelSDGMClassifier) -> None:
    display = RejectionDisplay.from_estimator(model, X_test, y_test, ax=new_axes())
    area = area_under_rejection_curve(y_test, model.predict_proba(X_test))
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert f"KernelSDGMClassifier (mean {100 * area:.1f}%)" in texts


@pytest.mark.parametrize("error", [0.0, 0.01, 0.4, 1.0])
def test_the_perfect_curve_is_below_and_has_the_perfect_area(error: float) -> None:
    share, errors = perfect_curve(error)
    assert share[0] == 0.0 and share[-1] == 1.0 and errors[-1] == pytest.approx(error)
    sure = np.linspace(0.9, 0.6, 1000)
    wrong = (np.arange(1000) >= round(1000 * (1 - error))).astype(int)
    curve = rejection_curve(wrong, np.column_stack([sure, 1 - sure]), labels=[0, 1])
    assert trapezoid(errors, share) == pytest.approx(curve.perfect_area, abs=1e-3)


def test_several_models_share_axes_and_differ_in_colour_and_dashes(
    model: KernelSDGMClassifier,
) -> None:
    first = RejectionDisplay.from_estimator(model, X_test, y_test, name="one", ax=new_axes())
    other = LogisticRegression().fit(X, y)
    second = RejectionDisplay.from_estimator(other, X_test, y_test, name="two", ax=first.ax_)
    third = RejectionDisplay.from_estimator(
        other, X_test, y_test, name="three", perfect=False, ax=first.ax_
    )
    assert second.ax_ is first.ax_ and third.perfect_ is None
    lines = [display.line_ for display in (first, second, third)]
    assert len({line.get_color() for line in lines}) == 3
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert second.perfect_.get_color() == second.line_.get_color()
    names = [text.get_text().split(" (")[0] for text in third.legend_.get_texts()]
    assert names == ["one", "perfect order", "two", "three"]
    highest = max(display.curve.error.max() for display in (first, second))
    assert first.ax_.get_ylim()[1] >= highest


def test_weights_labels_and_many_classes_are_passed_on() -> None:
    rows, labels = load_iris(return_X_y=True)
    named = np.array(["c", "a", "b"])[labels]
    other = LogisticRegression(max_iter=1000).fit(rows, named)
    s = np.random.default_rng(0).integers(0, 3, len(rows))
    display = RejectionDisplay.from_estimator(other, rows, named, sample_weight=s, ax=new_axes())
    expected = rejection_curve(
        named, other.predict_proba(rows), labels=other.classes_, sample_weight=s
    )
    for drawn, wanted in zip(display.curve, expected, strict=True):
        np.testing.assert_array_equal(drawn, wanted)


def test_no_error_at_all_can_be_drawn() -> None:
    display = RejectionDisplay.from_predictions([0, 1], np.eye(2), ax=new_axes())
    assert display.curve.area == display.curve.perfect_area == 0.0
    assert display.ax_.get_ylim()[1] > 0.0
    assert display.legend_.get_texts()[0].get_text() == "mean 0.0%"
