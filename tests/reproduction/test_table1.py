"""Claims about the cells of Table 1: no choice on test rows, and nothing is computed twice."""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction import table1
from reproduction.cells import Key, Record, read_records
from reproduction.datasets import redrawn
from reproduction.methods import METHODS
from reproduction.table1 import PLANS, Plan, Protocol, cell_keys, measured, run_table1
from sdgm.datasets import Dataset, MissingDataError, make_ripley

DATA = make_ripley(n_train=60, n_test=40)
# what is measured before the test labels are looked at
LABEL_FREE = ("fingerprint", "chosen", "n_initial", "n_weights", "n_train", "n_test")

every_method = pytest.mark.parametrize("method", METHODS)


def outcome(data: Dataset, method: str) -> Record:
    with warnings.catch_warnings():  # as in the cells of an experiment
        warnings.simplefilter("ignore")
        return measured(data, 0, method, seed=0, quick=True)


@cache
def usual(method: str) -> Record:
    return outcome(DATA, method)


def label_free(record: Record) -> Record:
    return {field: record[field] for field in LABEL_FREE}


def with_labels(rows: Any, labels: Any) -> Dataset:
    y = DATA.y.copy()
    y[rows] = labels
    return replace(DATA, y=y)


@every_method
def test_test_labels_decide_nothing(method: str) -> None:
    _, test = DATA.splits[0]
    permuted = np.random.RandomState(0).permutation(DATA.y[test])
    record = outcome(with_labels(test, permuted), method)
    assert label_free(record) == label_free(usual(method))
    assert record["error"] != usual(method)["error"]
    swapped = outcome(with_labels(test, 1 - DATA.y[test]), method)
    assert label_free(swapped) == label_free(usual(method))
    assert swapped["error"] == pytest.approx(1.0 - usual(method)["error"])


@every_method
def test_test_inputs_decide_nothing_but_their_own_predictions(method: str) -> None:
    _, test = DATA.splits[0]
    X = DATA.X.copy()
    X[test] += 0.5
    record = outcome(replace(DATA, X=X), method)
    for field in ("chosen", "n_initial", "n_weights"):
        assert record[field] == usual(method)[field]
    assert record["fingerprint"] != usual(method)["fingerprint"]


@every_method
def test_the_error_is_that_of_both_halves_of_the_test_rows(method: str) -> None:
    train, test = DATA.splits[0]
    halves = [
        outcome(replace(DATA, splits=[(train, part)]), method) for part in (test[::2], test[1::2])
    ]
    assert usual(method)["error"] == pytest.approx(np.mean([half["error"] for half in halves]))
    assert usual(method)["brier"] == pytest.approx(np.mean([half["brier"] for half in halves]))
    for half in halves:
        assert half["chosen"] == usual(method)["chosen"]
        assert half["n_weights"] == usual(method)["n_weights"]


@every_method
def test_one_training_label_changes_the_fingerprint(method: str) -> None:
    record = outcome(with_labels(5, 1 - DATA.y[5]), method)
    assert record["fingerprint"] != usual(method)["fingerprint"]


@every_method
def test_a_record_can_be_kept_and_its_numbers_are_in_range(method: str) -> None:
    record = usual(method)
    assert json.loads(json.dumps(record)) == record
    assert 0.0 < record["error"] < 0.3
    assert 0.0 < record["log_loss"] < np.log(2.0)
    assert 0.0 < record["brier"] < 0.5
    assert 0.0 < record["ece"] < 1.0
    assert 0 < record["n_weights"] <= record["n_initial"]
    assert (record["n_train"], record["n_test"]) == (60, 40)


def test_test_rows_of_one_class_only_can_be_measured() -> None:
    train, test = DATA.splits[0]
    one_class = test[DATA.y[test] == 1]
    assert outcome(replace(DATA, splits=[(train, one_class)]), "logistic")["n_test"] == 20


