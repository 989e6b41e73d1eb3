"""Claims about tables that are read from disk some rows at a time."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdgm import SDGMClassifier
from sdgm.tables import FileRows, TableError, open_rows
from sdgm.tables import large as files
from tests.small_scale import assert_same
from tests.small_scale import make_small as make_rows_small

N = 1500
rng = np.random.default_rng(0)
Y = rng.integers(3, size=N)
X = rng.normal(size=(N, 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])[Y]
FRAME = pl.DataFrame({"b": X[:, 1], "kind": np.array(["p", "q", "long name"])[Y], "a": X[:, 0]})


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, blocks have 64 of them, and chunks of files 256."""
    make_rows_small(monkeypatch)
    monkeypatch.setattr(files, "CHUNK_ROWS", 256)
    monkeypatch.setattr(files, "READ_ALONE", 32)
    monkeypatch.setattr(files, "PINNED_NUMBERS", 2 * 256 * 2)


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)


def write(frame: pl.DataFrame, path: Path, group_rows: int) -> None:
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=group_rows)
    else:
        frame.write_ipc(path, record_batch_size=group_rows)


@pytest.fixture(scope="module")
def expected() -> SDGMClassifier:
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        return SDGMClassifier(2, random_state=0, teacher=None).fit(
            X, FRAME["kind"].to_numpy().astype(str)
        )


