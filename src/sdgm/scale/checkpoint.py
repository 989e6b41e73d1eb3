"""Fits that survive a kill: a file with the progress so far, replaced as a whole every few seconds.

A fit is a sequence of stages that learn: one per start, per candidate of an automatic choice, on a
sample and then on all rows. Everything between them is a function of the data and the seeds. So the
file holds the results of finished stages, by name, the state of the current stage, and the seeds. A
fit that finds the file takes the results, continues from the state, and ends with the same model.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from types import CodeType
from typing import Any, NamedTuple
from zipfile import BadZipFile, is_zipfile

import numpy as np

from sdgm._typing import FloatArray
from sdgm.atomic import replacing
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.learning import Result
from sdgm.core.inference.recipe import Callback, Recipe
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.solvers.precision import FactorizationError

# seconds between two versions of the file
WRITE_EVERY = 5.0
# raised with every change of what is written: a file of another format is not read
CHECKPOINT_FORMAT = 3
ARRAYS = tuple(each.name for each in fields(State))
OF_COMPONENTS = {"pi", "component_class"}
NUMBERS = tuple(each.name for each in fields(Record) if each.name != "state")


class Unfinished(NamedTuple):
    """The current stage, and its result up to the last pass but one."""

    stage: str
    result: Result


@dataclass
class Checkpoint:
    """What a fit has learned so far, by stage.

    Attributes
    ----------
    path : Path
    fingerprint : str
        Of the estimator and the data.
    seeds : dict from stage to list of int
        Seeds drawn so far; none if the user gave them.
    finished : dict from stage to Result
    current : Unfinished or None
    """

    path: Path
    fingerprint: str
    seeds: dict[str, list[int]] = field(default_factory=dict)
    finished: dict[str, Result] = field(default_factory=dict)
    current: Unfinished | None = None
    last_written: float = field(default_factory=monotonic)

    def drawn(self, stage: str, draw: Callable[[], list[int]]) -> list[int]:
        """Seeds of a stage: those of the file, or new ones."""
        if stage not in self.seeds:
            self.seeds[stage] = draw()
        return self.seeds[stage]

    def learn(
        self,
        stage: str,
        recipe: Recipe,
        rows: RowSource,
        Rt: FloatArray,
        state: State,
        callback: Callback | None = None,
        *,
        keep_states: bool = False,
    ) -> Result:
        """Continue this stage from the state in the file."""
        if stage in self.finished:
            return replayed(self.finished[stage])
        earlier: list[Record] = []
        if self.current is not None and self.current.stage == stage:
            state, earlier = self.current.result.state, self.current.result.records
            rows = rows.without_initial_r()
        records = list(earlier)
        last: Record | None = None

        def written(record: Record) -> bool | None:
            nonlocal last
            # whether learning ends with this pass is not known yet, but not with the one before
            if last is not None and last.state is not None:
                records.append(last if keep_states else replace(last, state=None))
                self.current = Unfinished(stage, Result(last.state, records, Stop.MAX_ITER))
                if monotonic() - self.last_written >= WRITE_EVERY:
                    self.try_to_write()
            last = record
            return callback(record) if callback is not None else None

        try:
            result = recipe.learn(rows, Rt, state, written, earlier, keep_states=keep_states)
        except FactorizationError:  # the caller may know what else to do
            self.finished[stage] = Result(state, [], Stop.NUMERICAL)
            self.try_to_write()
            raise
        if result.stop is not Stop.INTERRUPTED:
            self.finished[stage] = result
            self.current = None
        self.try_to_write()
        return result

    def write(self) -> None:
        """Replace the file."""
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        results = list(self.finished.values())
        if self.current is not None:
            results.append(self.current.result)
        for i, result in enumerate(results):
            arrays |= {f"{i}/{name}": getattr(result.state, name) for name in ARRAYS}
            numbers = [[getattr(record, name) for name in NUMBERS] for record in result.records]
            arrays[f"{i}/records"] = np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS))
            states = packed_states(result.records)
            arrays |= {f"{i}/states/{name}": array for name, array in states.items()}
        about = {
            "format": CHECKPOINT_FORMAT,
            "fingerprint": self.fingerprint,
            "seeds": self.seeds,
            "finished": {stage: result.stop.value for stage, result in self.finished.items()},
            "current": None if self.current is None else self.current.stage,
        }
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        with replacing(self.path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        self.last_written = monotonic()

    def try_to_write(self) -> None:
        """Replace the file if that is possible; a full disk does not end a fit that goes on."""
        try:
            self.write()
        except OSError as error:
            self.last_written = monotonic()
            warnings.warn(
                f"The checkpoint could not be written ({error}); the fit continues but cannot be "
                "resumed from this point.",
                RuntimeWarning,
                stacklevel=2,
            )

    @classmethod
    def opened(cls, path: Path, fingerprint: str) -> Checkpoint:
        """The checkpoint of a file, or a new one where there is none."""
        if path.is_dir():
            raise ValueError(f"the checkpoint {str(path)!r} is a folder; name a file in it.")
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"the folder of the checkpoint {str(path)!r} does not exist; make it, or name a "
                "file in another."
            )
        if not path.exists():
            return cls(path, fingerprint)
        try:
            with open(path, "rb") as stream:
                is_archive = is_zipfile(stream)
            if not is_archive:
                raise NotACheckpoint
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
                about = json.loads(file["about"].tobytes())
                if about["format"] != CHECKPOINT_FORMAT:
                    raise ValueError(f"format {about['format']}")
                if about["fingerprint"] != fingerprint:
                    raise OtherFit
                stages, stops = list(about["finished"]), list(about["finished"].values())
                if about["current"] is not None:
                    stages, stops = [*stages, about["current"]], [*stops, Stop.MAX_ITER]
                results = [read_result(file, i, stop) for i, stop in enumerate(stops)]
        except NotACheckpoint:
            raise ValueError(
                f"{str(path)!r} is not a checkpoint, or is damaged; give another file name, or "
                "remove it to start again."
            ) from None
        except OtherFit:
            raise ValueError(
                f"the checkpoint {str(path)!r} belongs to another fit: its settings or its data "
                "differ from these; remove it, or give another file name."
            ) from None
        except (OSError, KeyError, ValueError, TypeError, BadZipFile, EOFError) as error:
            raise ValueError(
                f"the checkpoint {str(path)!r} cannot be read ({error}); remove it to start again."
            ) from None
        current = None
        if about["current"] is not None:
            current = Unfinished(stages.pop(), results.pop())
        finished = dict(zip(stages, results, strict=True))
        return cls(path, fingerprint, about["seeds"], finished, current)


def replayed(run: Result) -> Result:
    """A run that has ended: its result, or the error before its first pass."""
    if run.stop is Stop.NUMERICAL and not run.records:
        raise FactorizationError("learning could not begin, as before the checkpoint was written.")
    return run


class OtherFit(Exception):
    """A file that belongs to other data or settings."""


class NotACheckpoint(Exception):
    """A file that is not a checkpoint."""


def read_result(file: Any, i: int, stop: str) -> Result:
    """Result number i of a file."""
    state = State(**{name: file[f"{i}/{name}"] for name in ARRAYS})
    records = [as_record(row) for row in file[f"{i}/records"]]
    if f"{i}/states/sizes" in file:
        packed = {name: file[f"{i}/states/{name}"] for name in ("sizes", *ARRAYS)}
        states = unpacked_states(packed)
        records = [replace(r, state=s) for r, s in zip(records, states, strict=True)]
    return Result(state, records, Stop(stop))


def packed_states(records: list[Record]) -> dict[str, np.ndarray[Any, Any]]:
    """The concatenated states of records, and their sizes; empty if no record has a state.

    A record without a state, as that of a model without weights, has sizes of -1.
    """
    states = [record.state for record in records]
    there = [state for state in states if state is not None]
    if not there:
        return {}
    sizes = [(-1, -1) if s is None else (s.n_weights, s.n_components) for s in states]
    arrays = {name: np.concatenate([getattr(s, name) for s in there]) for name in ARRAYS}
    return {"sizes": np.array(sizes), **arrays}


def unpacked_states(packed: dict[str, np.ndarray[Any, Any]]) -> list[State | None]:
    """The states of `packed_states`."""
    sizes = packed["sizes"]
    ends = np.cumsum(np.maximum(sizes, 0), axis=0)
    states: list[State | None] = []
    for size, end in zip(sizes.tolist(), ends.tolist(), strict=True):
        spans = [slice(stop - n, stop) for n, stop in zip(size, end, strict=True)]
        parts = {name: packed[name][spans[name in OF_COMPONENTS]] for name in ARRAYS}
        states.append(State(**parts) if size[0] >= 0 else None)
    return states


def as_record(row: FloatArray) -> Record:
    """A record from its numbers."""
    counts = {"iteration", "n_weights", "n_components", "newton_steps"}
    values: dict[str, Any] = dict(zip(NUMBERS, row.tolist(), strict=True))
    return Record(**values | {name: int(values[name]) for name in counts})


@contextmanager
def kept_checkpoint(
    path: str | os.PathLike[str], fingerprint: Callable[[], str]
) -> Iterator[Checkpoint]:
    """The checkpoint of a path; its file is removed at the end, unless that is early."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"checkpoint must be a path or None, got {path!r}.")
    if not os.fspath(path):
        raise ValueError("checkpoint is an empty path; name a file, or leave it None.")
    checkpoint = Checkpoint.opened(Path(path), fingerprint())
    checkpoint.write()  # if that is not possible, the error comes before anything is learned
    try:
        yield checkpoint
        checkpoint.path.unlink(missing_ok=True)
    except Exception:
        # correcting the mistake changes the settings or the data
        if not checkpoint.finished and checkpoint.current is None:
            checkpoint.path.unlink(missing_ok=True)
        raise


