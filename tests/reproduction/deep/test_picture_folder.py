"""Claims about folders of pictures, on one made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from reproduction.deep.picture_folder import MEAN, STD, load_pictures, middle, random_part

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes, red and blue, of pictures of several sizes and kinds."""
    for part, n in (("train", 6), ("val", 2)):
        for name, color in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
            (tmp_path / part / name).mkdir(parents=True)
            for i in range(n):
                picture = Image.new("RGB", (30 + 5 * i, 40), color)
                picture.save(tmp_path / part / name / f"{i}.{'png' if i % 2 else 'JPEG'}")
    Image.new("L", (9, 9), 128).save(tmp_path / "val" / "red" / "grey.png")
    (tmp_path / "train" / "red" / "notes.txt").write_text("no picture")
    return tmp_path


def test_classes_are_folders_in_the_order_of_their_names(folder: Path) -> None:
    train, test = load_pictures(folder, size=16)
    assert train.n_classes == 2
    assert sorted(train.labels.tolist()) == [0] * 6 + [1] * 6
    assert len(test.labels) == 5
    for file, label in zip(train.files, train.labels.tolist(), strict=True):
        assert file.parent.name == ["blue", "red"][label]


def test_batches_are_squares_of_the_pictures_colours(folder: Path) -> None:
    train, _ = load_pictures(folder, size=16)
    rows = torch.arange(12)
    for generator in (None, torch.Generator().manual_seed(0)):
        x = train.batch(rows, generator)
        assert x.shape == (12, 3, 16, 16)
        shown = x.movedim(1, -1) * torch.tensor(STD) + torch.tensor(MEAN)
        blue, red = torch.tensor([0.0, 0.0, 1.0]), torch.tensor([1.0, 0.0, 0.0])
        for picture, label in zip(shown, train.labels.tolist(), strict=True):
            torch.testing.assert_close(
                picture, (red if label else blue).expand(16, 16, 3), atol=0.02, rtol=0
            )


def test_a_share_of_a_batch_is_varied_as_it_is_in_the_whole(folder: Path) -> None:
    train, _ = load_pictures(folder, size=16)
    gradient = np.arange(40 * 40 * 3, dtype=np.uint32).reshape(40, 40, 3).astype(np.uint8)
    for file in train.files:
        Image.fromarray(gradient).save(file)
    rows = torch.arange(6)
    whole = train.batch(rows, torch.Generator().manual_seed(0))
    share = train.batch(rows, torch.Generator().manual_seed(0), slice(1, None, 2))
    assert torch.equal(share, whole[1::2])


def test_grey_pictures_have_three_channels(folder: Path) -> None:
    _, test = load_pictures(folder, size=8)
    (row,) = [i for i, file in enumerate(test.files) if file.stem == "grey"]
    assert test.batch(torch.tensor([row])).shape == (1, 3, 8, 8)


def test_random_parts_lie_in_the_picture_and_repeat() -> None:
    picture = Image.new("RGB", (50, 20))
    for draws in np.random.default_rng(0).random((200, 5)):
        left, top, right, bottom = random_part(picture, draws)
        assert 0 <= left < right <= 50 + 1e-9
        assert 0 <= top < bottom <= 20 + 1e-9
    left, top, right, bottom = middle(picture)
    assert (right - left, bottom - top) == pytest.approx((17.5, 17.5))


def test_pictures_held_back_are_not_trained_on(folder: Path) -> None:
    train, held = load_pictures(folder, held_back=True, size=8)
    assert (len(train.files), len(held.files)) == (10, 2)
    assert not set(train.files) & set(held.files)
    assert len(load_pictures(folder, train_size=3)[0].files) == 3


def test_folders_that_are_not_as_needed_are_named(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        load_pictures(folder / "nowhere")
    (folder / "val" / "green").mkdir()
    with pytest.raises(ValueError, match="different classes"):
        load_pictures(folder)
    (folder / "empty" / "train" / "red").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="no pictures in the folders"):
        load_pictures(folder / "empty")
