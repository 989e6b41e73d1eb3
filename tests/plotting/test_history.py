"""Claims about pictures of the course of a fit."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.plotting import HistoryDisplay, new_axes

X, y, _, _ = make_ripley().split()


@pytest.fixture(scope="module")
def model() -> KernelSDGMClassifier:
    return KernelSDGMClassifier(random_state=0).fit(X, y)


def test_curves_are_those_of_the_records(model: KernelSDGMClassifier) -> None:
    display = HistoryDisplay.from_estimator(model, ax=new_axes())
    lines = display.sparsity_lines_ | display.objective_lines_
    for name, line in lines.items():
        field = {"weights": "n_weights", "components": "n_components"}.get(name)
        field = field or name.replace(" ", "_")
        expected = [getattr(record, field) for record in model.history_]
        np.testing.assert_array_equal(line.get_ydata(), expected)
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(expected) + 1))
    assert len(lines) == 5


def test_panels_share_iterations_and_the_upper_one_is_logarithmic(
    model: KernelSDGMClassifier,
) -> None:
    display = HistoryDisplay.from_estimator(model, ax=new_axes())
    upper, lower = display.axes_
    assert upper.get_yscale() == "log" and lower.get_yscale() == "linear"
    assert upper.get_shared_x_axes().joined(upper, lower)
    assert upper.get_xscale() == lower.get_xscale() == "log"
    linear = HistoryDisplay.from_estimator(model, ax=new_axes(), xscale="linear")
    assert linear.axes_[0].get_xscale() == "linear"
    labels = [text.get_text() for text in upper.get_legend().get_texts()]
    assert f"→ {model.n_active_weights_})" in labels[0]


def test_one_axes_is_split_in_its_place_and_a_pair_is_used_as_it_is(
    model: KernelSDGMClassifier,
) -> None:
    figure = new_axes().figure
    figure.clear()
    left, right = figure.subplots(1, 2)
    display = HistoryDisplay.from_estimator(model, ax=left)
    assert display.figure_ is figure and left not in figure.axes and right in figure.axes
    again = HistoryDisplay.from_estimator(model, ax=display.axes_)
    assert again.axes_ == display.axes_
    free = new_axes().figure.add_axes((0.1, 0.1, 0.5, 0.5))
    with pytest.raises(ValueError, match="not part of a grid"):
        HistoryDisplay.from_estimator(model, ax=free)


def test_without_axes_it_is_a_figure_of_pyplot(model: KernelSDGMClassifier) -> None:
    display = HistoryDisplay.from_estimator(model)
    assert display.figure_.number in plt.get_fignums()
    plt.close(display.figure_)


def test_a_fit_that_ends_without_weights_can_be_drawn() -> None:
    counts, values = np.array([3, 1, 0]), np.array([-3.0, -2.0, -1.0])
    display = HistoryDisplay(
        iteration=np.arange(1, 4),
        n_weights=counts,
        n_components=np.array([2, 2, 2]),
        log_likelihood=values,
        log_posterior=values,
        log_evidence=values,
    ).plot(ax=new_axes())
    FigureCanvasAgg(display.figure_).draw()
    assert display.axes_[0].get_ylim()[0] <= 0.0


def test_an_estimator_without_history_is_refused() -> None:
    with pytest.raises(ValueError, match="SDGMClassifier has no history to draw; fit it first"):
        HistoryDisplay.from_estimator(SDGMClassifier())
