"""Claims about the checkerboard and the waveforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdgm.datasets import Dataset, make_checkerboard, make_waveform
from sdgm.datasets.synthetic import CHECKERBOARD_GRID, CHECKERBOARD_SIGMA, WAVES, WAVES_OF_CLASS

MAKERS = [make_checkerboard, make_waveform]


def test_the_checkerboard_has_the_sizes_of_the_paper() -> None:
    X_train, y_train, X_test, y_test = make_checkerboard().split()
    assert X_train.shape == (320, 2) and X_test.shape == (1600, 2)
    assert np.bincount(y_train).tolist() == [160, 160]
    assert np.bincount(y_test).tolist() == [800, 800]


def test_the_checkerboard_is_sixteen_gaussians_of_alternating_class() -> None:
    _, _, X, y = make_checkerboard(n_train=1, n_test=10_000).split()
    groups, labels = X.reshape(4, 4, -1, 2), y.reshape(4, 4, -1)  # rows from the top, columns
    assert np.all(labels == labels[:, :, :1])
    np.testing.assert_array_equal(labels[:, :, 0], np.tile([[0, 1], [1, 0]], (2, 2)))
    means = groups.mean(axis=2)
    np.testing.assert_allclose(means[:, :, 0], np.tile(CHECKERBOARD_GRID, (4, 1)), atol=0.006)
    np.testing.assert_allclose(
        means[:, :, 1].T, np.tile(CHECKERBOARD_GRID[::-1], (4, 1)), atol=0.006
    )
    for group in groups.reshape(16, -1, 2):
        np.testing.assert_allclose(np.cov(group.T), CHECKERBOARD_SIGMA**2 * np.eye(2), atol=1e-3)


def test_bayes_rule_errs_on_seven_percent_of_the_checkerboard() -> None:
    _, _, X, y = make_checkerboard(n_train=1, n_test=10_000).split()
    # the nearest centre's class is all but Bayes' rule: the parity of the cell that x is in
    column, row = np.clip(np.floor(2.0 * X + 2.0), 0, 3).T.astype(int)
    predicted = (column + 3 - row) % 2
    assert np.mean(predicted != y) == pytest.approx(0.066, abs=0.003)


def test_waveforms_have_the_means_and_variances_of_the_three_mixtures() -> None:
    data = make_waveform(n_train=1, n_test=60_000)
    np.testing.assert_allclose(np.bincount(data.y) / len(data.y), 1 / 3, atol=0.01)
    for c, (a, b) in enumerate(WAVES[WAVES_OF_CLASS]):
        X = data.X[data.y == c]
        np.testing.assert_allclose(X.mean(axis=0), (a + b) / 2, atol=0.06)
        np.testing.assert_allclose(X.var(axis=0), 1.0 + (a - b) ** 2 / 12, rtol=0.06)


def test_the_waves_are_triangles_of_height_six() -> None:
    assert WAVES.shape == (3, 21)
    assert (WAVES.argmax(axis=1) + 1).tolist() == [11, 15, 7]  # inputs are counted from 1
    assert np.all(WAVES.max(axis=1) == 6.0) and np.all(np.count_nonzero(WAVES, axis=1) == 11)


def test_two_classes_are_the_second_against_the_others() -> None:
    three, two = make_waveform(random_state=3), make_waveform(random_state=3, n_classes=2)
    np.testing.assert_array_equal(three.X, two.X)
    np.testing.assert_array_equal(three.y == 1, two.y == 1)
    assert np.unique(two.y).tolist() == [-1, 1]


@pytest.mark.parametrize("make", MAKERS)
def test_drawn_rows_depend_on_the_seed_alone(make: Callable[..., Dataset]) -> None:
    np.testing.assert_array_equal(make(random_state=1).X, make(random_state=1).X)
    assert not np.array_equal(make(random_state=1).X, make(random_state=2).X)
    data = make()
    assert data.generated and data.sha256 is None and list(data.split_names) == ["drawn"]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("sizes", [{"n_train": 0}, {"n_test": -1}])
def test_too_few_rows_are_refused(make: Callable[..., Dataset], sizes: dict[str, Any]) -> None:
    name, n = next(iter(sizes.items()))
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got {n}"):
        make(**sizes)


def test_waveforms_come_in_two_or_three_classes() -> None:
    with pytest.raises(ValueError, match="n_classes must be 2 or 3, got 4"):
        make_waveform(n_classes=4)