# number of parts of a table that its fingerprint reads, and the rows of each
PARTS, PART_ROWS = 64, 256
# parameters that do not change the model
IDLE = {"checkpoint", "verbose", "n_jobs"}


def fingerprint(
    estimator: Any, X: Any, y: Any, sample_weight: Any, previous: State | None = None
) -> str:
    """A fingerprint of an estimator's settings and of the data, of which some parts are read.

    Parameters
    ----------
    estimator : the estimator being fitted
    X, y, sample_weight : tables, or None
    previous : State, optional
        The state that a warm start continues from: another start is another fit.
    """
    mark = hashlib.blake2b(digest_size=16)
    own = {k: v for k, v in estimator.get_params(deep=False).items() if k not in IDLE}
    mark.update(f"{type(estimator).__name__} {version('sdgm')}".encode())
    for name, value in sorted(own.items()):
        mark.update(f"{name}={words_for(value)}".encode())
    if previous is not None:
        for name in ARRAYS:
            mark.update(np.ascontiguousarray(getattr(previous, name)).tobytes())
    for table in X, y, sample_weight:
        if table is None:
            continue
        if not hasattr(table, "read") and not isinstance(table, np.ndarray):
            table = np.atleast_1d(np.asarray(table))
        read = getattr(table, "read", None) or (lambda a, b, rows=table: rows[a:b])
        n_rows = table.shape[0]
        mark.update(repr(table.shape).encode())
        for start in np.unique(np.linspace(0, max(n_rows - PART_ROWS, 0), PARTS).astype(int)):
            part = np.asarray(read(int(start), int(min(start + PART_ROWS, n_rows))))
            mark.update(repr(part.tolist()).encode() if part.dtype == object else part.tobytes())
    return mark.hexdigest()


