"""Claims about where tables come from."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from sdgm.tables import TableError, reading
from sdgm.tables.reading import open_table
from tests.tables.ugly import read_table

FRAME = pl.DataFrame({"a": [1.5, 2.5, 3.5], "b": ["x", None, "z"]})


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "T.CSV", "t.txt", "t.csv.gz", "t.tsv.gz"])
def test_text_files_are_read_as_text(tmp_path: Path, name: str) -> None:
    text = FRAME.write_csv(separator="\t" if ".tsv" in name else ",").encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    frame, called = read_table(tmp_path / name)
    assert called == name
    assert frame.rows() == [("1.5", "x"), ("2.5", None), ("3.5", "z")]


def test_parquet_files_and_frames_keep_their_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK_ROWS", 2)
    FRAME.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")[0].equals(FRAME)
    assert read_table(FRAME)[0].equals(FRAME)
    for source in (FRAME, tmp_path / "t.parquet"):
        with open_table(source) as table:
            chunks = list(table.chunks(["b", "a"]))
        assert [len(chunk) for chunk in chunks] == [2, 1]
        assert chunks[0].columns == ["b", "a"]


def test_names_that_polars_takes_for_patterns_are_names_in_parquet_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"^a.*$": [1], "*": [2], "ab": [3]})
    frame.write_parquet(tmp_path / "[t].parquet")
    with open_table(tmp_path / "[t].parquet") as table:
        assert [chunk.rows() for chunk in table.chunks(["*", "^a.*$"])] == [[(2, 1)]]


def test_arrays_are_columns_and_matrices_several(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.arange(4.0).reshape(2, 2), y=np.array(["a", "b"]))
    frame, _ = read_table(tmp_path / "t.npz")
    assert frame.columns == ["X1", "X2", "y"]
    assert frame.rows() == [(0.0, 1.0, "a"), (2.0, 3.0, "b")]


def test_standard_input_is_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,x\n")))
    frame, name = read_table("-")
    assert name == "standard input"
    assert frame.rows() == [("1", "x")]


def test_columns_of_decimal_commas_become_numbers_but_texts_stay(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b;c\n1,5;1,5;7,0\n2;x;8,0\n")
    frame, _ = read_table(tmp_path / "t.csv", keep=("c",))
    assert frame.rows() == [("1.5", "1,5", "7,0"), ("2", "x", "8,0")]


def bad_arrays(path: Path, **arrays: Any) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def test_what_cannot_be_read_gives_one_sentence(tmp_path: Path) -> None:
    for name, content, said in [
        ("t.xlsx", b"", "ends in none of .csv"),
        ("t", b"", "ends in none of .csv"),
        ("t.parquet", b"no", "not a Parquet file"),
        ("t.npz", b"no", "not an .npz file"),
        ("t.csv.gz", b"a,b\n1,2\n", "not a gzip file"),
        ("u.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-9], "not a gzip file, or is damaged"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match=said):
            read_table(tmp_path / name)
    bad_arrays(tmp_path / "o.npz", a=np.array([{}], dtype=object))
    bad_arrays(tmp_path / "d.npz", a=np.zeros((2, 2, 2)))
    bad_arrays(tmp_path / "l.npz", a=np.zeros(2), b=np.zeros(3))
    for name, said in [
        ("o", "plain arrays"),
        ("d", "3 dimensions"),
        ("l", "all need the same number"),
    ]:
        with pytest.raises(TableError, match=said):
            read_table(tmp_path / f"{name}.npz")
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "f.csv")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(TypeError, match="polars frame"):
        read_table([1, 2])


def test_without_polars_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r'pip install "sdgm\[io\]"'):
        read_table("t.csv")