def test_protocols_have_the_splits_of_their_titles() -> None:
    assert len(cell_keys(Protocol.TEN)) == 5 * 10 * len(METHODS)
    assert len(cell_keys(Protocol.DISTINCT)) == 80 * len(METHODS)
    assert len(cell_keys(Protocol.OWN)) == 3 * 100 * len(METHODS)
    assert len(cell_keys(Protocol.TEN, quick=True)) == 5 * 2 * len(METHODS)
    keys = [
        key for protocol in Protocol for seed in (0, 1) for key in cell_keys(protocol, seed=seed)
    ]
    assert len({json.dumps(key) for key in keys}) == len(keys)
    assert set(PLANS) == set(Protocol)


def test_repetitions_on_ripley_differ_by_their_seed_and_elsewhere_by_their_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def spy(data: Dataset, split: int, method: str, *, seed: int, quick: bool) -> Record:
        asked.append((split, method, seed, quick))
        return {}

    monkeypatch.setattr(table1, "dataset", lambda *_: DATA)
    monkeypatch.setattr(table1, "measured", spy)
    for name in ("ripley", "banana"):
        key: Key = {"protocol": "ten", "data": name, "split": 3, "seed": 5, "quick": True}
        table1.measured_cell({**key, "method": "gp"})
    assert asked == [(0, "gp", 8, True), (3, "gp", 5, True)]


def test_own_splits_follow_from_the_seed_and_the_others_are_the_published_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table1, "load_ida", lambda name: DATA)
    load = table1.dataset.__wrapped__  # what is remembered of other tests does not matter

    def training_rows(protocol: Protocol, seed: int) -> list[list[int]]:
        return [train.tolist() for train, _ in load("titanic", protocol, seed).splits]

    own = training_rows(Protocol.OWN, 0)
    assert own == training_rows(Protocol.OWN, 0) != training_rows(Protocol.OWN, 1)
    assert len(own) == PLANS[Protocol.OWN].n_splits["titanic"]
    assert {len(rows) for rows in own} == {60}
    for protocol in (Protocol.TEN, Protocol.DISTINCT):
        assert training_rows(protocol, 0) == training_rows(protocol, 1) == [list(range(60))]


class Cells:
    """Measures cells, and remembers which."""

    def __init__(self) -> None:
        self.seen: list[Key] = []
        self.compute = table1.measured_cell

    def __call__(self, key: Key) -> Record:
        self.seen.append(key)
        return self.compute({**key, "quick": True})


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Cells:
    """A small experiment: two quick methods on generated rows under the names of three sets."""
    rows = redrawn(DATA, 3, n_train=60)
    names = ("ripley", "waveform", "banana")
    gaussian_process = METHODS["gp"]
    for method in set(METHODS) - {"sdgm", "logistic"}:
        monkeypatch.delitem(METHODS, method)
    monkeypatch.setitem(METHODS, "sdgm", gaussian_process)
    monkeypatch.setattr(table1, "DATA", names)
    monkeypatch.setattr(
        table1,
        "PLANS",
        {
            Protocol.TEN: Plan("Three splits", dict.fromkeys(names, 3)),
            Protocol.DISTINCT: Plan("Two splits", {"banana": 2}),
        },
    )
    monkeypatch.setattr(table1, "dataset", lambda name, *_: DATA if name == "ripley" else rows)
    cells = Cells()
    monkeypatch.setattr(table1, "measured_cell", cells)
    return cells


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def without_minutes(path: Path) -> str:
    """A page but for the line with the date and how long it took."""
    return "".join(line for line in lines_of(path) if "minutes of computing" not in line)


def test_a_second_run_computes_nothing_and_a_removed_line_only_its_cell(
    cells: Cells, tmp_path: Path
) -> None:
    folder, kept = tmp_path / "new" / "folder", tmp_path / "new" / "folder" / "table1.jsonl"
    told: list[tuple[int, int]] = []
    protocols = (Protocol.TEN, Protocol.DISTINCT)
    paths = run_table1(folder, protocols=protocols, progress=lambda n, N, _: told.append((n, N)))
    assert paths == [folder / "table1.md", folder / "table1.csv"]
    assert len(cells.seen) == len(lines_of(kept)) == 3 * 3 * 2 + 2 * 2
    assert told == [(n, 22) for n in range(23)]
    assert cells.seen[0]["data"] == "waveform"  # the slowest first
    page, table = without_minutes(paths[0]), paths[1].read_text()
    assert "## Three splits" in page and "## Two splits" in page
    with paths[1].open() as file:
        assert len(list(csv.DictReader(file))) == 3 * 2 + 2

    cells.seen.clear()
    run_table1(folder, protocols=protocols)
    assert cells.seen == []
    assert (without_minutes(paths[0]), paths[1].read_text()) == (page, table)

    lines = lines_of(kept)
    lost = json.loads(lines.pop(4))
    kept.write_text("".join(lines), encoding="utf-8")
    run_table1(folder, protocols=protocols)
    assert cells.seen == [{field: lost[field] for field in cells.seen[0]}]
    again = read_records(kept)[-1]
    assert again["fingerprint"] == lost["fingerprint"] and again["error"] == lost["error"]


