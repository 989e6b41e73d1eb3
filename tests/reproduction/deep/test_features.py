"""Claims about the figure of features, on toy images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from reproduction.deep import features
from reproduction.deep.heads import Head
from reproduction.deep.images import StoredImages

pytest.importorskip("matplotlib")


def digits(n: int, seed: int) -> StoredImages:
    """Noise of the size of digits."""
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (n, 1, 28, 28), generator=generator).to(torch.uint8)
    statistics = torch.tensor([128.0]), torch.tensor([74.0])
    return StoredImages(pixels, torch.arange(n) % 10, 10, *statistics)


@pytest.fixture
def panels(tmp_path: Path) -> list[features.Panel]:
    options = features.TrainingOptions(epochs=1, batch_size=32)
    return [
        features.trained_panel(head, normalized, digits(64, 0), digits(30, 1), options, tmp_path)
        for head, normalized in features.PANELS
    ]


def test_both_heads_are_shown_with_and_without_normalisation(panels: list[features.Panel]) -> None:
    shown = [(panel.head, panel.normalized) for panel in panels]
    assert shown == [("softmax", False), ("sdgm", False), ("softmax", True), ("sdgm", True)]
    figure = features.drawn(panels)
    titles = [ax.get_title() for ax in figure.axes]
    assert [title.split("\n")[0] for title in titles] == [
        "Softmax, features as they are",
        "SDGM, features as they are",
        "Softmax, normalised features",
        "SDGM, normalised features",
    ]
    for ax, panel in zip(figure.axes, panels, strict=True):
        assert f"{100 * panel.error:.2f}% test error" in ax.get_title()
        drawn = np.concatenate([points.get_offsets() for points in ax.collections])
        order = np.lexsort(drawn.T)
        expected = panel.features[np.lexsort(panel.features.T)]
        np.testing.assert_allclose(drawn[order], expected)
        assert ax.get_aspect() == 1.0


def test_the_two_heads_of_a_row_start_with_the_same_network_and_see_the_same_images(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = []
    monkeypatch.setattr(
        features, "train", lambda model, images, options, **_: started.append((model, options))
    )
    options = features.TrainingOptions(epochs=1, batch_size=32)
    for head in (Head.SOFTMAX, Head.SDGM):
        features.trained_panel(head, True, digits(64, 0), digits(30, 1), options, tmp_path)
    (one, options_one), (other, options_other) = started
    pairs = zip(one.net.parameters(), other.net.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert options_one.head_lr == options_other.head_lr == features.NORMALIZED_HEAD_LR
    assert options_one.seed == options_other.seed


def test_a_drawing_is_made_of_finished_trainings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(features, "load_images", lambda *_, **__: (digits(130, 0), digits(30, 1)))
    paths = features.draw_features(tmp_path, quick=True)
    assert [path.name for path in paths] == ["features.png", "features.svg"]
    told: list[int] = []
    again = features.draw_features(
        tmp_path, quick=True, progress=lambda done, total: told.append(done)
    )
    assert again == paths
    assert told == []
