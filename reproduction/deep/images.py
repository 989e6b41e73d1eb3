"""Images to train and test on: from the data folder, or from a folder of pictures.

Grey values are kept as bytes; a batch is made into numbers of mean zero and deviation one when it
is asked for. The training images are in a fixed random order, so that the first n are a sample,
and those held back to choose settings are the last. The readers are our own: torchvision is not
needed for anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reproduction.datasets.cifar import CIFAR, found_form, load_cifar
from reproduction.datasets.files import verified_content
from reproduction.datasets.image_sets import IMAGES
from sdgm.datasets import MissingDataError, data_folder

ORDER_SEED = 0
# training images that are held back, or a fifth if there are fewer than five times as many
HELD_BACK = 10_000
# kinds of values in idx files: unsigned bytes
IDX_BYTES = 8

# all rows of a batch
WHOLE = slice(None)

Bytes = NDArray[np.uint8]


class Images(Protocol):
    """Images with labels, batch by batch."""

    @property
    def labels(self) -> Tensor:
        """Integers, (N,)."""
        ...

    @property
    def n_classes(self) -> int:
        """C."""
        ...

    def batch(
        self,
        rows: Tensor,
        generator: torch.Generator | None = None,
        share: slice = WHOLE,
    ) -> Tensor:
        """Images as (n, channels, height, width); varied at random if given a generator.

        With a share, only this part of the rows, varied as it would be among all of them.
        """
        ...

    def part(self, rows: Tensor) -> Images:
        """Some of the images."""
        ...


@dataclass(frozen=True)
class StoredImages:
    """Images in memory.

    Attributes
    ----------
    pixels : (N, channels, height, width) tensor of bytes
    labels : (N,) tensor of int64
    n_classes : int
    mean, std : (channels,) tensors
        Of the training images' grey values.
    shift : int, default=0
        Pixels by which training images are moved at random, at most, on each axis.
    flip : bool, default=False
        Whether half of them, at random, are mirrored.
    """

    pixels: Tensor
    labels: Tensor
    n_classes: int
    mean: Tensor
    std: Tensor
    shift: int = 0
    flip: bool = False

    def batch(
        self,
        rows: Tensor,
        generator: torch.Generator | None = None,
        share: slice = WHOLE,
    ) -> Tensor:
        """Normalised images; moved and mirrored at random if given a generator."""
        x = self.pixels[rows[share]].float()
        x = (x - self.mean[:, None, None]) / self.std[:, None, None]
        if generator is not None and self.flip:
            mirrored = torch.rand(len(rows), generator=generator)[share] < 0.5
            x = torch.where(mirrored[:, None, None, None], x.flip(-1), x)
        if generator is not None and self.shift:
            by = torch.randint(0, 2 * self.shift + 1, (2, len(rows), 1), generator=generator)
            x = shifted(x, self.shift, by[:, share])
        return x.contiguous(memory_format=torch.channels_last)

    def part(self, rows: Tensor) -> StoredImages:
        """Some of the images."""
        return replace(self, pixels=self.pixels[rows], labels=self.labels[rows])


def shifted(x: Tensor, most: int, by: Tensor) -> Tensor:
    """Every image moved by ``by - most`` pixels, (2, n, 1); mirrored at the border."""
    n, _, height, width = x.shape
    padded = torch.nn.functional.pad(x, (most,) * 4, mode="reflect")
    down = by[0] + torch.arange(height)  # (n, height)
    right = by[1] + torch.arange(width)
    image = torch.arange(n)[:, None, None]
    return padded[image, :, down[:, :, None], right[:, None, :]].movedim(-1, 1)


def load_images(
    name: str,
    *,
    held_back: bool = False,
    train_size: int | None = None,
    shift: int = 0,
    flip: bool = False,
) -> tuple[StoredImages, StoredImages]:
    """Training and test images of a set in the data folder.

    Parameters
    ----------
    name : {"mnist", "fashion_mnist", "cifar10", "cifar100"}
    held_back : bool, default=False
        Whether to test on 10,000 of the training images (a fifth, if there are fewer than 50,000)
        that are left out of training, instead of the test images.
    train_size : int, optional
        Number of training images; all if not given.
    shift, flip :
        How training images are varied; see `StoredImages`.

    Returns
    -------
    train, test : StoredImages
        Both normalised by mean and deviation of the training images.
    """
    train, test = arrays_of(name)
    order = np.random.default_rng(ORDER_SEED).permutation(len(train[1]))
    if held_back:
        n_held = min(HELD_BACK, len(order) // 5)
        order, held = order[:-n_held], order[-n_held:]
        test = (train[0][held], train[1][held])
    order = order[: checked_size(name, train_size, len(order))]
    train = (train[0][order], train[1][order])
    mean, std = mean_and_std(train[0])
    n_classes = (CIFAR[name] if name in CIFAR else IMAGES[name]).classes
    learned = stored(train, n_classes, mean, std)
    return replace(learned, shift=shift, flip=flip), stored(test, n_classes, mean, std)


def checked_size(name: str, train_size: int | None, most: int) -> int:
    """The number of training images wanted, if there are that many."""
    if train_size is None:
        return most
    if not 1 <= train_size <= most:
        raise ValueError(
            f"{name} has {most} training images here, got train_size={train_size}; "
            "ask for fewer, or for all by leaving it out."
        )
    return train_size


def mean_and_std(pixels: Bytes) -> tuple[Tensor, Tensor]:
    """Mean and deviation of the channels, from how often each value occurs."""
    values = np.arange(256.0)
    counts = np.stack(
        [np.bincount(channel.ravel(), minlength=256) for channel in pixels.swapaxes(0, 1)]
    )
    mean = counts @ values / counts.sum(axis=1)
    variance = counts @ values**2 / counts.sum(axis=1) - mean**2
    return torch.tensor(mean).float(), torch.tensor(np.sqrt(variance)).float().clamp_min(1.0)


def stored(rows: tuple[Bytes, Bytes], n_classes: int, mean: Tensor, std: Tensor) -> StoredImages:
    """Arrays as tensors."""
    pixels, labels = rows
    return StoredImages(
        torch.from_numpy(np.array(pixels)),
        torch.from_numpy(labels.astype(np.int64)),
        n_classes,
        mean,
        std,
    )


def arrays_of(name: str) -> tuple[tuple[Bytes, Bytes], tuple[Bytes, Bytes]]:
    """Training and test images with their labels, as they are in the files."""
    if name in CIFAR:
        return load_cifar(CIFAR[name], data_folder())
    if name not in IMAGES:
        known = ", ".join([*IMAGES, *CIFAR])
        raise ValueError(f"there are no images {name!r}; choose from {known}.")
    return arranged_idx(read_files(name))


def read_files(name: str) -> list[bytes]:
    """What is in the files of a set, in the order of the catalogue, checksums compared."""
    known, folder = IMAGES[name], data_folder()
    contents = []
    for file, sha256 in known.sha256.items():
        path = folder / name / file
        if not path.is_file():
            raise MissingDataError(f"{name}/{file}", known.where_to_get, folder, name)
        contents.append(verified_content(path, sha256))
    return contents


def idx_array(content: bytes) -> Bytes:
    """The array of an idx file of bytes, MNIST's format.

    Examples
    --------
    >>> idx_array(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 7]))
    array([5, 7], dtype=uint8)
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != IDX_BYTES:
        raise ValueError("this is no idx file of bytes; unpack it first, or get it anew.")
    n_axes = content[3]
    shape = np.frombuffer(content, ">u4", count=n_axes, offset=4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
    if len(values) != np.prod(shape):
        raise ValueError(
            f"an idx file of shape {tuple(shape.tolist())} has {len(values)} values; get it anew."
        )
    return values.reshape(shape)


def arranged_idx(files: Sequence[bytes]) -> tuple[tuple[Bytes, Bytes], tuple[Bytes, Bytes]]:
    """Training and test images of the four files of MNIST or Fashion-MNIST."""
    arrays = [idx_array(content) for content in files]
    return (arrays[0][:, None], arrays[1]), (arrays[2][:, None], arrays[3])


def is_there(name: str, folder: Path | None = None) -> bool:
    """Whether all the files of a set are in the data folder."""
    folder = data_folder() if folder is None else folder
    if name in CIFAR:
        return found_form(CIFAR[name], folder) is not None
    return all((folder / name / file).is_file() for file in IMAGES[name].sha256)
