"""Ranks, sets, cells and the page of the comparison with 179 published classifiers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

pytest.importorskip("matplotlib")

from benchmarks import uci121
from benchmarks.records import append, path_of
from benchmarks.runner import Plan, unfinished
from benchmarks.uci121 import (
    PUBLISHED,
    SMALL_ROWS,
    agreement,
    fold_of,
    mean_ranks,
    published,
    standing,
    training_rows,
    write,
)
from sdgm.datasets import MissingDataError, data_folder

needs_data = pytest.mark.skipif(
    not (data_folder() / PUBLISHED).is_file(), reason="the published accuracies are not there"
)
# two files each, of which the second was scaled apart from the first
TWO_FILES = {
    "annealing", "audiology-std", "conn-bench-vowel-deterding", "hayes-roth", "hill-valley",
    "horse-colic", "image-segmentation", "monks-1", "monks-2", "monks-3", "optical", "pendigits",
    "soybean", "spect", "spectf", "statlog-landsat", "thyroid",
}  # fmt: skip
RUN = {
    "command": "here", "commit": "abc", "date": "2020-01-01 00:00 UTC", "python": "3", "cores": 1,
    "versions": {}, "system": "some", "cpu": "", "load": None,
}  # fmt: skip


@given(
    arrays(float, (5, 4), elements=st.sampled_from([50.0, 60.0, 70.0, np.nan])),
    arrays(float, 5, elements=st.sampled_from([50.0, 60.0, 70.0])),
)
def test_ranks_are_those_of_scipy_among_the_values_there(some: Any, last: Any) -> None:
    accuracy = np.column_stack([some, last])
    accuracy[0] = 60.0  # so that no classifier is without a value
    ranks: list[list[float]] = [[] for _ in range(5)]
    for row in accuracy:
        there = np.flatnonzero(np.isfinite(row))
        for column, rank in zip(there, rankdata(-row[there]), strict=True):
            ranks[column].append(rank)
    np.testing.assert_allclose(mean_ranks(accuracy), [np.mean(own) for own in ranks])


def test_a_model_stands_among_the_others_on_the_sets_it_was_measured_on() -> None:
    others = np.array([[90.0, 80.0, np.nan], [50.0, 70.0, 60.0], [99.0, 1.0, 1.0]])
    # second of three, then tied with the best of the others; the third set does not count
    own = standing(np.array([85.0, 70.0, np.nan]), others)
    assert own.rank == (2 + 1.5) / 2
    # the others have (1 + 4) / 2, (3 + 1.5) / 2 and 3
    assert own.place == 1
    assert standing(np.array([10.0, 10.0, 10.0]), others).place == 4


@needs_data
def test_the_sets_are_those_of_one_file_each_the_least_work_first() -> None:
    rows = training_rows()
    files = {path.stem for path in (data_folder() / PUBLISHED).parent.glob("*.npz")}
    assert len(rows) == 98 and files - set(rows) == TWO_FILES
    assert sum(n <= SMALL_ROWS for n in rows.values()) == 67
    assert next(iter(rows)) == "trains" and list(rows)[-2:] == ["chess-krvk", "letter"]
    X, y, X_test, y_test = fold_of("iris", 3)
    assert X.shape == (rows["iris"], 4) and len(X_test) == len(y_test) == 37 and len(y) == len(X)


@needs_data
@pytest.mark.parametrize(
    ("name", "accuracy", "rank"),
    [
        ("svmPoly_caret", 80.82, 31.8),
        ("avNNet_caret", 80.46, 35.7),
        ("svmRadialCost_caret", 80.78, 37.0),
        ("rf_caret", 81.18, 37.7),
    ],
)
def test_published_standings_on_the_small_sets(name: str, accuracy: float, rank: float) -> None:
    small = [name for name, n_rows in training_rows().items() if n_rows <= SMALL_ROWS]
    names, others = published(small)
    assert len(names) == 179
    column = names.index(name)
    assert round(np.nanmean(others[:, column]), 2) == accuracy
    # known among 180, where one more classifier was better on some six sets of ten
    assert mean_ranks(others)[column] == pytest.approx(rank - 0.6, abs=0.15)


@needs_data
def test_values_of_matlab_and_c_fit_the_folds_and_those_of_weka_do_not() -> None:
    lines = [line.strip("|\n ").split(" | ") for line in agreement(training_rows()).splitlines()]
    of = {program: (int(folds), int(rows)) for program, _, folds, rows in lines[2:]}
    assert of["matlab"][0] == of["C"][0] == of["weka"][1] == 100
    # what chance makes of the others
    assert all(35 < share < 60 for share in (of["matlab"][1], of["C"][1], of["weka"][0]))


def test_without_data_it_says_where_they_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match="SDGM_DATA"):
        uci121.cells(Plan())


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with two small sets, one large one and one of two files."""
    folder = tmp_path / "data" / "uci121"
    folder.mkdir(parents=True)
    monkeypatch.setenv("SDGM_DATA", str(tmp_path / "data"))
    lines = ["set,one_C,two_weka,three_R"]
    for i, (name, n_rows, n_test) in enumerate(
        [("large", 1600, 0), ("small", 40, 0), ("other", 60, 0), ("double", 30, 9)]
    ):
        rng = np.random.default_rng(i)
        y = np.arange(n_rows) % 2
        X = rng.normal(size=(n_rows, 2)) + 2 * y[:, None]
        y[0] = 2  # known in the folds that train on the first row
        folds = {}
        for fold in range(1, 5):
            order = rng.permutation(n_rows)
            folds[f"fold{fold}_test"], folds[f"fold{fold}_train"] = np.split(order, [n_rows // 4])
        np.savez(folder / f"{name}.npz", X=X, y=y, n_train=n_rows, n_test=n_test, **folds)
        lines.append(f"{name},80,{'' if name == 'other' else 90},70.5")
    (tmp_path / "data" / PUBLISHED).write_text("\n".join(lines) + "\n")
    return tmp_path


def own_record(data: str, model: str, code: str, accuracy: float, **more: Any) -> Any:
    cell = {"data": data, "model": model, "code": code}
    values = {"log_loss": 0.5, "seconds": 2.0, "weights": 3, "numbers": 1234, "accuracy": accuracy}
    results = [{"fold": fold, **values} for fold in range(4)]
    return {"cell": cell, "status": "done", "results": results, "run": RUN, "others": 0.0} | more


def test_other_code_makes_our_cells_due_again_and_not_those_of_peers(
    made_up: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(made_up, "uci121")
    cells = uci121.cells(Plan())
    assert [cell["data"] for cell in cells[:: len(cells) // 3]] == ["small", "other", "large"]
    for cell in cells:
        append(path, {"cell": cell, "status": "done"})
    assert unfinished(uci121.cells(Plan()), path) == []
    package = made_up / "sdgm"
    (package / "core").mkdir(parents=True)
    (package / "core" / "learning.py").write_text("other = 1\n")
    (package / "cli.py").write_text("this = 'is not read'\n")
    monkeypatch.setattr(uci121.sdgm, "__file__", str(package / "__init__.py"))
    due = unfinished(uci121.cells(Plan()), path)
    assert due == [c for c in uci121.cells(Plan()) if c["model"] not in uci121.PEERS] != []
    code = uci121.own_code()
    (package / "cli.py").write_text("nor = 'is this'\n")
    assert uci121.own_code() == code
    (package / "core" / "learning.py").write_text("other = 2\n")
    assert uci121.own_code() != code


def test_a_model_that_is_not_there_has_no_cells(
    made_up: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {"SDGMClassifier": None, "__file__": uci121.sdgm.__file__}
    monkeypatch.setattr(uci121, "sdgm", SimpleNamespace(**models))
    assert {c["model"] for c in uci121.cells(Plan())} == {"SDGMClassifier()", *uci121.PEERS}


@pytest.mark.parametrize("model", [*uci121.PEERS, "SDGMClassifier()"])
def test_a_cell_has_four_folds(made_up: Path, model: str) -> None:
    records = list(uci121.measure("other", model, "any"))
    assert [record["fold"] for record in records] == [0, 1, 2, 3]
    assert json.loads(json.dumps(records)) == records
    for record in records:
        assert 0.5 < record["accuracy"] <= 1.0 and 0.0 < record["log_loss"] < 1.5
        assert record["numbers"] > 0 and record["seconds"] > 0
        assert (record["weights"] is None) == (model in uci121.PEERS)


def test_rows_of_classes_that_were_not_there_cost_no_log_loss() -> None:
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    model = LogisticRegression().fit(X, y)
    loss = log_loss(y, model.predict_proba(X))
    assert uci121.loss_of(model, np.vstack([X, [[2.0]]]), np.append(y, 2)) == pytest.approx(loss)
    assert uci121.loss_of(model, X, y + 2) is None


def test_numbers_of_trees_are_splits_and_leaves() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 30), np.array([0, 0, 1, 1] * 30)
    forest = uci121.RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, y)
    assert uci121.stored_numbers(forest, X) == 5 * (2 + 2 * 2)  # a split, two leaves of two classes
    boosting = uci121.HistGradientBoostingClassifier(max_iter=7).fit(X, y)
    assert uci121.stored_numbers(boosting, X) == 7 * (2 + 2)


def test_the_page_says_who_stands_where_and_what_was_not_measured(made_up: Path) -> None:
    path = path_of(made_up, "uci121")
    ours, peer = "SDGMClassifier()", "random forest"
    append(path, own_record("small", ours, "old", 0.1))
    append(path, own_record("small", ours, "new", 0.85))
    append(path, own_record("other", ours, "new", 0.80004))  # with one digit a tie
    append(path, own_record("large", ours, "new", 1.0))
    append(path, own_record("small", peer, "x", 0.95, status="timeout"))
    append(path, own_record("small", "KernelSDGMClassifier()", "old", 0.95))
    append(path, own_record("small", "KernelSDGMClassifier()", "new", 0.95, status="failed"))
    append(path, own_record("other", peer, "x", 0.95))
    page = write(made_up).read_text()
    assert (made_up / "img" / "uci121-ranks.png").stat().st_size > 10_000
    small, everything = page.split("## All 3 data sets")
    assert "The 2 data sets with at most 900" in small
    # second of four, and tied for the first place of three
    row = "| **SDGMClassifier()** | 2 | 82.50 | 1.8 | 2 | 0.500 | 2.00 | 2.00 | 2.00 | 3 | 1,234 |"
    assert row in small
    assert "| **SDGMClassifier()** | 3 | 88.33 | 1.5 | 1 |" in everything
    assert "| **random forest** | 1 | 95.00 | 1.0 | 1 |" in small
    assert "| SDGMClassifier() | 0 / 1 / 0 | 1 / 0 / 1 | 2 / 0 / 0 |" in small
    assert "random forest: small (timeout), large (not run)" in page
    assert "KernelSDGMClassifier(): small (failed), other (not run), large (not run)" in page
    assert "**KernelSDGMClassifier()**" not in page  # what other code did is not shown
    assert "| two_weka | 1 | 90.00 | 1.0 |" in small


def test_of_many_sets_without_a_result_the_page_names_a_few() -> None:
    sets = [(f"s{i}", "not run") for i in range(9)] + [("s9", "timeout")]
    first = ", ".join(f"s{i} (not run)" for i in range(6))
    said = uci121.without_result({"one": sets, "two": sets, "three": sets[8:], "four": []})
    assert said == (
        f"- one, two: {first}, 3 others (not run), 1 other (timeout)\n"
        "- three: s8 (not run), s9 (timeout)"
    )
    assert uci121.without_result({"one": []}) == "- none"
