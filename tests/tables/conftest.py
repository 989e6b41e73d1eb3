"""Models that several tests look at; without the extra ``io`` there is nothing to test."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from sdgm.tables import TableModel, fit_table
from tests.tables.ugly import write_ugly

collect_ignore_glob = [] if find_spec("polars") and find_spec("narwhals") else ["test_*.py"]


@pytest.fixture(scope="session")
def ugly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ugly(tmp_path_factory.mktemp("tables") / "ugly.csv")


@pytest.fixture(scope="session")
def ugly_model(ugly: Path) -> TableModel:
    return fit_table(ugly, "kind", id_column="id", form="primal")
