"""Claims about reading images, on files made here and on the true ones where they are."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reproduction.datasets.cifar import CIFAR, content_sum
from reproduction.datasets.image_sets import IMAGES
from reproduction.deep import images
from reproduction.deep.images import (
    idx_array,
    is_there,
    load_images,
    mean_and_std,
    shifted,
)
from sdgm.datasets import DamagedDataError, MissingDataError
from tests.reproduction.deep.toy import toy_images


def idx_file(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return header + array.astype(np.uint8).tobytes()


def binary(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    """As in the binary release of CIFAR-10."""
    return np.column_stack([labels.astype(np.uint8), pixels.reshape(-1, 3072)]).tobytes()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """A data folder with a little MNIST and CIFAR-10, and the catalogue told of their checksums."""
    rng = np.random.default_rng(0)
    arrays = {
        "train": rng.integers(0, 256, (50, 28, 28), dtype=np.uint8),
        "train_labels": rng.integers(0, 10, 50, dtype=np.uint8),
        "test": rng.integers(0, 256, (7, 28, 28), dtype=np.uint8),
        "test_labels": rng.integers(0, 10, 7, dtype=np.uint8),
        "color": rng.integers(0, 256, (7, 3, 32, 32), dtype=np.uint8),
        "color_labels": np.arange(7),
    }
    order = ("train", "train_labels", "test", "test_labels")
    mnist = [idx_file(arrays[name]) for name in order]
    color, y = arrays["color"], arrays["color_labels"]
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    sums = {}
    for file, content in zip(IMAGES["mnist"].sha256, mnist, strict=True):
        sums[file] = hashlib.sha256(content).hexdigest()
        (tmp_path / "mnist" / file).write_bytes(gzip.compress(content))
    monkeypatch.setitem(images.IMAGES, "mnist", replace(IMAGES["mnist"], sha256=sums))
    form = CIFAR["cifar10"].forms[0]
    (tmp_path / form.folder).mkdir()
    for i, file in enumerate(form.files):  # five of one image, and one of the last two
        last = None if i == 5 else i + 1
        (tmp_path / file).write_bytes(binary(color[i:last], y[i:last]))
    cifar_sums = content_sum(color[:5], y[:5]), content_sum(color[5:], y[5:])
    monkeypatch.setitem(images.CIFAR, "cifar10", replace(CIFAR["cifar10"], sha256=cifar_sums))
    return arrays


@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_an_idx_file_gives_its_array(shape: list[int], seed: int) -> None:
    array = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(idx_array(idx_file(array)), array)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08\x00", bytes([0, 0, 13, 1, 0, 0, 0, 0])])
def test_what_is_no_idx_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no idx file of bytes"):
        idx_array(content)


def test_an_idx_file_that_was_cut_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\) has 5 values"):
        idx_array(idx_file(np.zeros((2, 3)))[:-1])


def test_all_training_images_are_there_once_with_their_labels(made: dict[str, np.ndarray]) -> None:
    train, test = load_images("mnist")
    assert train.pixels.shape == (50, 1, 28, 28)
    rows = zip(train.pixels, train.labels, strict=True)
    found = {image.numpy().tobytes(): int(y) for image, y in rows}
    expected = zip(made["train"], made["train_labels"], strict=True)
    assert found == {image.tobytes(): int(y) for image, y in expected}
    np.testing.assert_array_equal(test.pixels[:, 0], made["test"])
    np.testing.assert_array_equal(test.labels, made["test_labels"])


def test_images_held_back_are_not_trained_on_and_no_test_images(
    made: dict[str, np.ndarray],
) -> None:
    train, held = load_images("mnist", held_back=True)
    assert (len(train.labels), len(held.labels)) == (40, 10)
    parts = [{image.numpy().tobytes() for image in part.pixels} for part in (train, held)]
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == {image.tobytes() for image in made["train"]}


@pytest.mark.usefixtures("made")
def test_fewer_training_images_are_the_first_of_more() -> None:
    few, more = (load_images("mnist", train_size=n)[0] for n in (5, 20))
    assert torch.equal(few.pixels, more.pixels[:5])
    assert torch.equal(few.labels, more.labels[:5])


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("n", [0, 51])
def test_more_images_than_there_are_cannot_be_had(n: int) -> None:
    with pytest.raises(ValueError, match=f"mnist has 50 training images here, got train_size={n}"):
        load_images("mnist", train_size=n)


def test_parts_are_put_together_and_the_last_is_the_test_set(made: dict[str, np.ndarray]) -> None:
    train, test = load_images("cifar10")
    assert sorted(train.labels.tolist()) == [0, 1, 2, 3, 4]
    assert test.labels.tolist() == [5, 6]
    np.testing.assert_array_equal(test.pixels, made["color"][5:])


@pytest.mark.usefixtures("made")
def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="fashion_mnist/train-images"):
        load_images("fashion_mnist")
    file = tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz"
    for content in (gzip.compress(b"other"), b"no gzip", file.read_bytes()[:-9]):
        file.write_bytes(content)
        with pytest.raises(DamagedDataError, match="t10k-labels"):
            load_images("mnist")


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(ValueError, match="no images 'svhn'; choose from mnist"):
        load_images("svhn")


@pytest.mark.usefixtures("made")
def test_training_images_are_normalised() -> None:
    for name in ("mnist", "cifar10"):
        train, _ = load_images(name)
        x = train.batch(torch.arange(len(train.labels)))
        channels = x.shape[1]
        torch.testing.assert_close(x.mean(dim=(0, 2, 3)), torch.zeros(channels), atol=1e-4, rtol=0)
        deviation = x.var(dim=(0, 2, 3), correction=0)
        torch.testing.assert_close(deviation, torch.ones(channels), atol=1e-4, rtol=0)
        assert x.is_contiguous(memory_format=torch.channels_last)


def test_images_without_contrast_do_not_divide_by_zero() -> None:
    _, std = mean_and_std(np.full((3, 1, 2, 2), 7, dtype=np.uint8))
    assert std.tolist() == [1.0]


def test_images_are_varied_only_when_asked_and_repeatably() -> None:
    data = toy_images(8, shift=2, flip=True)
    rows = torch.arange(8)
    plain = data.batch(rows)
    varied = [data.batch(rows, torch.Generator().manual_seed(0)) for _ in range(2)]
    assert torch.equal(plain, toy_images(8).batch(rows))
    assert torch.equal(*varied)
    assert not torch.equal(varied[0], plain)


def test_a_shift_moves_whole_images_and_brings_in_zeros() -> None:
    x = torch.arange(1.0, 33.0).reshape(2, 1, 4, 4)
    seen = set()
    for seed in range(60):
        generator = torch.Generator().manual_seed(seed)
        moved = shifted(x, 1, torch.randint(0, 3, (2, 2, 1), generator=generator))
        assert moved.shape == x.shape
        for image, original in zip(moved, x, strict=True):
            offsets = [
                (down, right)
                for down in (-1, 0, 1)
                for right in (-1, 0, 1)
                if torch.equal(image, moved_by(original, down, right))
            ]
            assert len(offsets) == 1
            seen.update(offsets)
    assert len(seen) == 9


def moved_by(image: torch.Tensor, down: int, right: int) -> torch.Tensor:
    def within(i: int) -> int:
        """Mirrored at the border, which is not repeated."""
        return 3 - abs(3 - abs(i))

    result = torch.empty_like(image)
    for i in range(4):
        for j in range(4):
            result[:, i, j] = image[:, within(i - down), within(j - right)]
    return result


def test_a_share_of_a_batch_is_varied_as_it_is_in_the_whole() -> None:
    data = toy_images(8, shift=2, flip=True)
    rows = torch.tensor([7, 0, 3, 5, 1, 6])
    whole = data.batch(rows, torch.Generator().manual_seed(0))
    for rank in range(2):
        generator = torch.Generator().manual_seed(0)
        share = data.batch(rows, generator, slice(rank, None, 2))
        assert torch.equal(share, whole[rank::2])


def test_a_part_has_the_images_asked_for() -> None:
    data = toy_images(8)
    part = data.part(torch.tensor([5, 2]))
    assert torch.equal(part.labels, data.labels[[5, 2]])
    assert torch.equal(part.batch(torch.tensor([0])), data.batch(torch.tensor([5])))


@pytest.mark.parametrize(
    ("name", "n_train", "n_test"),
    [
        ("mnist", 60_000, 10_000),
        ("fashion_mnist", 60_000, 10_000),
        ("cifar10", 50_000, 10_000),
        ("cifar100", 50_000, 10_000),
    ],
)
@pytest.mark.slow
def test_the_true_files_are_read(name: str, n_train: int, n_test: int) -> None:
    if not is_there(name):
        pytest.skip(f"the files of {name} are not in the data folder")
    train, test = load_images(name)
    assert (len(train.labels), len(test.labels)) == (n_train, n_test)
    assert set(train.labels.tolist()) == set(range(train.n_classes))
    if name == "mnist":  # as published
        assert float(train.mean[0]) / 255 == pytest.approx(0.1307, abs=1e-4)
        assert float(train.std[0]) / 255 == pytest.approx(0.3081, abs=1e-4)
