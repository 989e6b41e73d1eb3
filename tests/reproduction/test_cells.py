"""Claims about the cells of experiments: computed once, kept, and found again."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from reproduction.cells import Key, Record, read_records, run_cells

KEYS: list[Key] = [{"method": "square", "n": n} for n in range(4)]
RECORDS = [{"method": "square", "n": n, "value": n * n} for n in range(4)]


class Squares:
    """Computes cells and remembers which."""

    def __init__(self, broken_at: int | None = None) -> None:
        self.seen: list[Any] = []
        self.broken_at = broken_at

    def __call__(self, key: Key) -> Record:
        self.seen.append(key["n"])
        if key["n"] == self.broken_at:
            raise RuntimeError("no luck")
        return {"value": int(key["n"] or 0) ** 2}


def square_and_process(key: Key) -> Record:
    return {"value": int(key["n"] or 0) ** 2, "process": os.getpid()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "cells.jsonl"


@pytest.fixture
def full(path: Path) -> Path:
    run_cells(path, KEYS, Squares())
    return path


def test_records_are_key_and_result_in_the_order_of_the_keys_and_in_the_file(path: Path) -> None:
    assert run_cells(path, KEYS, Squares()) == RECORDS
    assert [json.loads(line) for line in path.read_text().splitlines()] == RECORDS
    assert read_records(path) == RECORDS


def test_no_cells_make_no_file(path: Path) -> None:
    assert run_cells(path, [], Squares()) == []
    assert read_records(path) == []
    assert not path.parent.exists()


def test_what_is_in_the_file_is_not_computed_again(full: Path) -> None:
    before = full.read_bytes()
    again = Squares()
    assert run_cells(full, KEYS[::-1], again) == RECORDS[::-1]
    assert again.seen == [] and full.read_bytes() == before


@given(there=st.sets(st.integers(0, 3)), wanted=st.permutations(range(4)))
def test_only_the_missing_cells_are_computed(
    tmp_path_factory: pytest.TempPathFactory, there: set[int], wanted: list[int]
) -> None:
    path = tmp_path_factory.mktemp("cells") / "cells.jsonl"
    run_cells(path, [KEYS[n] for n in sorted(there)], Squares())
    squares = Squares()
    assert run_cells(path, [KEYS[n] for n in wanted], squares) == [RECORDS[n] for n in wanted]
    assert squares.seen == [n for n in wanted if n not in there]


def test_cells_finished_before_a_failure_are_kept(path: Path) -> None:
    with pytest.raises(RuntimeError, match="no luck"):
        run_cells(path, KEYS, Squares(broken_at=2))
    assert read_records(path) == RECORDS[:2]
    squares = Squares()
    assert run_cells(path, KEYS, squares) == RECORDS
    assert squares.seen == [2, 3]


# the last line has 39 bytes with its end of line
@pytest.mark.parametrize("lost", range(1, 40))
def test_a_run_killed_in_the_middle_of_a_line_goes_on(full: Path, lost: int) -> None:
    whole = full.read_bytes()
    full.write_bytes(whole[:-lost])
    squares = Squares()
    keys: list[Key] = [*KEYS, {"method": "square", "n": 4}]
    assert run_cells(full, keys, squares)[:4] == RECORDS
    assert squares.seen == ([4] if lost == 1 else [3, 4])
    # and leaves a file as if it had not been killed
    assert full.read_bytes() == whole + b'{"method": "square", "n": 4, "value": 16}\n'


def test_a_first_line_cut_off_is_mended_too(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"method": "squ')
    assert read_records(path) == []
    assert run_cells(path, KEYS, Squares()) == RECORDS
    assert read_records(path) == RECORDS


@pytest.mark.parametrize("line", [b'{"method": "squ', b"", b"\xff\xfe", b"17", b"\0\0\0\0\0"])
def test_a_spoilt_line_in_the_middle_is_named(full: Path, line: bytes) -> None:
    lines = full.read_bytes().split(b"\n")
    lines[1] = line
    full.write_bytes(b"\n".join(lines))
    before = full.read_bytes()
    squares = Squares()
    with pytest.raises(ValueError, match=r"line 2 of .*cells\.jsonl is not .*; remove that line"):
        run_cells(full, KEYS, squares)
    assert squares.seen == [] and full.read_bytes() == before


def test_a_removed_line_is_computed_again(full: Path) -> None:
    lines = full.read_text().splitlines(keepends=True)
    full.write_text("".join(lines[:1] + lines[2:]))
    squares = Squares()
    assert run_cells(full, KEYS, squares) == RECORDS
    assert squares.seen == [1]


def test_a_cell_with_another_field_or_value_is_another_cell(full: Path) -> None:
    squares = Squares()
    keys: list[Key] = [{**key, "seed": 0} for key in KEYS[:2]]
    assert run_cells(full, keys, squares) == [{**r, "seed": 0} for r in RECORDS[:2]]
    assert squares.seen == [0, 1]
    run_cells(full, [{"method": "cube", "n": 1}, {"method": "square", "n": 1.0}], squares)
    assert squares.seen == [0, 1, 1, 1.0]
    # and what was there before is still found
    assert run_cells(full, KEYS[2:], squares) == RECORDS[2:]
    assert len(squares.seen) == 4


def test_the_order_of_the_fields_does_not_matter(full: Path) -> None:
    squares = Squares()
    assert run_cells(full, [{"n": 3, "method": "square"}], squares) == RECORDS[3:]
    assert squares.seen == []


@pytest.mark.parametrize("value", ["ä\u2028\n", 0.1 + 0.2, float("inf"), None, [1, {"a": 2}]])
def test_results_come_back_from_the_file_as_they_were(path: Path, value: Any) -> None:
    key: Key = {"name": "ü\u0085\nx", "flag": True, "none": None, "x": 1e-300}
    first = run_cells(path, [key], lambda _: {"value": value})
    assert first == run_cells(path, [key], Squares()) == [{**key, "value": value}]


def test_progress_is_told_before_the_first_cell_and_after_each(path: Path) -> None:
    told: list[tuple[int, int, Key | None]] = []

    def progress(done: int, total: int, last: Key | None) -> None:
        told.append((done, total, last))

    run_cells(path, KEYS[:2], Squares(), progress=progress)
    assert told == [(0, 2, None), (1, 2, KEYS[0]), (2, 2, KEYS[1])]
    told.clear()
    run_cells(path, KEYS[1:3], Squares(), progress=progress)
    assert told == [(1, 2, None), (2, 2, KEYS[2])]
    told.clear()
    run_cells(path, KEYS[:2], Squares(), progress=progress)
    assert told == [(2, 2, None)]


def test_a_cell_is_in_the_file_before_progress_is_told(path: Path) -> None:
    lengths: list[int] = []
    run_cells(path, KEYS, Squares(), progress=lambda *_: lengths.append(len(read_records(path))))
    assert lengths == [0, 1, 2, 3, 4]


def test_cells_run_with_one_thread_and_without_warnings(path: Path) -> None:
    def compute(key: Key) -> Record:
        warnings.warn("did not converge", UserWarning, stacklevel=1)
        return {"threads": [pool["num_threads"] for pool in threadpool_info()]}

    (record,) = run_cells(path, KEYS[:1], compute)
    assert record["threads"] and set(record["threads"]) == {1}


@pytest.mark.slow  # starts two processes
def test_two_processes_give_the_same_records_and_go_on_from_one_another(path: Path) -> None:
    told: list[int] = []
    run_cells(path, KEYS[:1], square_and_process)
    records = run_cells(
        path, KEYS, square_and_process, jobs=2, progress=lambda done, *_: told.append(done)
    )
    assert [{**record, "process": 0} for record in records] == [
        {**record, "process": 0} for record in RECORDS
    ]
    assert told == [1, 2, 3, 4]
    processes = [record["process"] for record in records]
    assert processes[0] == os.getpid() and os.getpid() not in processes[1:]
    assert sorted(read_records(path), key=lambda record: record["n"]) == records
    assert run_cells(path, KEYS, Squares()) == records
