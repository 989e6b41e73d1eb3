"""Claims about the IDA benchmark sets and about own splits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.datasets import (
    IDA_NAMES,
    load_ida,
    make_ripley,
    make_titanic,
    make_waveform,
    redrawn,
)
from reproduction.datasets.ida import IDA_SETS, sorted_rows_sha256, text_files
from sdgm.datasets import DamagedDataError, Dataset, MissingDataError, data_folder

POOLED = ("flare_solar", "splice", "thyroid")
# rows with the label +1
POSITIVE = {
    "banana": 2376,
    "breast_cancer": 81,
    "titanic": 711,
    "waveform": 1647,
    "german": 300,
    "image": 1320,
    "heart": 120,
    "ringnorm": 3664,
    "twonorm": 3703,
    "flare_solar": 589,
    "splice": 1527,
    "thyroid": 65,
}


def loaded(name: str) -> Dataset:
    if not (data_folder() / IDA_SETS[name].packed).is_file():
        pytest.skip(f"{IDA_SETS[name].packed} is not in SDGM_DATA")
    return load_ida(name)


def write_text(folder: Path, data: Dataset, splits: dict[int, int]) -> None:
    """The files of split k from the i-th split of the data, for k, i in splits."""
    entry = IDA_SETS[data.name]
    for k, i in splits.items():
        X_train, y_train, X_test, y_test = data.split(i)
        parts: Sequence[np.ndarray] = (X_train, y_train[:, None], X_test, y_test[:, None])
        for path, part in zip(text_files(entry, folder, k), parts, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(path, part, fmt="%16.7e", delimiter="")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder; load what is needed from the real one before asking for it."""
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    return tmp_path


def test_the_names_are_those_of_the_benchmark() -> None:
    assert set(IDA_NAMES) == set(POSITIVE)


@pytest.mark.parametrize("name", IDA_NAMES)
def test_sets_are_as_described(name: str) -> None:
    data, entry = loaded(name), IDA_SETS[name]
    assert data.name == name and not data.generated and data.sha256 == entry.sha256
    assert data.X.shape == (entry.rows, entry.inputs) and data.X.dtype == np.float64
    assert np.unique(data.y).tolist() == [-1, 1]
    assert np.sum(data.y == 1) == POSITIVE[name]
    assert len(data.splits) == len(data.split_names) == entry.n_splits
    assert sorted_rows_sha256(np.column_stack([data.X, data.y])) == entry.rows_sha256
    for train, test in data.splits:
        assert len(train) == entry.n_train
        both = np.sort(np.concatenate([train, test]))
        np.testing.assert_array_equal(both, np.arange(entry.rows))


@pytest.mark.parametrize("name", [name for name in IDA_NAMES if name not in POOLED])
def test_no_split_occurs_twice(name: str) -> None:
    splits = loaded(name).splits
    assert len({train.tobytes() for train, _ in splits}) == len(splits)


def test_copies_of_earlier_splits_are_left_out() -> None:
    numbers = [*range(1, 23), *range(43, 101)]
    assert list(loaded("banana").split_names) == [f"original split {k}" for k in numbers]
    assert loaded("image").split_names[-1] == "original split 9"


@pytest.mark.parametrize("name", POOLED)
def test_sets_without_splits_have_none(name: str) -> None:
    data = loaded(name)
    assert list(data.splits) == [] and list(data.split_names) == []


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no IDA set 'bananas': try one of banana, "):
        load_ida("bananas")


@pytest.mark.parametrize("name", IDA_NAMES)
def test_a_missing_file_is_named_with_where_to_get_it_and_where_to_put_it(
    name: str, folder: Path
) -> None:
    with pytest.raises(MissingDataError) as caught:
        load_ida(name)
    message = str(caught.value)
    assert message.startswith(f"{IDA_SETS[name].packed} is not in the data folder {folder}")
    assert "https://github.com/" in message and "_train_data_1.asc" in message
    assert str(folder / "ida" / name.replace("_", "-")) in message
    assert "\n" not in message and message.endswith(".")


def test_a_damaged_packed_file_is_not_read(folder: Path) -> None:
    (folder / "ida").mkdir()
    (folder / "ida/heart.npz").write_bytes(b"PK\x03\x04 not the file")
    with pytest.raises(DamagedDataError, match=r"heart\.npz is damaged"):
        load_ida("heart")


