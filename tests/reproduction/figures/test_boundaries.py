"""Claims about the figure of five classifiers on Ripley's problem."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from reproduction.figures.boundaries import (
    boundaries_figure,
    draw_boundaries,
    fitted_panels,
    ridge_note,
)
from sdgm.datasets import make_ripley

DATA = make_ripley()


def test_png_and_svg_are_written_to_a_folder_that_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    files = draw_boundaries(tmp_path / "new" / "folder", quick=True)
    assert [file.name for file in files] == ["boundaries.png", "boundaries.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert files[1].read_bytes().startswith(b"<?xml")
    assert b"dc:date" not in files[1].read_bytes()


def test_every_panel_says_its_error_and_weights() -> None:
    panels = fitted_panels(DATA, 0, quick=True)
    _, _, X_test, y_test = DATA.split()
    figure = boundaries_figure(DATA, panels, note="a note", grid=30)
    *axes, corner = figure.axes
    for panel, ax in zip(panels, axes, strict=True):
        assert panel.error == np.mean(panel.model.predict(X_test) != y_test)
        assert ax.get_title().strip() == panel.name
        texts = [text.get_text() for text in ax.texts]
        assert texts == [f"test error {100 * panel.error:.1f}%,  {panel.n_weights} weights"]
    names = [text.get_text() for text in corner.get_legend().get_texts()]
    assert names[:2] == ["class 0", "class 1"] and "relevance vectors" in names
    assert len(names) == len(set(names)) == 6
    assert corner.texts[0].get_text() == "a note"


def test_the_mixture_keeps_all_components_and_the_sdgm_only_those_it_needs() -> None:
    *_, mixture, sdgm = fitted_panels(DATA, 0, quick=True)
    assert mixture.model.n_components_.tolist() == [3, 3] and mixture.n_weights == 36
    assert (mixture.model.mixture_weights_ > 0.01).all()
    assert sdgm.model.n_components_.sum() < 6 and sdgm.n_weights < 12


def test_the_note_gives_the_error_with_the_default_ridge() -> None:
    from sdgm import DiscriminativeGMMClassifier

    X, y, X_test, y_test = DATA.split()
    error = 1.0 - DiscriminativeGMMClassifier(random_state=0).fit(X, y).score(X_test, y_test)
    assert f"its test error is {100 * error:.1f}%" in ridge_note(DATA, 0)