def test_cells_of_other_code_are_computed_again(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_table1(tmp_path, protocols=[Protocol.DISTINCT])
    n_cells = len(cells.seen)
    monkeypatch.setattr(table1, "code_version", lambda: "another")
    cells.seen.clear()
    run_table1(tmp_path, protocols=[Protocol.DISTINCT])
    assert len(cells.seen) == n_cells > 0
    assert {key["code"] for key in cells.seen} == {"another"}


def test_a_killed_run_goes_on_where_it_was(cells: Cells, tmp_path: Path) -> None:
    compute = cells.compute

    def killed(key: Key) -> Record:
        if len(cells.seen) == 4:
            raise KeyboardInterrupt
        return compute(key)

    cells.compute = killed
    with pytest.raises(KeyboardInterrupt):
        run_table1(tmp_path, protocols=[Protocol.DISTINCT, Protocol.TEN])
    assert len(lines_of(tmp_path / "table1.jsonl")) == 3
    assert not (tmp_path / "table1.md").exists()
    cells.compute = compute
    cells.seen.clear()
    run_table1(tmp_path, protocols=[Protocol.DISTINCT, Protocol.TEN])
    assert len(cells.seen) == 22 - 3


def test_another_seed_and_a_quick_run_are_other_cells(cells: Cells, tmp_path: Path) -> None:
    run_table1(tmp_path, protocols=[Protocol.DISTINCT])
    cells.seen.clear()
    run_table1(tmp_path, protocols=[Protocol.DISTINCT], seed=1)
    run_table1(tmp_path, protocols=[Protocol.DISTINCT], quick=True)
    assert [(key["seed"], key["quick"]) for key in cells.seen] == [(1, False)] * 4 + [(0, True)] * 4


def test_a_missing_file_is_named_before_anything_is_computed(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = redrawn(DATA, 3, n_train=60)

    def dataset(name: str, *_: object) -> Dataset:
        if name == "banana":
            raise MissingDataError("banana.npz", "it", tmp_path)
        return rows

    monkeypatch.setattr(table1, "dataset", dataset)
    with pytest.raises(MissingDataError, match="banana"):
        run_table1(tmp_path / "new")
    assert cells.seen == [] and not (tmp_path / "new").exists()


def test_too_few_splits_are_named_before_anything_is_computed(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table1, "dataset", lambda name, *_: DATA)
    with pytest.raises(ValueError, match=r"has 1 splits.*'ten' needs 3; get the others"):
        run_table1(tmp_path / "new")
    assert cells.seen == []


def test_a_protocol_needs_the_files_of_its_own_sets_only(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = redrawn(DATA, 3, n_train=60)

    def dataset(name: str, *_: object) -> Dataset:
        if name != "banana":
            raise MissingDataError(f"{name}.npz", "it", tmp_path)
        return rows

    monkeypatch.setattr(table1, "dataset", dataset)
    run_table1(tmp_path, protocols=[Protocol.DISTINCT])
    assert {key["data"] for key in cells.seen} == {"banana"}


def test_a_protocol_named_twice_is_run_once(cells: Cells, tmp_path: Path) -> None:
    _, once = run_table1(tmp_path / "once", protocols=[Protocol.DISTINCT])
    cells.seen.clear()
    _, twice = run_table1(tmp_path / "twice", protocols=[Protocol.DISTINCT] * 2)
    assert len(cells.seen) == 4
    with once.open() as one, twice.open() as other:
        repetitions = [
            [row["repetitions"] for row in csv.DictReader(file)] for file in (one, other)
        ]
    assert repetitions[0] == repetitions[1]