@pytest.mark.parametrize("name", ["breast_cancer", "titanic", "heart", "banana"])
def test_the_original_text_files_do_as_well(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = loaded(name)
    # split 10 between 9 and 11: numbers, not names, are sorted; split 11 is a copy
    write_text(tmp_path, data, {1: 0, 9: 1, 10: 2, 11: 1})
    text_files(IDA_SETS[name], tmp_path, 9)[0].with_name("notes.asc").write_text("of no concern")
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    again = load_ida(name)
    assert list(again.split_names) == [f"original split {k}" for k in (1, 9, 10)]
    assert again.sha256 == IDA_SETS[name].rows_sha256
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    for i in range(3):
        for ours, packed in zip(again.split(i), data.split(i), strict=True):
            np.testing.assert_array_equal(ours, packed)


@pytest.mark.parametrize("name", POOLED)
def test_text_files_bring_splits_for_sets_that_are_packed_without(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = redrawn(loaded(name), n_splits=2)
    write_text(tmp_path, data, {3: 0, 7: 1})
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    again = load_ida(name)
    assert list(again.split_names) == ["original split 3", "original split 7"]
    np.testing.assert_array_equal(again.split(1)[0], data.split(1)[0])


def test_a_split_with_a_missing_text_file_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path, loaded("heart"), {1: 0, 2: 1})
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    text_files(IDA_SETS["heart"], tmp_path, 1)[3].unlink()
    assert list(load_ida("heart").split_names) == ["original split 2"]
    text_files(IDA_SETS["heart"], tmp_path, 2)[0].unlink()
    with pytest.raises(MissingDataError):
        load_ida("heart")


def test_one_changed_value_in_a_text_file_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = loaded("heart")
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    for file, old, new in [(0, "1", "2"), (1, "-1.0", " 1.0"), (2, "e-01", "e-02")]:
        write_text(tmp_path, data, {1: 0, 2: 1})
        path = text_files(IDA_SETS["heart"], tmp_path, 2)[file]
        path.write_text(path.read_text().replace(old, new, 1))
        with pytest.raises(DamagedDataError, match=r"_2\.asc"):
            load_ida("heart")


@pytest.mark.parametrize("text", ["", "1.0 2.0\n", "one two", "<html>\n<p"])
def test_text_files_of_another_kind_are_damaged(text: str, folder: Path) -> None:
    for path in text_files(IDA_SETS["thyroid"], folder, 1):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with pytest.raises(DamagedDataError):
        load_ida("thyroid")


@settings(max_examples=25, deadline=None)
@given(
    y=st.lists(st.integers(0, 2), min_size=12, max_size=60),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_own_splits_cover_the_rows_and_keep_the_shares_of_the_classes(
    y: list[int], share: float, seed: int
) -> None:
    y = [0, 0, 1, 1, 2, 2, *y]
    N, n_train = len(y), round(3 + share * (len(y) - 6))
    data = Dataset("any", np.zeros((N, 1)), np.array(y), [], "", "", None, True)
    new = redrawn(data, n_splits=2, random_state=seed, n_train=n_train)
    assert list(new.split_names) == ["own split 1", "own split 2"]
    for train, test in new.splits:
        assert len(train) == n_train
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(N))
        expected = np.bincount(y) * n_train / N
        assert np.all(np.abs(np.bincount(data.y[train], minlength=3) - expected) <= 1.0)


def test_own_splits_depend_on_the_seed_alone() -> None:
    data = make_titanic()
    first, same, other = (redrawn(data, 3, random_state=seed).splits for seed in (1, 1, 2))
    for i in range(3):
        np.testing.assert_array_equal(first[i][0], same[i][0])
        assert not np.array_equal(first[i][0], other[i][0])
    assert not np.array_equal(first[0][0], first[1][0])


def test_own_splits_have_the_sizes_of_the_splits_that_are_there_or_were_published() -> None:
    assert len(redrawn(make_ripley(), 1).splits[0][0]) == 250
    assert len(redrawn(make_titanic(), 1).splits[0][0]) == 150
    for name, n_train, n_test in zip(POOLED, (666, 1000, 140), (400, 2175, 75), strict=True):
        data = redrawn(loaded(name), 1)
        assert [len(part) for part in data.splits[0]] == [n_train, n_test]
        assert data.sha256 == IDA_SETS[name].sha256


def test_own_splits_leave_the_rows_and_the_first_record_alone() -> None:
    data = make_waveform(20, 30)
    new = redrawn(data, 2)
    assert new.X is data.X and new.y is data.y
    assert list(data.split_names) == ["drawn"] and len(data.splits) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 0}, "n_splits must be at least 1, got 0"),
        ({"n_train": 1}, "n_train must be between 2 and 2199, .* got 1"),
        ({"n_train": 2201}, "n_train must be between 2 and 2199, .* got 2201"),
    ],
)
def test_impossible_own_splits_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        redrawn(make_titanic(), **options)


def test_without_any_sizes_n_train_is_asked_for() -> None:
    data = Dataset("mine", np.zeros((4, 1)), np.array([0, 0, 1, 1]), [], "", "", None, True)
    with pytest.raises(ValueError, match=r"mine has no splits .* give n_train"):
        redrawn(data)


def test_drawn_waveforms_of_two_classes_are_those_of_the_benchmark_up_to_scaling() -> None:
    published = loaded("waveform")
    drawn = make_waveform(n_train=400, n_test=99_600, n_classes=2)
    X = (drawn.X - drawn.X.mean(axis=0)) / drawn.X.std(axis=0, ddof=1)
    for label in (-1, 1):
        ours, theirs = X[drawn.y == label], published.X[published.y == label]
        # three standard errors of a mean over 1647 rows, and a little for 21 inputs
        np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.09)
        np.testing.assert_allclose(np.cov(ours.T), np.cov(theirs.T), atol=0.12)
    # either of the other two classes would be far off
    y = make_waveform(n_train=400, n_test=99_600).y  # the same rows
    for c in (0, 2):
        difference = X[y == c].mean(axis=0) - published.X[published.y == 1].mean(axis=0)
        assert np.abs(difference).max() > 1.0
