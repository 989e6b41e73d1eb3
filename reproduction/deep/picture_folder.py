"""Images from a folder of pictures, such as ImageNet: one folder per class, decoded when needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reproduction.deep.images import HELD_BACK, ORDER_SEED, WHOLE, checked_size

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".jpeg", ".jpg", ".png")
# mean and deviation of ImageNet's channels, as commonly used
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# tests see the middle seven eighths of a picture
MIDDLE = 0.875
# training sees a part of at least this share of the area, and of up to this aspect ratio
SMALLEST_AREA, LARGEST_ASPECT = 0.25, 4 / 3


@dataclass(frozen=True)
class PictureFolder:
    """Pictures in files, scaled and cut to squares when a batch is asked for.

    Attributes
    ----------
    files : tuple of Path
    labels : (N,) tensor of int64
    n_classes : int
    size : int
        Side of the squares.
    """

    files: tuple[Path, ...]
    labels: Tensor
    n_classes: int
    size: int
    pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(os.cpu_count() or 1), repr=False, compare=False
    )

    def batch(
        self,
        rows: Tensor,
        generator: torch.Generator | None = None,
        share: slice = WHOLE,
    ) -> Tensor:
        """Normalised squares; of random parts, half of them mirrored, if given a generator."""
        draws = torch.rand(len(rows), 5, generator=generator)[share].tolist() if generator else None
        jobs = [
            self.pool.submit(square, self.files[row], self.size, draws[i] if draws else None)
            for i, row in enumerate(rows[share].tolist())
        ]
        pixels = torch.from_numpy(np.stack([job.result() for job in jobs]))  # (n, size, size, 3)
        x = (pixels.float() / 255.0 - torch.tensor(MEAN)) / torch.tensor(STD)
        return x.movedim(-1, 1).contiguous(memory_format=torch.channels_last)

    def part(self, rows: Tensor) -> PictureFolder:
        """Some of the pictures."""
        files = tuple(self.files[row] for row in rows.tolist())
        return replace(self, files=files, labels=self.labels[rows])


def square(
    file: Path, size: int, draws: Sequence[float] | None
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """A picture as (size, size, 3) bytes: its middle, or a part drawn with five random numbers."""
    from PIL import Image

    with Image.open(file) as opened:
        picture = opened.convert("RGB")
    box = middle(picture) if draws is None else random_part(picture, draws)
    picture = picture.resize((size, size), Image.Resampling.BILINEAR, box=box)
    if draws is not None and draws[4] < 0.5:
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(picture)


def middle(picture: Image) -> tuple[float, float, float, float]:
    """The box that tests see."""
    side = MIDDLE * min(picture.size)
    left, top = (picture.width - side) / 2, (picture.height - side) / 2
    return left, top, left + side, top + side


def random_part(picture: Image, draws: Sequence[float]) -> tuple[float, float, float, float]:
    """A box of random area, aspect ratio and place."""
    area = (SMALLEST_AREA + (1 - SMALLEST_AREA) * draws[0]) * picture.width * picture.height
    aspect = LARGEST_ASPECT ** (2 * draws[1] - 1)
    width = min((area * aspect) ** 0.5, picture.width)
    height = min((area / aspect) ** 0.5, picture.height)
    left, top = draws[2] * (picture.width - width), draws[3] * (picture.height - height)
    return left, top, left + width, top + height


def load_pictures(
    folder: Path, *, held_back: bool = False, train_size: int | None = None, size: int = 224
) -> tuple[PictureFolder, PictureFolder]:
    """Training and test pictures of a folder with ``train`` and ``val``, each a folder per class.

    Parameters
    ----------
    folder : Path
    held_back : bool, default=False
        Whether to test on a fifth of the training pictures, at most 10,000, that are left out of
        training.
    train_size : int, optional
        Number of training pictures; all if not given.
    size : int, default=224
        Side of the squares that pictures are cut and scaled to.

    Returns
    -------
    train, test : PictureFolder
    """
    train, test = (found(folder / part, size) for part in ("train", "val"))
    if train[1] != test[1]:
        raise ValueError(f"{folder / 'train'} and {folder / 'val'} have different classes.")
    learned, tested = train[0], test[0]
    order = np.random.default_rng(ORDER_SEED).permutation(len(learned.labels))
    if held_back:
        n_held = min(HELD_BACK, len(order) // 5)
        order, held = order[:-n_held], order[-n_held:]
        tested = learned.part(torch.from_numpy(held))
    order = order[: checked_size(str(folder), train_size, len(order))]
    return learned.part(torch.from_numpy(order)), tested


def found(folder: Path, size: int) -> tuple[PictureFolder, list[str]]:
    """The pictures of a folder per class, and the names of the classes."""
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {folder}; name one that has train and val, with a folder of "
            "pictures for each class in both."
        )
    names = sorted(each.name for each in folder.iterdir() if each.is_dir())
    by_class = [
        sorted(file for file in (folder / name).iterdir() if file.suffix.lower() in SUFFIXES)
        for name in names
    ]
    labels = [c for c, files in enumerate(by_class) for _ in files]
    files = tuple(file for each in by_class for file in each)
    if not files:
        raise FileNotFoundError(f"there are no pictures in the folders of {folder}.")
    return PictureFolder(files, torch.tensor(labels), len(names), size), names