@pytest.mark.usefixtures("small_scale")
@settings(
    deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    group_rows=st.integers(1, 2000),
    suffix=st.sampled_from([".parquet", ".arrow"]),
    cuts=st.lists(st.integers(0, N), max_size=3).map(sorted),
)
def test_any_cut_into_files_and_row_groups_ends_with_the_model_of_memory(
    expected: SDGMClassifier,
    tmp_path_factory: pytest.TempPathFactory,
    group_rows: int,
    suffix: str,
    cuts: list[int],
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    bounds = [0, *cuts, N]
    for i in range(len(bounds) - 1):
        part = FRAME[bounds[i] : bounds[i + 1]]
        write(part, folder / f"part-{i}{suffix}", group_rows)
    rows, y = open_rows(folder, "kind", ["a", "b"])
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(rows, y)
    assert_same(model, expected)
    P = np.concatenate([model.predict_proba(frame) for frame in rows.frames(400)])
    np.testing.assert_allclose(P, expected.predict_proba(X), atol=1e-8)
    assert model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.usefixtures("small_scale")
@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(bounds=st.lists(st.tuples(st.integers(0, N), st.integers(0, N)), min_size=1, max_size=6))
def test_any_rows_in_any_order_are_those_of_the_table(
    tmp_path_factory: pytest.TempPathFactory, bounds: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    FRAME[:700].write_parquet(folder / "1.parquet", row_group_size=100)
    FRAME[700:].write_ipc(folder / "2.arrow")
    rows, y = open_rows([folder / "1.parquet", str(folder / "2.arrow")], "kind", ["a", "b"])
    assert y is not None and y.tolist() == FRAME["kind"].to_list()
    for start, stop in bounds:
        np.testing.assert_array_equal(rows.read(start, stop), X[start:stop])


@pytest.mark.usefixtures("small_scale")
def test_reading_in_order_goes_over_the_file_once_and_holds_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    rows, _ = open_rows(tmp_path / "t.parquet", "kind")
    asked: list[tuple[int, int]] = []
    read = files.FilePart.read

    def counted(self, columns, start: int, stop: int):
        asked.append((start, stop))
        return read(self, columns, start, stop)

    monkeypatch.setattr(files.FilePart, "read", counted)
    chunks = [(i, min(i + 256, N)) for i in range(0, N, 256)]
    for expected in (chunks, chunks[2:]):  # the first two stay
        for start in range(0, N - 64, 64):
            rows.read(start, start + 64)
        assert asked == expected
        assert len(rows._kept) <= 4
        asked.clear()


@pytest.mark.usefixtures("small_scale")
def test_threads_may_read_at_the_same_time(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet", row_group_size=100)
    rows, _ = open_rows(tmp_path / "t.parquet", "kind")
    starts = [*range(0, N - 64, 64)] * 5
    with ThreadPoolExecutor(4) as pool:
        blocks = list(pool.map(lambda start: rows.read(start, start + 64), starts))
    for start, block in zip(starts, blocks, strict=True):
        np.testing.assert_array_equal(block, X[start : start + 64, ::-1])


def test_numbers_of_all_kinds_become_float64(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "small": pl.Series([1, 2, 3], dtype=pl.Int8),
            "half": pl.Series([0.5, 1.5, 2.5], dtype=pl.Float32),
            "flag": [True, False, True],
            "money": pl.Series(["1.25", "2.50", "3.75"]).cast(pl.Decimal(10, 2)),
            "^s.*$": [7, 8, 9],
        }
    )
    frame.write_parquet(tmp_path / "[t].parquet")
    rows, y = open_rows(tmp_path / "[t].parquet")
    assert y is None and rows.shape == (3, 5) and len(rows) == 3
    assert rows.read(0, 3).dtype == np.float64
    assert rows.read(0, 3).tolist() == [
        [1, 0.5, 1, 1.25, 7],
        [2, 1.5, 0, 2.5, 8],
        [3, 2.5, 1, 3.75, 9],
    ]
    assert rows.values("^s.*$").tolist() == [7, 8, 9]
    assert rows.values("flag").dtype == bool
    assert rows.values("money").tolist() == [1.25, 2.5, 3.75]
    assert "3 rows and 5 columns of [t].parquet" in repr(rows)


@pytest.mark.parametrize(
    "kind", [pl.String, pl.Categorical, pl.Enum(["p", "q", "long name"])], ids=str
)
def test_labels_are_text_however_the_file_keeps_it(tmp_path: Path, kind) -> None:
    FRAME.with_columns(pl.col("kind").cast(kind)).write_parquet(tmp_path / "t.parquet")
    _, y = open_rows(tmp_path / "t.parquet", "kind")
    assert y is not None and y.dtype == np.dtype("<U9")
    assert y.tolist() == FRAME["kind"].to_list()


def test_rows_can_be_sent_to_another_process(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    rows, _ = open_rows(tmp_path / "t.parquet", "kind")
    sent = pickle.loads(pickle.dumps(rows))
    assert isinstance(sent, FileRows)
    np.testing.assert_array_equal(sent.read(10, 20), rows.read(10, 20))


@pytest.mark.parametrize(
    ("row", "value", "said"), [(1234, None, "is missing"), (77, float("inf"), "is inf")]
)
def test_a_value_that_is_no_number_is_named(tmp_path: Path, row: int, value, said: str) -> None:
    b = FRAME["b"].to_list()
    b[row] = value
    FRAME.with_columns(b=pl.Series(b)).write_parquet(tmp_path / "t.parquet", row_group_size=100)
    rows, y = open_rows(tmp_path / "t.parquet", "kind")
    with pytest.raises(TableError, match=f"row {row} of column 'b' {said}"):
        SDGMClassifier(1, teacher=None).fit(rows, y)


def test_a_missing_label_is_named(tmp_path: Path) -> None:
    kind = FRAME["kind"].to_list()
    kind[700] = None
    FRAME.with_columns(kind=pl.Series(kind)).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="row 700 of column 'kind' is missing"):
        open_rows(tmp_path / "t.parquet", "kind")


def test_files_that_cannot_be_used_give_one_sentence(tmp_path: Path) -> None:
    good = tmp_path / "good.parquet"
    FRAME.write_parquet(good)
    with pytest.raises(FileNotFoundError, match=r"none.parquet"):
        open_rows(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 or not")
    (tmp_path / "bad.arrow").write_bytes(b"")
    for name, kind in (("bad.parquet", "a Parquet"), ("bad.arrow", "an Arrow IPC")):
        with pytest.raises(TableError, match=f"{name} is not {kind} file, or is damaged"):
            open_rows(tmp_path / name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=r"has no files that end in .parquet"):
        open_rows(tmp_path / "empty")
    with pytest.raises(TableError, match="list of files is empty"):
        open_rows([])
    with pytest.raises(TableError, match=r"np.load\(path, mmap_mode='r'\)"):
        open_rows(tmp_path / "X.npy")
    with pytest.raises(TableError, match="scan_csv"):
        open_rows(tmp_path / "t.csv")
    FRAME[:0].write_parquet(tmp_path / "no-rows.parquet")
    with pytest.raises(TableError, match=r"no-rows.parquet has no rows"):
        open_rows(tmp_path / "no-rows.parquet", "kind")
    FRAME.drop("b").write_parquet(tmp_path / "other.parquet")
    with pytest.raises(TableError, match=r"other.parquet has no column 'b'"):
        open_rows([good, tmp_path / "other.parquet"], "kind")
    FRAME.with_columns(kind=1).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(TableError, match=r"'kind' holds String in good.parquet and Int32 in other"):
        open_rows([good, tmp_path / "other.parquet"], "kind")
    rows, _ = open_rows(good, "kind")
    FRAME[:10].write_parquet(good)
    with pytest.raises(TableError, match="was changed or removed"):
        rows.read(0, 100)
    good.unlink()
    with pytest.raises(TableError, match="was changed or removed"):
        rows.read(0, 100)


def test_columns_that_cannot_be_used_give_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    FRAME.with_columns(day=date(2020, 1, 1)).write_parquet(path)
    for arguments, sentence in (
        (("kindd",), "no column 'kindd'; did you mean 'kind'"),
        (("day", ["a"]), "'day' of t.parquet holds Date, which cannot be a label"),
        (("kind",), "'day' of t.parquet holds Date, not numbers; choose others with columns="),
        ((None, ["a", "kind"]), "'kind' of t.parquet holds String, not numbers"),
        (("kind", ["a", "c"]), "no column 'c'"),
        (("kind", ["a", "a"]), "each once"),
        (("kind", ["a", "kind"]), "the target not among them"),
        (("kind", []), "got none"),
        (("kind", "a"), "put it in a list"),
    ):
        with pytest.raises(TableError, match=sentence):
            open_rows(path, *arguments)
