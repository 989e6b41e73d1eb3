"""Claims about where data files are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sdgm.datasets import DamagedDataError, MissingDataError, data_folder
from sdgm.datasets.files import read_verified

SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_folder_is_the_one_that_SDGM_DATA_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDGM_DATA", "~/some-folder")
    assert data_folder() == Path.home() / "some-folder"


@pytest.mark.parametrize("unset", [None, ""])
@pytest.mark.parametrize(
    ("platform", "variable"), [("linux", "XDG_DATA_HOME"), ("win32", "LOCALAPPDATA")]
)
def test_without_SDGM_DATA_the_folder_is_the_users_own(
    monkeypatch: pytest.MonkeyPatch, unset: str | None, platform: str, variable: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("SDGM_DATA", variable):
        monkeypatch.delenv(name, raising=False)
        if unset is not None:
            monkeypatch.setenv(name, unset)
    assert data_folder().is_relative_to(Path.home())
    assert data_folder().name == "sdgm"
    monkeypatch.setenv(variable, str(Path("elsewhere")))
    assert data_folder() == Path("elsewhere") / "sdgm"


def test_a_file_is_read_only_with_the_right_checksum(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert read_verified(path, SHA256_OF_ABC) == b"abc"
    path.write_bytes(b"abd")
    with pytest.raises(DamagedDataError, match="file is damaged or another version"):
        read_verified(path, SHA256_OF_ABC)


def test_a_missing_file_is_named_in_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    message = str(MissingDataError("set/rows.npz", "rows.npz from example.org", tmp_path))
    assert "set/rows.npz is not in" in message
    assert "example.org" in message
    assert str(tmp_path / "set") in message
    assert "SDGM_DATA" in message
    assert "\n" not in message and message.endswith(".")
