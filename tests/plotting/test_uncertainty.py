"""Claims about pictures of the posterior's standard deviation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

pytest.importorskip("matplotlib")

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.plotting import UncertaintyDisplay, new_axes

X, y, _, _ = make_ripley().split()
SIZE = 30


@pytest.fixture(scope="module")
def model() -> KernelSDGMClassifier:
    return KernelSDGMClassifier(random_state=0).fit(X, y)


def points(display: UncertaintyDisplay) -> np.ndarray:
    return np.stack(np.meshgrid(display.x1, display.x2), axis=-1).reshape(-1, 2)


def test_shading_is_the_standard_deviation_of_the_averaged_probabilities(
    model: KernelSDGMClassifier,
) -> None:
    display = UncertaintyDisplay.from_estimator(model, X, y, grid_resolution=SIZE, ax=new_axes())
    _, std = model.predict_proba_averaged(points(display), return_std=True)
    np.testing.assert_allclose(display.std.ravel(), std[:, 0], atol=1e-7)
    np.testing.assert_array_equal(display.surface_.get_array(), display.std)
    assert display.surface_.norm.vmin == 0.0
    assert len(display.points_) == 2 and display.class_lines_


def test_with_three_classes_it_is_that_of_the_most_probable_or_the_one_asked_for() -> None:
    rows, labels = make_blobs(90, centers=[(0, 0), (4, 0), (2, 4)], cluster_std=1.5, random_state=0)
    labels = np.array(["a", "b", "c"])[labels]
    model = SDGMClassifier(n_components=1, random_state=0, teacher=None).fit(rows, labels)
    display = UncertaintyDisplay.from_estimator(
        model, rows, labels, grid_resolution=SIZE, ax=new_axes()
    )
    mean, std = model.predict_proba_averaged(points(display), return_std=True)
    best = std[np.arange(len(std)), mean.argmax(axis=1)]
    np.testing.assert_allclose(display.std.ravel(), best, atol=1e-7)
    display = UncertaintyDisplay.from_estimator(
        model, rows, labels, class_label="b", grid_resolution=SIZE, ax=new_axes()
    )
    np.testing.assert_allclose(display.std.ravel(), std[:, 1], atol=1e-7)
    assert "P(b | x)" in display.colorbar_.ax.get_ylabel()
    with pytest.raises(ValueError, match=r"class_label 'd' is not among .*\['a', 'b', 'c'\]"):
        UncertaintyDisplay.from_estimator(model, rows, labels, class_label="d")


def test_the_colour_bar_is_as_high_as_the_axes(model: KernelSDGMClassifier, tmp_path: Path) -> None:
    display = UncertaintyDisplay.from_estimator(model, X, y, grid_resolution=SIZE, ax=new_axes())
    display.figure_.savefig(tmp_path / "uncertainty.png")  # lays out
    bar, axes = display.colorbar_.ax.get_window_extent(), display.ax_.get_window_extent()
    assert bar.height == pytest.approx(axes.height, rel=0.01)
    assert bar.x0 > axes.x1


def test_rows_and_legend_can_be_left_out(model: KernelSDGMClassifier) -> None:
    display = UncertaintyDisplay.from_estimator(
        model, X, y, grid_resolution=SIZE, ax=new_axes(), rows=False, legend=False
    )
    assert display.points_ == [] and display.legend_ is None
