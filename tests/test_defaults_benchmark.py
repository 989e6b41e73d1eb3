"""What the benchmark of fits without arguments measures and writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.datasets import make_moons

pytest.importorskip("matplotlib")

from benchmarks import defaults
from benchmarks.defaults import BANANA, COMPARED, GAUSSIANS, SEARCH, cells, measure, write
from benchmarks.records import append, path_of
from benchmarks.runner import Plan
from tests.test_uci121 import RUN

FIT = {"rows": 400, "inputs": 2, "classes": 2, "log_loss": 0.3, "chosen": {}}


def test_no_name_has_a_comma_so_that_each_can_be_chosen() -> None:
    assert not any("," in cell["data"] + cell["model"] for cell in cells(Plan()))
    assert {cell["data"] for cell in cells(Plan())} == set(COMPARED) >= {BANANA, *GAUSSIANS}
    assert {cell["data"] for cell in cells(Plan(quick=True))} == {BANANA}


def test_the_page_has_medians_of_the_rounds_of_the_last_code(tmp_path: Path) -> None:
    for code, number, seconds in (("old", 0, 9.0), ("new", 0, 1.0), ("new", 1, 2.0)):
        cell = {"data": BANANA, "model": SEARCH, "round": number, "code": code}
        result = FIT | {"seconds": seconds, "error": 0.1, "weights": None, "numbers": 1234}
        record = {"cell": cell, "status": "done", "results": [result], "run": RUN, "others": 0.0}
        append(path_of(tmp_path, "defaults"), record)
    page = write(tmp_path).read_text()
    line = f"| banana: 400 x 2, 2 classes | {SEARCH} | 1.50 | 10.00 | 0.300 |  | 1,234 |"
    assert line in page
    assert "9.00" not in page


def test_a_cell_is_a_fit_and_its_test_error(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_moons(200, noise=0.1, random_state=0)
    monkeypatch.setattr(defaults, "rows_of", lambda data: (X[:100], y[:100], X[100:], y[100:]))
    record = measure(BANANA, SEARCH, 0, "any")
    assert record["error"] < 0.15 and record["seconds"] > 0.0
    assert 2 * 3 < record["numbers"] < 100 * 4
