"""Cells of an experiment: computed once, kept as JSON lines, not computed again.

A cell is what one worker computes in one go, such as one method on one split of one data set. Its
key is a flat dictionary of names and numbers that says all that the result depends on.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

Key = dict[str, str | int | float | bool | None]
Record = dict[str, Any]
# told how many cells are finished, of how many, and which one is the last
Progress = Callable[[int, int, Key | None], None]


def run_cells(
    path: Path,
    keys: Sequence[Key],
    compute: Callable[[Key], Record],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Record]:
    """Records of all cells, of which only those that are not in the file yet are computed.

    Parameters
    ----------
    path : Path
        File of JSON lines, one record per line; made if need be, and appended to as cells finish,
        so that a run that was killed goes on where it was.
    keys : sequence of dict
        The cells wanted, all with the same fields.
    compute : callable
        From a key to what is to be kept beside it. Runs in a process of its own with one BLAS
        thread; must be importable.
    jobs : int
        Processes.
    progress : callable, optional
        Told before the first cell and after each.

    Returns
    -------
    records : list of dict
        Key and result in one, in the order of the keys.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "squares.jsonl"
    ...     first = run_cells(path, [{"n": 2}], lambda key: {"square": key["n"] ** 2})
    ...     again = run_cells(path, [{"n": 2}], compute=None)
    >>> first == again == [{"n": 2, "square": 4}]
    True
    """
    fields = list(keys[0]) if keys else []
    finished = {
        _name({field: record.get(field) for field in fields}): record
        for record in read_records(path)
    }
    records = {name: finished[name] for name in map(_name, keys) if name in finished}
    waiting = [key for key in keys if _name(key) not in records]
    if progress is not None:
        progress(len(records), len(keys), None)
    if waiting:
        path.parent.mkdir(parents=True, exist_ok=True)
    for key, result in _computed(waiting, compute, jobs):
        record = {**key, **result}
        _append(path, record)
        records[_name(key)] = record
        if progress is not None:
            progress(len(records), len(keys), key)
    return [records[_name(key)] for key in keys]


def read_records(path: Path) -> list[Record]:
    """The records of a file, without a last line that was cut off; none if there is no file."""
    if not path.is_file():
        return []
    records = []
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        record = _parsed(line)
        if record is not None:
            records.append(record)
        elif number < len(lines):
            raise ValueError(
                f"line {number} of {path} is not a JSON record; remove that line, and its cell is "
                "run again."
            )
    return records


def _parsed(line: bytes) -> Record | None:
    """The record of a line, or None if it is none."""
    try:
        record = json.loads(line)
    except ValueError:  # not JSON, or not even text
        return None
    return record if isinstance(record, dict) else None


def _name(key: Key) -> str:
    """One string per cell."""
    return json.dumps(key, sort_keys=True)


def _computed(
    keys: Iterable[Key], compute: Callable[[Key], Record], jobs: int
) -> Iterator[tuple[Key, Record]]:
    """Keys and their results, in the order in which they are finished."""
    if jobs == 1:
        for key in keys:
            yield _one(key, compute)
        return
    yield from Parallel(jobs, return_as="generator_unordered", batch_size=1)(
        delayed(_one)(key, compute) for key in keys
    )


def _one(key: Key, compute: Callable[[Key], Record]) -> tuple[Key, Record]:
    with threadpool_limits(1), warnings.catch_warnings():
        # a record may say what did not converge; lines on the terminal would disturb the progress
        warnings.simplefilter("ignore")
        return key, compute(key)


def _append(path: Path, record: Record) -> None:
    """Add a line, after mending a last line that was cut off."""
    with path.open("a+b") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                _mend_last_line(file)
        file.write(json.dumps(record).encode() + b"\n")


def _mend_last_line(file: Any) -> None:
    """Drop a last line that was cut off, unless only its end of line is missing."""
    file.seek(0)
    before, newline, last = file.read().rpartition(b"\n")
    if _parsed(last) is None:
        file.truncate(len(before) + len(newline))
    else:
        file.write(b"\n")
