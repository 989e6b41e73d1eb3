"""Claims about pictures of fitted classifiers."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

pytest.importorskip("matplotlib")

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.plotting import BoundaryDisplay, leads, new_axes

X, y, _, _ = make_ripley().split()


@pytest.fixture(scope="module")
def model() -> KernelSDGMClassifier:
    return KernelSDGMClassifier(gamma=1.0, standardize=False, preset="paper", random_state=3).fit(
        X, y
    )


@pytest.fixture(autouse=True)
def no_figure_is_left_behind() -> Any:
    before = plt.get_fignums()
    yield
    assert plt.get_fignums() == before


def draw(model: Any, X: Any = X, y: Any = y, **options: Any) -> BoundaryDisplay:
    options.setdefault("ax", new_axes())
    return BoundaryDisplay.from_estimator(model, X, y, grid_resolution=120, **options)


def vertices(lines: list[Any]) -> np.ndarray:
    return np.concatenate([path.vertices for line in lines for path in line.get_paths()])


def test_the_picture_is_drawn_on_the_axes_given(model: KernelSDGMClassifier) -> None:
    ax = new_axes()
    display = draw(model, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    artists = [display.surface_, *display.points_, display.relevance_points_, display.legend_]
    artists += display.class_lines_
    assert set(artists) <= set(ax.get_children())
    assert ax.get_xlabel() == "$x_1$" and ax.get_aspect() == 1.0


def test_without_axes_it_is_a_figure_of_pyplot(model: KernelSDGMClassifier) -> None:
    display = draw(model, ax=None)
    assert display.figure_.number in plt.get_fignums()
    plt.close(display.figure_)


def test_the_class_boundary_is_where_both_classes_are_equally_probable(
    model: KernelSDGMClassifier,
) -> None:
    line = vertices(draw(model).class_lines_)
    assert len(line) > 50
    np.testing.assert_allclose(model.predict_proba(line), 0.5, atol=0.01)


def test_component_boundaries_are_between_two_components_where_their_class_wins(
    model: KernelSDGMClassifier,
) -> None:
    display = draw(model)
    assert display.component_lines_
    for c, lines in display.component_lines_.items():
        points = vertices(lines)
        P_cm = model.predict_component_proba(points)[:, model.component_class_ == c]
        two_best = np.sort(P_cm, axis=1)[:, -2:]
        np.testing.assert_allclose(two_best[:, 0], two_best[:, 1], atol=0.01)
        assert (model.predict_proba(points)[:, c] > 0.45).all()


def test_relevance_vectors_have_circles_and_every_row_a_marker(model: KernelSDGMClassifier) -> None:
    display = draw(model)
    circles = display.relevance_points_.get_offsets()
    np.testing.assert_array_equal(circles, model.relevance_vectors_)
    assert [len(points.get_offsets()) for points in display.points_] == [125, 125]


def test_shading_is_white_on_the_boundary_and_strongest_where_a_class_is_certain(
    model: KernelSDGMClassifier,
) -> None:
    display = draw(model)
    lead = np.abs(display.P_c[..., 0] - display.P_c[..., 1])
    saturation = 1.0 - display.surface_.get_array().min(axis=-1)
    assert saturation[lead < 0.02].max() < 0.01
    assert saturation[lead > 0.99].min() > 0.3


def test_the_legend_lies_below_the_axes_and_names_what_is_drawn(
    model: KernelSDGMClassifier, tmp_path: Path
) -> None:
    display = draw(model)
    display.figure_.savefig(tmp_path / "boundary.png")  # lays out
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names[:2] == ["class 0", "class 1"]
    assert f"relevance vectors ({len(model.relevance_vectors_)})" in names
    assert display.legend_.get_window_extent().y1 < display.ax_.get_window_extent().y0
    assert draw(model, legend=False).legend_ is None


def test_rows_and_circles_can_be_left_out(model: KernelSDGMClassifier) -> None:
    display = draw(model, rows=False, relevance=False)
    assert display.points_ == [] and display.relevance_points_ is None
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names and all(name.startswith("between") for name in names)


def test_the_compact_look_has_no_ticks_names_or_legend(model: KernelSDGMClassifier) -> None:
    display = draw(model, compact=True)
    ax = display.ax_
    assert not len(ax.get_xticks()) and not len(ax.get_yticks())
    assert ax.get_xlabel() == ax.get_ylabel() == "" and display.legend_ is None
    assert draw(model, compact=True, legend=True).legend_ is not None
    large = draw(model).points_[0].get_sizes()
    assert display.points_[0].get_sizes() < large


def test_classes_can_be_distinguished_without_colour(model: KernelSDGMClassifier) -> None:
    display = draw(model)
    dashes = {
        str(handle.get_linestyle()) + str(handle._dash_pattern)
        for handle in display.legend_handles()
        if isinstance(handle, mpl.lines.Line2D)
    }
    assert len(dashes) == len(display.component_lines_) + 1 == 3
    first, second = (points.get_paths()[0].vertices for points in display.points_)
    assert first.shape != second.shape


@pytest.mark.parametrize(
    ("library", "frame"),
    [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")],
)
def test_frames_give_their_names_to_the_axes(library: str, frame: str) -> None:
    table = getattr(pytest.importorskip(library), frame)({"age": X[:, 0], "dose": X[:, 1]})
    labels = np.array(["no", "yes"])[y]
    display = draw(SDGMClassifier(random_state=0).fit(table, labels), table, labels)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("age", "dose")
    assert display.relevance_points_ is None
    assert display.legend_.get_texts()[1].get_text() == "class yes"


def test_inputs_of_unequal_units_fill_the_picture() -> None:
    table = np.column_stack([4e4 + 1e4 * X[:, 0], 0.01 * X[:, 1]])
    display = draw(LogisticRegression().fit(table, y), table)
    display.figure_.canvas.print_figure(io.BytesIO())  # lays out
    box = display.ax_.get_window_extent()
    assert 0.25 < box.height / box.width < 4.0


def test_any_classifier_with_probabilities_and_any_number_of_classes_can_be_drawn() -> None:
    points, labels = make_blobs(90, centers=[(0, 0), (4, 0), (2, 4)], random_state=0)
    display = draw(LogisticRegression().fit(points, labels), points, labels)
    assert len(display.class_lines_) == 3
    assert display.component_lines_ == {}


def test_more_or_fewer_than_two_inputs_are_refused() -> None:
    three = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match=r"shape \(250, 3\).*needs two features"):
        draw(SDGMClassifier(random_state=0).fit(three, y), three)


def test_leads_are_of_pairs_that_win_somewhere_and_masked_where_neither_does() -> None:
    P = np.array([[[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]])
    where = np.array([[True, True, True, False]])
    first, second, third = leads(P, where)
    assert first.mask.tolist() == [[False, False, True, True]]
    np.testing.assert_allclose(first.compressed(), [0.3, -0.3])
    assert second.mask.tolist() == [[False, True, False, True]]
    assert third.mask.tolist() == [[True, False, False, True]]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("sdgm.plotting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "sdgm\[plot\]"'):
        import sdgm.plotting  # noqa: F401
