"""CIFAR in the forms of its release: what is read, and what is refused."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction.datasets import catalog, verify
from reproduction.datasets.cifar import (
    CIFAR,
    CifarSet,
    content_sum,
    load_cifar,
    read_binary,
    read_pickled,
)
from sdgm.datasets import DamagedDataError, MissingDataError


def rows_of(n: int, seed: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (n, 3, 32, 32), dtype=np.uint8)
    return pixels, rng.integers(0, classes, n, dtype=np.uint8)


def written(name: str, form: int, folder: Path, *, order: int = 1) -> CifarSet:
    """A little set in one form of the release, and what the catalogue would know of it."""
    known = CIFAR[name]
    files = known.forms[form].files
    parts = [rows_of(3, i, known.classes) for i in range(len(files))]
    for file, (pixels, labels) in zip(files, parts, strict=True):
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        x, y = pixels.reshape(-1, 3072)[::order], labels[::order]
        if form == 0:
            extra = [np.zeros_like(y)] if name == "cifar100" else []
            path.write_bytes(np.column_stack([*extra, y, x]).tobytes())
        else:
            label_name = b"fine_labels" if name == "cifar100" else b"labels"
            batch = {b"data": x, label_name: y.tolist(), b"batch_label": b"one"}
            path.write_bytes(python2_pickle(batch))
    train = [np.concatenate(each) for each in zip(*parts[:-1], strict=True)]
    return replace(known, sha256=(content_sum(*train), content_sum(*parts[-1])))


def python2_pickle(batch: Any) -> bytes:
    """With strings of bytes, protocol 2 and the old name of numpy's module, as in the release."""
    content = pickle.dumps(batch, protocol=3)
    return content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


@pytest.mark.parametrize("name", CIFAR)
@pytest.mark.parametrize("form", [0, 1], ids=["binary", "pickled"])
def test_every_form_gives_the_images_and_their_labels(name: str, form: int, tmp_path: Path) -> None:
    known = written(name, form, tmp_path)
    (x, y), (x_test, y_test) = load_cifar(known, tmp_path)
    n_parts = len(known.forms[form].train)
    for i in range(n_parts):
        pixels, labels = rows_of(3, i, known.classes)
        np.testing.assert_array_equal(x[3 * i : 3 * i + 3], pixels)
        np.testing.assert_array_equal(y[3 * i : 3 * i + 3], labels)
    pixels, labels = rows_of(3, n_parts, known.classes)
    np.testing.assert_array_equal(x_test, pixels)
    np.testing.assert_array_equal(y_test, labels)


def test_images_in_another_order_are_the_same_set(tmp_path: Path) -> None:
    known = written("cifar100", 0, tmp_path)
    assert written("cifar100", 0, tmp_path, order=-1).sha256 == known.sha256
    assert load_cifar(known, tmp_path)[0][1].shape == (3,)


def test_images_whose_labels_are_exchanged_are_another_set() -> None:
    pixels, _ = rows_of(2, 0, 10)
    ours, theirs = np.array([0, 1], np.uint8), np.array([1, 0], np.uint8)
    assert content_sum(pixels, ours) != content_sum(pixels, theirs)


@pytest.mark.parametrize("form", [0, 1], ids=["binary", "pickled"])
def test_damaged_files_are_named(form: int, tmp_path: Path) -> None:
    known = written("cifar10", form, tmp_path)
    file = tmp_path / known.forms[form].files[-1]
    whole = file.read_bytes()
    changed = bytearray(whole)
    changed[-4000] ^= 1
    for content in (whole[:-1], b"", bytes(changed), b"no pickle", whole[:40]):
        file.write_bytes(content)
        with pytest.raises(DamagedDataError, match="test_batch"):
            load_cifar(known, tmp_path)


def test_missing_files_are_named_with_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"cifar-10-binary\.tar\.gz .*cifar-10-python\.tar"):
        load_cifar(CIFAR["cifar10"], tmp_path)


class Hostile:
    """Runs a program when it is unpickled by anybody who trusts it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.path}",)


def test_a_pickle_that_would_run_a_program_runs_nothing(tmp_path: Path) -> None:
    content = pickle.dumps({b"data": Hostile(tmp_path / "was-run"), b"labels": []})
    pickle.loads(content)  # this one does run it
    assert (tmp_path / "was-run").exists()
    (tmp_path / "was-run").unlink()
    with pytest.raises(pickle.UnpicklingError, match="system, which no CIFAR file does"):
        read_pickled(content, label_name=b"labels")
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    "batch",
    [
        [1, 2],
        {},
        {b"data": np.zeros((2, 3072), np.uint8)},
        {b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]},
        {b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 2.5]},
        {b"data": np.zeros((2, 3072)), b"labels": [1, 2]},
        {b"data": np.zeros((2, 3071), np.uint8), b"labels": [1, 2]},
    ],
    ids=["list", "empty", "no labels", "one label", "fractions", "floats", "widths"],
)
def test_pickles_of_something_else_are_refused(batch: Any) -> None:
    with pytest.raises(ValueError, match="does not hold images and their labels"):
        read_pickled(pickle.dumps(batch, protocol=3), label_name=b"labels")


def test_a_binary_file_that_was_cut_is_refused() -> None:
    with pytest.raises(ValueError, match="3072 bytes does not have rows of 3073"):
        read_binary(bytes(3072), n_labels=1)


def test_the_catalogue_verifies_the_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = written("cifar10", 1, tmp_path)
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    monkeypatch.setitem(CIFAR, "cifar10", known)
    entry = next(entry for entry in catalog() if entry.name == "cifar10")
    assert entry.found and entry.files[0] == "cifar-10-batches-py/data_batch_1"
    verify(entry)
    path = tmp_path / entry.files[0]
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DamagedDataError, match="data_batch_1"):
        verify(entry)
