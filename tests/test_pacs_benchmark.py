"""The page of PACS says what its records say."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

if not (find_spec("torch") and find_spec("matplotlib")):
    pytest.skip("torch or matplotlib is not installed", allow_module_level=True)

from benchmarks import pacs
from benchmarks.environment import surroundings
from benchmarks.pacs import ALL, FITTED, KINDS, LOGISTIC, MODES, STUDENT, TRUE_STYLES, UNSEEN
from benchmarks.records import DONE, append, path_of
from benchmarks.runner import Plan


def head(name: str, M: int | str, error: float, n_components: int = 4) -> dict[str, object]:
    share = np.full((7, 4, n_components), 1.0 / n_components).tolist()
    numbers = {"error": error, "log_loss": 2.0 * error, "ece": 0.01, "seconds": 1.0}
    return {"head": name, "M": M, **numbers, "share": share}


def test_the_page_compares_with_logistic_regression(tmp_path: Path) -> None:
    about = surroundings("python -m benchmarks pacs")
    for cell in pacs.cells(Plan(repeats=5)):
        heads = [head(LOGISTIC, 1, 0.2), head(FITTED, 1, 0.17), head(STUDENT, 1, 0.18)]
        heads += [head(kind, M, 0.25) for kind in KINDS for M in (*MODES, TRUE_STYLES)]
        record = {"cell": cell, "status": DONE, "results": heads, "run": about, "others": 0.0}
        append(path_of(tmp_path, "pacs"), record)
    text = pacs.write(tmp_path).read_text(encoding="utf-8")
    assert "fit_head: error lower by 3.00 points (3.00 to 3.00), log loss by 15.0%" in text
    assert (tmp_path / "img" / "pacs-modes.png").stat().st_size > 10_000
    assert (tmp_path / "img" / "pacs-styles.png").stat().st_size > 10_000


def test_every_row_count_and_every_style_is_measured() -> None:
    cells = pacs.cells(Plan(repeats=5))
    assert {cell["rows"] for cell in cells if cell["part"] == ALL} == set(pacs.ROWS)
    assert [cell["style"] for cell in cells if cell["part"] == UNSEEN] == [0, 1, 2, 3]
    assert sum(cell["rows"] == 2000 and cell["part"] == ALL for cell in cells) == 5


def test_components_belong_to_their_class() -> None:
    rng = np.random.RandomState(0)
    y, style = np.arange(70) % 7, np.arange(70) // 18
    X = rng.normal(size=(70, 3))
    for M in (1, 2, TRUE_STYLES):
        own, of_class = pacs.components(X, y, style, M)
        np.testing.assert_array_equal(of_class[own], y)
        assert len(of_class) == {1: 7, 2: 14, TRUE_STYLES: 28}[M]
