"""Claims about the catalogue of sets."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

import reproduction.datasets
from reproduction.datasets import IDA_NAMES, Entry, catalog, load_ida, verify
from reproduction.datasets.files import verified_content
from reproduction.datasets.ida import IDA_SETS, text_files
from sdgm.datasets import DamagedDataError, data_folder, load_ripley
from sdgm.datasets.ripley import ORIGINALS, PACKED


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    return tmp_path


def entry_of(name: str) -> Entry:
    return next(entry for entry in catalog() if entry.name == name)


def put(folder: Path, *files: str, content: bytes = b"") -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)


def test_every_set_is_listed_once() -> None:
    names = [entry.name for entry in catalog()]
    assert len(set(names)) == len(names)
    images = {"mnist", "fashion_mnist", "cifar10", "cifar100"}
    assert set(names) == {"ripley", "checkerboard", *IDA_NAMES, *images}


def test_every_set_that_needs_a_file_says_where_to_get_it(folder: Path) -> None:
    for entry in catalog():
        assert not entry.found
        assert bool(entry.files) == bool(entry.where_to_get) == bool(entry.put_in)
        # the checksums of CIFAR are of its images, whatever the files
        n_sums = 0 if entry.name.startswith("cifar") else len(entry.files)
        assert len(entry.sha256) == n_sums
        assert entry.source and entry.licence and entry.title


def test_generators_exist_and_make_rows_of_the_listed_shape() -> None:
    generators = [entry for entry in catalog() if entry.generator]
    assert [entry.name for entry in generators] == ["ripley", "checkerboard", "titanic", "waveform"]
    for entry in generators:
        data = getattr(reproduction.datasets, entry.generator or "")()
        assert data.X.shape == (entry.rows, entry.inputs)


def test_a_set_is_found_when_all_its_files_are_there(folder: Path) -> None:
    for name in ("ripley", "banana", "splice", "mnist", "cifar10"):
        *first, last = entry_of(name).files
        put(folder, *first)
        assert not entry_of(name).found
        put(folder, last)
        assert entry_of(name).found


def test_original_text_files_count_as_found(folder: Path) -> None:
    put(folder, *ORIGINALS)
    ripley = entry_of("ripley")
    assert ripley.found and ripley.files == ORIGINALS
    put(folder, PACKED)
    assert entry_of("ripley").files == (PACKED,)
    for k in (1, 2, 3):
        paths = text_files(IDA_SETS["flare_solar"], folder, k)
        put(folder, *(str(path.relative_to(folder)) for path in paths))
    flare = entry_of("flare_solar")
    assert flare.found and flare.n_splits == 3
    assert flare.files == ("ida/flare-solar/flare-solar_*.asc",)


@pytest.mark.parametrize("name", IDA_NAMES)
def test_the_listed_shape_is_that_of_the_loaded_set(name: str) -> None:
    entry = entry_of(name)
    if not entry.found:
        pytest.skip(f"{entry.files[0]} is not in SDGM_DATA")
    data = load_ida(name)
    assert data.X.shape == (entry.rows, entry.inputs)
    assert len(data.splits) == entry.n_splits
    assert len(np.unique(data.y)) == entry.classes


def is_intact(entry: Entry) -> bool:
    """Whether the files of a set pass, or are not there."""
    try:
        verify(entry)
    except DamagedDataError:
        return False
    return True


@pytest.mark.parametrize("name", [entry.name for entry in catalog() if entry.files])
def test_the_files_at_hand_are_the_expected_ones(name: str) -> None:
    entry = entry_of(name)
    if not entry.found:
        pytest.skip(f"{name} is not in SDGM_DATA")
    assert is_intact(entry)


@pytest.mark.parametrize("name", ["ripley", "german", "mnist", "cifar100"])
def test_damaged_files_are_noticed_only_when_verified(name: str, folder: Path) -> None:
    put(folder, *entry_of(name).files, content=b"something else")
    assert entry_of(name).found
    with pytest.raises(DamagedDataError):
        verify(entry_of(name))


def test_damaged_text_files_are_noticed(folder: Path) -> None:
    put(folder, *ORIGINALS)
    paths = text_files(IDA_SETS["heart"], folder, 1)
    put(folder, *(str(path.relative_to(folder)) for path in paths))
    for name in ("ripley", "heart"):
        with pytest.raises(DamagedDataError):
            verify(entry_of(name))


@pytest.mark.skipif(
    not (data_folder() / PACKED).is_file(), reason="the published rows are not in SDGM_DATA"
)
def test_right_text_files_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X_train, y_train, X_test, y_test = load_ripley().split()
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    (tmp_path / "ripley").mkdir()
    for name, X, y in zip(ORIGINALS, (X_train, X_test), (y_train, y_test), strict=True):
        np.savetxt(tmp_path / name, np.column_stack([X, y]), header="xs ys yc", comments="")
    assert is_intact(entry_of("ripley"))
    (tmp_path / ORIGINALS[1]).write_text("xs ys yc\n1 2 1\n")
    assert not is_intact(entry_of("ripley"))


def test_missing_and_drawn_sets_pass(folder: Path) -> None:
    entries = catalog()
    assert not any(entry.found for entry in entries if entry.files)
    assert all(map(is_intact, entries))


def test_of_a_gzip_file_only_what_is_inside_counts(tmp_path: Path) -> None:
    path, sha256 = tmp_path / "rows.gz", hashlib.sha256(b"rows" * 1000).hexdigest()
    for level in (1, 9):
        path.write_bytes(gzip.compress(b"rows" * 1000, level, mtime=level))
        verified_content(path, sha256)
    for damaged in (path.read_bytes()[:-12], b"rows", gzip.compress(b"rows")):
        path.write_bytes(damaged)
        with pytest.raises(DamagedDataError):
            verified_content(path, sha256)
