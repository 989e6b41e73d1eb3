"""Claims about files that appear when they are whole."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from sdgm.tables import TableError
from sdgm.tables.paths import check_output, check_writable
from sdgm.tables.writing import frame_writer, output_suffix


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "there.csv")
    with frame_writer(tmp_path / "link.csv") as write:
        write(pl.DataFrame({"a": [1]}))
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "there.csv").read_text() == "a\n1\n"


def test_a_device_can_be_written_to() -> None:
    assert output_suffix(os.devnull) == ".csv"
    with frame_writer(os.devnull) as write:
        write(pl.DataFrame({"a": [1]}))
    assert not Path(os.devnull).is_file()


def test_places_where_nothing_can_be_written_are_refused(tmp_path: Path) -> None:
    locked = tmp_path / "locked.csv"
    locked.write_text("old")
    locked.chmod(0o444)
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    for path, said in [
        (locked, "it is read-only"),
        (folder / "out.csv", "its folder is read-only"),
        (tmp_path / "none" / "out.csv", "there is no folder"),
        (tmp_path, "is a folder"),
    ]:
        with pytest.raises(TableError, match=said):
            check_writable(path)
    folder.chmod(0o755)


def test_unknown_suffixes_are_refused() -> None:
    for name in ("out.xlsx", "out", "out.gz"):
        with pytest.raises(TableError, match="ends in none"):
            output_suffix(name)


def test_outputs_of_another_suffix_and_files_that_are_read_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "m.sdgm"
    source.write_text("model")
    (tmp_path / "link.html").symlink_to(source)
    check_output(tmp_path / "r.html", (".html", ".htm"), source, None, "-")
    check_output(tmp_path / "r.htm", (".html", ".htm"), source)
    check_output(Path(os.devnull), (".html",), source)
    with pytest.raises(TableError, match=r"does not end in .html; name it 'm.html'"):
        check_output(source, (".html", ".htm"))
    with pytest.raises(TableError, match="would overwrite the input file"):
        check_output(tmp_path / "link.html", (".html",), None, str(source))
    with pytest.raises(TableError, match="is a folder"):
        check_output(tmp_path, (".html",))
    assert source.read_text() == "model"
