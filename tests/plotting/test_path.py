"""Claims about pictures of error against weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sdgm import KernelSDGMClassifier, WeightsPath, weights_path
from sdgm.datasets import make_ripley
from sdgm.estimators.weights_path import PathScores
from sdgm.plotting import WeightsPathDisplay, new_axes
from sdgm.plotting.path import MARKED, MOST_TICKS, marked, whole_ticks

X, y, X_test, y_test = make_ripley(80, 50).split()


@cache
def model() -> Any:
    return KernelSDGMClassifier(2, random_state=0, teacher=None).fit(X, y)


@cache
def path() -> WeightsPath:
    return weights_path(model(), X, y)


def test_curves_are_those_of_the_path() -> None:
    display = WeightsPathDisplay.from_path(path(), X_test, y_test, ax=new_axes())
    test = path().evaluate(X_test, y_test)
    for name, error, log_loss in [
        ("training", path().error, path().log_loss),
        ("test", test.error, test.log_loss),
    ]:
        np.testing.assert_array_equal(display.error_lines_[name].get_ydata(), error)
        np.testing.assert_array_equal(display.log_loss_lines_[name].get_ydata(), log_loss)
        np.testing.assert_array_equal(display.error_lines_[name].get_xdata(), path().n_weights)
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["training", "test"]


def test_the_chosen_model_is_marked_and_named() -> None:
    budget = int(path().n_weights[1])
    display = WeightsPathDisplay.from_path(path(), chosen=budget, ax=new_axes())
    assert display.chosen == path().at_most(budget).n_active_weights_
    assert [line.get_xdata()[0] for line in display.chosen_lines_] == [display.chosen] * 2
    assert f"chosen: {display.chosen} weights" in {
        text.get_text() for text in display.legend_.get_texts()
    }
    one = WeightsPathDisplay.from_path(path(), chosen=1, ax=new_axes())
    assert "chosen: 1 weight" in {text.get_text() for text in one.legend_.get_texts()}
    assert WeightsPathDisplay.from_path(path(), ax=new_axes()).chosen_lines_ == []


def test_from_an_estimator_it_is_the_same_picture() -> None:
    one = WeightsPathDisplay.from_estimator(model(), X, y, X_test, y_test, ax=new_axes())
    other = WeightsPathDisplay.from_path(path(), X_test, y_test, ax=new_axes())
    for name in ("training", "test"):
        np.testing.assert_array_equal(
            one.log_loss_lines_[name].get_ydata(), other.log_loss_lines_[name].get_ydata()
        )


@pytest.mark.parametrize("xscale", ["log", "linear"])
@pytest.mark.parametrize("smallest", [0, 1])
def test_ticks_are_few_whole_numbers(xscale: str, smallest: int) -> None:
    n = np.arange(9, smallest - 1, -1)
    scores = {"training": PathScores(n, np.linspace(0.1, 0.5, len(n)), np.linspace(0, 1, len(n)))}
    display = WeightsPathDisplay(scores=scores).plot(ax=new_axes(), xscale=xscale)
    FigureCanvasAgg(display.figure_).draw()
    lower = display.axes_[1]
    assert lower.get_xscale() == ("symlog" if (xscale, smallest) == ("log", 0) else xscale)
    labels = [text.get_text() for text in lower.get_xticklabels()]
    assert 2 <= len(labels) <= MOST_TICKS + 2
    assert all(label.isdigit() for label in labels)


@pytest.mark.parametrize("largest", [1, 2, 5, 9, 30, 100, 1004])
@pytest.mark.parametrize("log", [True, False])
def test_ticks_of_any_range_are_within_it(largest: int, log: bool) -> None:
    ticks = whole_ticks(1, largest, log)
    assert ticks[0] == 1 and ticks[-1] <= largest
    assert (np.diff(ticks) > 0).all()
    assert len(ticks) <= 3 * len(str(largest)) + MOST_TICKS


def test_a_long_path_has_markers_where_they_can_be_told_apart() -> None:
    assert marked(np.arange(9, 0, -1)) == list(range(9))
    n = np.arange(500, 0, -1)
    assert n[marked(n)].tolist() == list(range(MARKED, 0, -1))


def test_half_of_a_test_set_is_refused() -> None:
    with pytest.raises(ValueError, match="belong together"):
        WeightsPathDisplay.from_path(path(), X_test, ax=new_axes())


def test_without_axes_it_is_a_figure_of_pyplot() -> None:
    display = WeightsPathDisplay.from_path(path())
    assert display.figure_.number in plt.get_fignums()
    plt.close(display.figure_)


def test_a_path_of_one_model_can_be_drawn() -> None:
    single = weights_path(model(), X, y, min_weights=1000)
    display = WeightsPathDisplay.from_path(single, X_test, y_test, ax=new_axes())
    FigureCanvasAgg(display.figure_).draw()
    shown = [text.get_text() for text in display.axes_[1].get_xticklabels()]
    assert shown == [str(single.n_weights[0])]
