"""Claims about pictures of components as Gaussians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from sdgm import DiscriminativeGMMClassifier, KernelSDGMClassifier, RVMClassifier
from sdgm.datasets import make_ripley
from sdgm.datasets.ripley import MEANS
from sdgm.plotting import ComponentsDisplay, new_axes

X, y, _, _ = make_ripley().split()


@pytest.fixture(scope="module")
def model() -> KernelSDGMClassifier:
    return KernelSDGMClassifier(2, random_state=0, teacher=None).fit(X, y)


def draw(model: Any, X: Any = X, y: Any = y, **options: Any) -> ComponentsDisplay:
    options.setdefault("ax", new_axes())
    return ComponentsDisplay.from_estimator(model, X, y, grid_resolution=80, **options)


def test_with_the_moments_of_the_rows_the_true_gaussians_are_found_again() -> None:
    many, labels, _, _ = make_ripley(n_train=4000).split()
    fitted = KernelSDGMClassifier(2, random_state=0, teacher=None).fit(many, labels)
    display = draw(fitted, many, labels)
    assert display.gaussian.all()
    for c in range(2):
        own = display.means[display.component_class == c]
        np.testing.assert_allclose(own[own[:, 0].argsort()], MEANS[c], atol=0.1)
    np.testing.assert_allclose(display.shares, 0.25, atol=0.06)
    truth = np.broadcast_to(0.03 * np.eye(2), (4, 2, 2))
    np.testing.assert_allclose(display.covariances, truth, atol=0.025)


def test_ellipses_lie_one_and_two_standard_deviations_from_the_mean(
    model: KernelSDGMClassifier,
) -> None:
    display = draw(model)
    assert display.ellipses_
    for k, ellipses in display.ellipses_.items():
        S = np.linalg.inv(display.covariances[k])
        for sigmas, ellipse in zip((1.0, 2.0), ellipses, strict=True):
            angles = np.linspace(0.0, 2.0 * np.pi, 12)
            circle = np.column_stack([np.cos(angles), np.sin(angles)])
            offset = ellipse.get_patch_transform().transform(circle) - display.means[k]
            distance = np.sqrt(np.einsum("ni,ij,nj->n", offset, S, offset))
            np.testing.assert_allclose(distance, sigmas)


def test_shares_sum_to_one_and_are_written_at_the_means(model: KernelSDGMClassifier) -> None:
    display = draw(model)
    assert display.shares is not None and display.shares.sum() == pytest.approx(1.0)
    for k, text in display.texts_.items():
        assert text.get_text() == f"{100 * display.shares[k]:.0f}%"
        np.testing.assert_allclose(text.get_position(), display.means[k])


def test_components_that_are_not_gaussians_have_lines_where_they_win(
    model: KernelSDGMClassifier,
) -> None:
    display = draw(model, shared="zero")
    assert not display.gaussian.all() and display.shares is None
    assert set(display.ellipses_) <= set(np.flatnonzero(display.gaussian))
    line = np.concatenate([p.vertices for c in display.winning_lines_ for p in c.get_paths()])
    two_best = np.sort(model.predict_component_proba(line), axis=1)[:, -2:]
    np.testing.assert_allclose(two_best[:, 0], two_best[:, 1], atol=0.03)
    for k, text in display.texts_.items():
        assert not display.gaussian[k] and text.get_text() == "not Gaussian"


@pytest.mark.parametrize(
    ("shared", "words"),
    [("rows", "mean and covariance of the rows"), ("zero", "no shared form")],
)
def test_the_legend_says_which_shared_form_was_taken(
    model: KernelSDGMClassifier, shared: str, words: str
) -> None:
    names = [text.get_text() for text in draw(model, shared=shared).legend_.get_texts()]
    assert any(words in name for name in names)


def test_components_that_no_row_belongs_to_are_left_out() -> None:
    fitted = DiscriminativeGMMClassifier(random_state=0).fit(X, y)
    display = draw(fitted)
    dead = np.flatnonzero(display.P_cm.max(axis=(0, 1)) < 0.01)
    assert len(dead) and not set(dead) & set(display.ellipses_)


def test_frames_give_their_names_and_rows_and_legend_can_be_left_out() -> None:
    table = pytest.importorskip("pandas").DataFrame({"age": 10.0 * X[:, 0] + 40.0, "dose": X[:, 1]})
    fitted = KernelSDGMClassifier(2, random_state=0, teacher=None).fit(table, y)
    display = draw(fitted, table, rows=False, legend=False)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("age", "dose")
    assert display.points_ == [] and display.legend_ is None
    low, high = table["age"].min(), table["age"].max()
    assert ((display.means[:, 0] > low) & (display.means[:, 0] < high)).all()


def test_what_cannot_be_drawn_is_refused(model: KernelSDGMClassifier) -> None:
    with pytest.raises(ValueError, match="shared must be one of 'rows', 'zero', got 'none'"):
        draw(model, shared="none")
    with pytest.raises(ValueError, match="not quadratic functions"):
        draw(RVMClassifier().fit(X, y))
