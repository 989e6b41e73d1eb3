"""Fits that survive a kill: a file of what has been learned, replaced as a whole every so often.

A fit is a sequence of runs of `learn`: one per start, per candidate of an automatic choice, on a
sample and then on all rows. All between them is a function of the data and the seeds. So the file
holds the results of the runs that ended, the state of the one at work, and the seeds; a fit that
finds it takes the results as they are, goes on from the state, and ends with the same model.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from types import CodeType
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np

from sdgm._typing import FloatArray
from sdgm.atomic import replacing
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.learning import Result
from sdgm.core.inference.recipe import Recipe
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.solvers.precision import FactorizationError

# seconds between two versions of the file
WRITE_EVERY = 5.0
FORMAT = 1
ARRAYS = tuple(each.name for each in fields(State))
NUMBERS = tuple(each.name for each in fields(Record) if each.name != "state")


@dataclass
class Journal:
    """What a fit has learned so far.

    Attributes
    ----------
    path : Path
    fingerprint : str
        Of the estimator and the data.
    seeds : list of int
        Drawn so far, where they are not the user's own.
    finished : list of Result
        Of the runs that ended.
    current : Result or None
        Of the run at work, up to its last pass but one.
    """

    path: Path
    fingerprint: str
    seeds: list[list[int]] = field(default_factory=list)
    finished: list[Result] = field(default_factory=list)
    current: Result | None = None
    n_runs: int = 0  # that this process has begun
    n_draws: int = 0
    last_written: float = field(default_factory=monotonic)

    def drawn(self, draw: Callable[[], list[int]]) -> list[int]:
        """Seeds: those of the file, or new ones."""
        self.n_draws += 1
        if self.n_draws > len(self.seeds):
            self.seeds.append(draw())
        return self.seeds[self.n_draws - 1]

    def learn(
        self,
        rows: RowSource,
        Rt: FloatArray,
        state: State,
        options: Recipe,
        callback: Callable[[Record], bool | None] | None,
        keep_states: bool,
    ) -> Result:
        """`learn`, from where the file left it."""
        self.n_runs += 1
        if self.n_runs <= len(self.finished):
            return replayed(self.finished[self.n_runs - 1])
        earlier = self.current.records if self.current is not None else []
        if self.current is not None:
            state, rows = self.current.state, rows.without_initial_r()
        records = list(earlier)
        last: Record | None = None

        def written(record: Record) -> bool | None:
            nonlocal last
            # whether learning ends with this pass is not known yet, but not with the one before
            if last is not None and last.state is not None:
                records.append(last)
                self.current = Result(last.state, records, Stop.MAX_ITER)
                if monotonic() - self.last_written >= WRITE_EVERY:
                    self.try_to_write()
            last = record
            return callback(record) if callback is not None else None

        try:
            result = options.learn(rows, Rt, state, written, earlier, keep_states=True)
        except FactorizationError:  # whoever learns may know what else to do
            self.finished.append(Result(state, [], Stop.NUMERICAL))
            self.try_to_write()
            raise
        if result.stop is not Stop.INTERRUPTED:
            self.finished.append(result)
            self.current = None
        self.try_to_write()
        if not keep_states:
            records = [replace(record, state=None) for record in result.records]
            result = replace(result, records=records)
        return result

    def refuse(self) -> None:
        """Count a run that was refused before it began; there may be more memory next time."""
        self.n_runs += 1
        if self.n_runs > len(self.finished):
            none, nobody = np.empty(0), np.empty(0, dtype=np.intp)
            nothing = State(none, none, nobody, nobody, none, nobody)
            self.finished.append(Result(nothing, [], Stop.NUMERICAL))
            self.current = None
            self.try_to_write()

    def write(self) -> None:
        """Replace the file."""
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        runs = [*self.finished, *([] if self.current is None else [self.current])]
        for i, run in enumerate(runs):
            arrays |= {f"{i}/{name}": getattr(run.state, name) for name in ARRAYS}
            numbers = [[getattr(record, name) for name in NUMBERS] for record in run.records]
            arrays[f"{i}/records"] = np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS))
        about = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "seeds": self.seeds,
            "stops": [run.stop.value for run in self.finished],
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
                f"The checkpoint cannot be written ({error}); the fit goes on, but could not be "
                "resumed from here.",
                RuntimeWarning,
                stacklevel=2,
            )

    @classmethod
    def opened(cls, path: Path, fingerprint: str) -> Journal:
        """The journal of a file, or a new one where there is none."""
        if path.is_dir():
            raise ValueError(f"the checkpoint {str(path)!r} is a folder; name a file in it.")
        if not path.exists():
            return cls(path, fingerprint)
        try:
            with open(path, "rb") as stream:
                is_archive = is_zipfile(stream)
            if not is_archive:
                raise NoCheckpoint
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
                about = json.loads(file["about"].tobytes())
                if about["format"] != FORMAT:
                    raise ValueError(f"format {about['format']}")
                if about["fingerprint"] != fingerprint:
                    raise OtherFit
                runs = read_runs(file)
        except NoCheckpoint:
            raise ValueError(
                f"{str(path)!r} is no checkpoint of a fit, or a damaged one; name another file, or "
                "remove it to start anew."
            ) from None
        except OtherFit:
            raise ValueError(
                f"the checkpoint {str(path)!r} belongs to another fit: its settings or its data "
                "differ from these; remove it, or name another file."
            ) from None
        except (OSError, KeyError, ValueError, TypeError, BadZipFile, EOFError) as error:
            raise ValueError(
                f"the checkpoint {str(path)!r} cannot be read ({error}); remove it to start anew."
            ) from None
        stops = [Stop(stop) for stop in about["stops"]]
        finished = [
            Result(run.state, run.records, stop) for run, stop in zip(runs, stops, strict=False)
        ]
        current = runs[len(stops)] if len(runs) > len(stops) else None
        return cls(path, fingerprint, about["seeds"], finished, current)


def replayed(run: Result) -> Result:
    """A run that has ended: its result again, or the trouble that it had before its first pass."""
    if run.stop is Stop.NUMERICAL and not run.records:
        raise FactorizationError("learning could not begin, as before the checkpoint was written.")
    return run


class OtherFit(Exception):
    """A file that belongs to other data or settings."""


class NoCheckpoint(Exception):
    """A file of something else."""


def read_runs(file: Any) -> list[Result]:
    """Results of a file, in order; why they stopped is not among them."""
    runs: list[Result] = []
    while f"{len(runs)}/w" in file:
        i = len(runs)
        state = State(**{name: file[f"{i}/{name}"] for name in ARRAYS})
        records = [as_record(row) for row in file[f"{i}/records"]]
        runs.append(Result(state, records, Stop.MAX_ITER))
    return runs


def as_record(row: FloatArray) -> Record:
    """A record from its numbers."""
    counts = {"iteration", "n_weights", "n_components", "newton_steps"}
    values: dict[str, Any] = dict(zip(NUMBERS, row.tolist(), strict=True))
    return Record(**values | {name: int(values[name]) for name in counts})


_current: ContextVar[Journal | None] = ContextVar("journal", default=None)


def current_journal() -> Journal | None:
    """The journal of the fit that is going on, if it keeps one."""
    return _current.get()


@contextmanager
def keeping_journal(
    path: str | os.PathLike[str] | None, fingerprint: Callable[[], str]
) -> Iterator[None]:
    """Keep a journal of what is learned within; it is removed at the end, unless that is early.

    Within another fit, such as that to a sample, its journal is kept.
    """
    if path is None or _current.get() is not None:
        yield
        return
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"checkpoint must be a path or None, got {path!r}.")
    if not os.fspath(path):
        raise ValueError("checkpoint is an empty path; name a file, or leave it None.")
    journal = Journal.opened(Path(path), fingerprint())
    journal.write()  # where that is not possible, it is said before anything is learned
    token = _current.set(journal)
    try:
        yield
        journal.path.unlink(missing_ok=True)
    except Exception:
        # a mistake that is mended changes the settings or the data
        if not journal.finished and journal.current is None:
            journal.path.unlink(missing_ok=True)
        raise
    finally:
        _current.reset(token)


@contextmanager
def attempt() -> Iterator[None]:
    """Within, a fit that may be refused for want of memory, while others go on."""
    journal = _current.get()
    n_runs = 0 if journal is None else journal.n_runs
    try:
        yield
    except MemoryError:
        if journal is not None and journal.n_runs == n_runs:
            journal.refuse()
        raise


def journaled_learn(
    rows: RowSource,
    Rt: FloatArray,
    state: State,
    options: Recipe,
    callback: Callable[[Record], bool | None] | None = None,
    *,
    keep_states: bool = False,
) -> Result:
    """`learn`, or what the journal knows of it."""
    journal = _current.get()
    if journal is None:
        return options.learn(rows, Rt, state, callback, keep_states=keep_states)
    return journal.learn(rows, Rt, state, options, callback, keep_states)


# parts of a table that its fingerprint looks at, and rows of each
PARTS, PART_ROWS = 64, 256
# parameters that do not change the model
IDLE = {"checkpoint", "verbose", "n_jobs"}


def fingerprint(estimator: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """A mark of an estimator's settings and of the data, as far as a look at parts can tell."""
    mark = hashlib.blake2b(digest_size=16)
    own = {k: v for k, v in estimator.get_params(deep=False).items() if k not in IDLE}
    mark.update(f"{type(estimator).__name__} {version('sdgm')}".encode())
    for name, value in sorted(own.items()):
        mark.update(f"{name}={words_for(value)}".encode())
    if estimator._goes_on():  # another start is another fit
        for name in ARRAYS:
            mark.update(np.ascontiguousarray(getattr(estimator.model_.state, name)).tobytes())
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
    """What a function does, nested ones included."""
    inside = [words_of_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {inside}"


def bound_values(function: Any) -> list[str]:
    """Defaults of a function, and what it holds of where it was made."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [words_for(v) for v in (function.__defaults__, function.__kwdefaults__, *cells)]


def words_for(value: Any) -> str:
    """A setting in words that are the same in another process."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.blake2b(value.tobytes()).hexdigest()}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__  # the seeds that it gave are in the file
    if isinstance(value, partial):
        parts = [value.func, *value.args, *value.keywords.values()]
        return f"partial {list(value.keywords)} {' '.join(map(words_for, parts))}"
    if callable(value) and not inspect.isroutine(value):
        inside = (
            value.get_params() if hasattr(value, "get_params") else getattr(value, "__dict__", {})
        )
        return f"{type(value).__qualname__} {sorted((k, words_for(v)) for k, v in inside.items())}"
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        code = getattr(value, "__code__", None)  # functions without a name are told apart by it
        words = f"{value.__module__}.{name}"
        return words if code is None else f"{words} {words_of_code(code)} {bound_values(value)}"
    return repr(value)
