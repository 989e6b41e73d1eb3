"""A table, new rows and a model, for the commands that need them."""

from __future__ import annotations

from pathlib import Path

import pytest

import sdgm
from tests.tables.ugly import write_ugly

NEW_ROWS = 40


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table nobody prepared, new rows, and a model of it."""
    folder = tmp_path_factory.mktemp("cli")
    write_ugly(folder / "ugly.csv")
    write_ugly(folder / "new.csv", NEW_ROWS, seed=3)
    return folder


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def model(here: Path) -> str:
    """The model's file, made once."""
    if not (here / "model.sdgm").exists():
        from sdgm.tables import fit_table

        sdgm.save(fit_table("ugly.csv", "kind", id_column="id", form="primal"), "model.sdgm")
    return "model.sdgm"
