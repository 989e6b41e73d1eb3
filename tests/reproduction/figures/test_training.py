"""Claims about the snapshots and the film of learning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("matplotlib")

from PIL import Image

from reproduction.figures.training import (
    FILM_FRAMES,
    LAST_TIME,
    N_SNAPSHOTS,
    Training,
    draw_training,
    film_iterations,
    learned,
    snapshot_iterations,
)
from sdgm.datasets import data_folder
from sdgm.datasets.ripley import PACKED


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("SDGM_DATA", str(tmp_path_factory.mktemp("empty")))
        return learned(seed=0)


def test_the_classifier_of_the_last_state_is_the_fitted_one(training: Training) -> None:
    model = training.model
    last = training.classifier(model.n_iter_)
    grid = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 2))
    np.testing.assert_allclose(
        last.predict_component_proba(grid), model.predict_component_proba(grid), atol=1e-12
    )
    np.testing.assert_allclose(last.predict_proba(grid), model.predict_proba(grid), atol=1e-12)
    np.testing.assert_array_equal(last.relevance_vectors_, model.relevance_vectors_)


def test_every_state_is_a_classifier_that_gets_along_with_fewer_and_fewer_rows(
    training: Training,
) -> None:
    n_vectors = []
    for iteration in snapshot_iterations(training.components):
        classifier = training.classifier(iteration)
        P = classifier.predict_proba(training.X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert np.mean(P.argmax(axis=1) == training.y) > 0.8
        n_vectors.append(len(classifier.relevance_vectors_))
    assert n_vectors == sorted(n_vectors, reverse=True) and n_vectors[0] > 10 * n_vectors[-1]


def test_captions_tell_what_is_left(training: Training) -> None:
    model = training.model
    a, b = model.n_components_
    expected = f"{model.n_active_weights_} weights, {a} + {b} components"
    assert training.caption(model.n_iter_) == expected
    assert "3 + 3 components" in training.caption(1)
    assert "generated rows" in training.title


@given(st.data())
def test_snapshots_begin_at_the_start_show_the_first_loss_and_end_at_the_end(
    data: st.DataObject,
) -> None:
    lengths = data.draw(st.lists(st.integers(1, 300), min_size=1, max_size=5))
    components = np.repeat(np.arange(len(lengths), 0, -1), lengths)[:, None]
    chosen = snapshot_iterations(components)
    assert chosen == sorted(set(chosen))
    assert chosen[0] == 1 and chosen[-1] == len(components)
    assert len(chosen) == min(N_SNAPSHOTS, len(components))
    losses = np.cumsum(lengths)[:-1] + 1
    assert set(losses[: N_SNAPSHOTS - 3]) <= set(chosen)


@given(n_iter=st.integers(1, 20_000), n_frames=st.integers(2, 60))
def test_the_film_goes_from_start_to_end_in_about_as_many_frames_as_wanted(
    n_iter: int, n_frames: int
) -> None:
    iterations = film_iterations(n_iter, n_frames)
    assert iterations[0] == 1 and iterations[-1] == n_iter
    assert (np.diff(iterations) > 0).all()
    assert len(iterations) <= n_frames
    assert len(iterations) >= min(0.9 * n_frames, n_iter) - 1


def check_film(path: Path, n_frames: int) -> None:
    assert path.stat().st_size < 1.5e6
    with Image.open(path) as film:
        assert film.n_frames == n_frames
        assert film.info["loop"] == 0
        assert film.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
        film.seek(n_frames - 1)
        assert film.info["duration"] == LAST_TIME


def test_two_pictures_and_a_film_are_written(
    training: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproduction.figures.training.learned", lambda seed: training)
    paths = draw_training(tmp_path / "new", quick=True)
    assert [path.name for path in paths] == ["training.png", "training.svg", "training.gif"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"<?xml")
    check_film(paths[2], 6)


@pytest.mark.slow
def test_the_whole_film_is_small(
    training: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproduction.figures.training.learned", lambda seed: training)
    n_frames = len(film_iterations(len(training.records), FILM_FRAMES))
    check_film(draw_training(tmp_path)[-1], n_frames)


@pytest.mark.skipif(
    not (data_folder() / PACKED).is_file(), reason="the published rows are not in SDGM_DATA"
)
def test_on_the_published_rows_one_component_of_each_class_is_removed_as_in_the_paper() -> None:
    training = learned(seed=0)
    assert "published rows" in training.title
    assert training.components[0].tolist() == [3, 3]
    assert training.components[-1].tolist() == [2, 2]
    assert training.model.n_active_weights_ <= 8
