"""CIFAR-10 and CIFAR-100 from the files that users have: the binary and the pickled release.

The pickled form is also what torchvision unpacks. A pickle can run any program; those of the
release hold arrays, lists, bytes and numbers, and nothing else is let in.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgm.datasets import DamagedDataError, MissingDataError

SHAPE = (3, 32, 32)
N_PIXELS = 3072
# all that the pickles of the release name; numpy 2 has renamed the module
ADMITTED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
}

Bytes = NDArray[np.uint8]
# images (N, 3, 32, 32) and labels (N,)
Rows = tuple[Bytes, Bytes]


@dataclass(frozen=True)
class CifarForm:
    """A form of the release: its folder, its files, and how one is read."""

    folder: str
    train: tuple[str, ...]
    test: str
    read: Callable[[bytes], Rows]

    @property
    def files(self) -> tuple[str, ...]:
        """Paths below the data folder."""
        return tuple(f"{self.folder}/{name}" for name in (*self.train, self.test))

    def is_in(self, folder: Path) -> bool:
        """Whether all the files are there."""
        return all((folder / file).is_file() for file in self.files)


@dataclass(frozen=True)
class CifarSet:
    """What is known of a set.

    Attributes
    ----------
    sha256 : (str, str)
        `content_sum` of training and test images, whatever the form and the order.
    """

    title: str
    classes: int
    where_to_get: str
    forms: tuple[CifarForm, ...]
    sha256: tuple[str, str]


def load_cifar(known: CifarSet, folder: Path) -> tuple[Rows, Rows]:
    """Training and test images of the first form that is in the folder.

    Raises
    ------
    MissingDataError, DamagedDataError
        No form has all its files; images are not those of the release.
    """
    form = found_form(known, folder)
    if form is None:
        raise MissingDataError(known.forms[0].files[0], known.where_to_get, folder)
    paths = [folder / file for file in form.files]
    *parts, test = [_read(path, form) for path in paths]
    train = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
    for rows, expected, of in (
        (train, known.sha256[0], paths[:-1]),
        (test, known.sha256[1], paths[-1:]),
    ):
        if content_sum(*rows) != expected:
            raise DamagedDataError(*of)
    return train, test


def found_form(known: CifarSet, folder: Path) -> CifarForm | None:
    """The first form of which all files are there."""
    return next((form for form in known.forms if form.is_in(folder)), None)


def _read(path: Path, form: CifarForm) -> Rows:
    try:
        return form.read(path.read_bytes())
    except (ValueError, pickle.UnpicklingError) as error:
        raise DamagedDataError(path) from error


def content_sum(pixels: Bytes, labels: Bytes) -> str:
    """A checksum of images with their labels in any order.

    Examples
    --------
    >>> x, y = np.arange(6144).astype(np.uint8).reshape(2, 3, 32, 32), np.uint8([0, 1])
    >>> content_sum(x, y) == content_sum(x[::-1], y[::-1])
    True
    """
    rows = np.column_stack([labels.astype(np.uint8), pixels.reshape(len(pixels), -1)])
    each = sorted(hashlib.sha256(row).digest() for row in rows)
    return hashlib.sha256(b"".join(each)).hexdigest()


def read_binary(content: bytes, *, n_labels: int) -> Rows:
    """Images of the binary release: labels, of which the last counts, and pixels.

    Examples
    --------
    >>> read_binary(bytes([7, *range(256)] + 2816 * [0]), n_labels=1)[1]
    array([7], dtype=uint8)
    """
    width = n_labels + N_PIXELS
    if not content or len(content) % width:
        raise ValueError(f"a CIFAR file of {len(content)} bytes does not have rows of {width}.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, width)
    return rows[:, n_labels:].reshape(-1, *SHAPE), rows[:, n_labels - 1]


class _AdmittedOnly(pickle.Unpickler):
    """Reads arrays, lists, dictionaries, bytes and numbers."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) not in ADMITTED:
            raise pickle.UnpicklingError(
                f"the file names {module_name}.{global_name}, which no CIFAR file does."
            )
        return super().find_class(module_name, global_name)


def read_pickled(content: bytes, *, label_name: bytes) -> Rows:
    """Images of the pickled release."""
    try:
        batch = _AdmittedOnly(io.BytesIO(content), encoding="bytes").load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # damaged pickles raise nearly anything
        raise ValueError("a CIFAR file cannot be unpickled; download it again.") from error
    pixels = batch.get(b"data") if isinstance(batch, dict) else None
    labels = batch.get(label_name) if isinstance(batch, dict) else None
    if not (
        isinstance(pixels, np.ndarray)
        and pixels.dtype == np.uint8
        and pixels.ndim == 2
        and pixels.shape[1] == N_PIXELS
        and isinstance(labels, list)
        and len(labels) == len(pixels)
        and all(isinstance(y, int) and 0 <= y < 256 for y in labels)
    ):
        raise ValueError("a CIFAR file does not hold images and their labels; download it again.")
    return pixels.reshape(-1, *SHAPE), np.array(labels, np.uint8)


def _cifar10_binary(content: bytes) -> Rows:
    return read_binary(content, n_labels=1)


def _cifar10_pickled(content: bytes) -> Rows:
    return read_pickled(content, label_name=b"labels")


def _cifar100_binary(content: bytes) -> Rows:
    return read_binary(content, n_labels=2)  # the class of classes comes first


def _cifar100_pickled(content: bytes) -> Rows:
    return read_pickled(content, label_name=b"fine_labels")


LICENCE = "none stated; A. Krizhevsky asks for his report of 2009 to be cited"
SOURCE = "A. Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html"
BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))


def _where(name: str, pickled: str) -> str:
    return (
        f"the files of {name}-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html, or "
        f"those of {name}-python.tar.gz, as torchvision unpacks them, in {pickled} beside it,"
    )


CIFAR = {
    "cifar10": CifarSet(
        "CIFAR-10, small pictures",
        10,
        _where("cifar-10", "cifar-10-batches-py"),
        (
            CifarForm(
                "cifar-10-batches-bin",
                tuple(f"{name}.bin" for name in BATCHES),
                "test_batch.bin",
                _cifar10_binary,
            ),
            CifarForm("cifar-10-batches-py", BATCHES, "test_batch", _cifar10_pickled),
        ),
        (
            "55a61f79a40ece2ceda9fb5f9f7078f6ea2fc4952489cef56682bcf92cfcc260",
            "325704b01eb92e1e2a6215ae6a916bb7db7de054af0c496be1c7be2e0fcfbf5f",
        ),
    ),
    "cifar100": CifarSet(
        "CIFAR-100, small pictures",
        100,
        _where("cifar-100", "cifar-100-python"),
        (
            CifarForm("cifar-100-binary", ("train.bin",), "test.bin", _cifar100_binary),
            CifarForm("cifar-100-python", ("train",), "test", _cifar100_pickled),
        ),
        (
            "6d2a03c47c105e4c34d3a2ff16c2803e8df0e5d6fa0c631e46663a327aeac573",
            "381b7d98ce1e9b98232a8df0db0a22992654c39ff2433270656ab8ace5a45e65",
        ),
    ),
}