def words_of_code(code: CodeType) -> str:
    """The bytecode of a function, nested functions included."""
    inside = [words_of_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {inside}"


def bound_values(function: Any, seen: frozenset[int]) -> list[str]:
    """Defaults of a function, and the values of its closure."""
    cells = [cell for cell in function.__closure__ or () if id(cell) not in seen]
    values = [function.__defaults__, function.__kwdefaults__]
    for cell in cells:
        with suppress(ValueError):  # a cell that is empty yet
            values.append(cell.cell_contents)
    return [words_for(value, seen | {*map(id, cells)}) for value in values]


def words_for(value: Any, seen: frozenset[int] = frozenset()) -> str:
    """A description of a setting that is the same in another process.

    ``seen`` holds the cells of functions that refer to themselves.
    """
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.blake2b(value.tobytes()).hexdigest()}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__  # the seeds that it gave are in the file
    if isinstance(value, partial):
        parts = [value.func, *value.args, *value.keywords.values()]
        return f"partial {list(value.keywords)} {' '.join(words_for(each, seen) for each in parts)}"
    if inspect.ismethod(value):
        inside = getattr(value.__self__, "__dict__", {})
        held = sorted((k, words_for(v, seen)) for k, v in inside.items())
        return f"{held} {words_for(value.__func__, seen)}"
    if callable(value) and not inspect.isroutine(value):
        inside = (
            value.get_params() if hasattr(value, "get_params") else getattr(value, "__dict__", {})
        )
        held = sorted((k, words_for(v, seen)) for k, v in inside.items())
        return f"{type(value).__qualname__} {held}"
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        code = getattr(value, "__code__", None)  # functions without a name differ by it
        words = f"{value.__module__}.{name}"
        if code is None:
            return words
        return f"{words} {words_of_code(code)} {bound_values(value, seen)}"
    return repr(value)
