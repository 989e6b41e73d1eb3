"""Table 1 of the paper: SDGM and its rivals on Ripley's problem and four of Rätsch's sets.

What is assumed where the paper is silent is said in `methods` (settings) and in the titles of the
protocols below. Nothing is chosen on test rows: a method sees the training rows of a split, and the
test rows only to predict. Ten splits take about ten minutes on two cores, everything several hours.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline

from reproduction.cells import Key, Progress, Record, read_records, run_cells
from reproduction.datasets import load_ida, redrawn
from reproduction.environment import code_version
from reproduction.methods import METHODS, Situation
from reproduction.table1_page import write_page
from sdgm.datasets import Dataset, load_ripley
from sdgm.metrics import brier_score, expected_calibration_error

NAME = "table1"
DATA = ("ripley", "waveform", "banana", "titanic", "breast_cancer")
QUICK_SPLITS = 2
OWN_SPLITS = 100


class Protocol(StrEnum):
    """Which splits."""

    TEN = "ten"
    DISTINCT = "distinct"
    OWN = "own"


@dataclass(frozen=True)
class Plan:
    """The splits of a protocol.

    Attributes
    ----------
    title : str
    n_splits : dict from data set to int
    """

    title: str
    n_splits: dict[str, int]


PLANS = {
    Protocol.TEN: Plan(
        "The first ten original splits (Tipping's protocol); Ripley: the one split, ten seeds",
        dict.fromkeys(DATA, 10),
    ),
    Protocol.DISTINCT: Plan("All 80 distinct original splits of Banana", {"banana": 80}),
    Protocol.OWN: Plan(
        "Our own stratified splits of the same sizes, as the published ones are not available",
        dict.fromkeys(("waveform", "titanic", "breast_cancer"), OWN_SPLITS),
    ),
}


def run_table1(
    folder: Path,
    *,
    protocols: Sequence[Protocol] = (Protocol.TEN,),
    own_splits: int = OWN_SPLITS,
    seed: int = 0,
    quick: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """Run what is not in the folder yet, and write the page and the tables.

    Parameters
    ----------
    folder : Path
        Where to keep the cells (``table1.jsonl``) and to write; made if need be.
    protocols : sequence of Protocol, default=("ten",)
    own_splits : int, default=100
        How many of the own splits to run; more are shown if they are finished.
    seed : int, default=0
        Of starts, folds and own splits.
    quick : bool, default=False
        Two splits, fewer folds and coarser grids: to see that it works, not what comes out.
    jobs : int, default=1
        Processes.
    progress : callable, optional
        Told about finished cells; see `run_cells`.

    Returns
    -------
    paths : list of Path
        ``table1.md`` and ``table1.csv``.
    """
    wanted = list(dict.fromkeys(map(Protocol, protocols)))
    path = folder / f"{NAME}.jsonl"
    every = [key for protocol in wanted for key in cell_keys(protocol, seed=seed, quick=quick)]
    finished = finished_splits(path, every)
    keys = [key for key in every if is_wanted(key, own_splits, finished)]
    check_data(keys, seed)
    begin = perf_counter()
    # the slowest first, so that no process is left alone with them in the end
    keys.sort(key=lambda key: key["data"] != "waveform")
    records = run_cells(path, keys, measured_cell, jobs=jobs, progress=progress)
    return write_page(
        folder / NAME,
        records,
        {protocol: PLANS[protocol].title for protocol in wanted},
        seed=seed,
        quick=quick,
        jobs=jobs,
        seconds=perf_counter() - begin,
    )


def check_data(keys: Sequence[Key], seed: int) -> None:
    """Say before hours of work which file is missing, or has too few splits."""
    for name, protocol in dict.fromkeys((str(key["data"]), str(key["protocol"])) for key in keys):
        data = dataset(name, Protocol(protocol), seed)
        own = [key for key in keys if (key["data"], key["protocol"]) == (name, protocol)]
        last = max(int(key["split"] or 0) for key in own)
        if name != "ripley" and protocol != Protocol.OWN and len(data.splits) <= last:
            raise ValueError(
                f"{name} has {len(data.splits)} splits in the data folder, and protocol "
                f"{protocol!r} needs {PLANS[Protocol(protocol)].n_splits[name]}; get the others, "
                "or choose another protocol."
            )


def is_wanted(key: Key, own_splits: int, finished: set[tuple[Any, ...]]) -> bool:
    """Whether a cell is to be shown: own splits only up to a number, or if they are there."""
    is_own = key["protocol"] == Protocol.OWN
    return not is_own or int(key["split"] or 0) < own_splits or split_name(key) in finished


def finished_splits(path: Path, keys: Sequence[Key]) -> set[tuple[Any, ...]]:
    """Splits of which the file has all methods."""
    counts = Counter(split_name(key) for key in keys)
    names = {(*split_name(record), record.get("method")) for record in read_records(path)}
    done = Counter(name[:-1] for name in names)
    return {name for name, n in counts.items() if done[name] == n}


SPLIT = "protocol", "data", "split", "seed", "quick", "code"


def split_name(key: Key | Record) -> tuple[Any, ...]:
    """What the cells of one split have in common, as they are computed today."""
    return tuple(key.get(field) for field in SPLIT)


def cell_keys(protocol: Protocol, *, seed: int = 0, quick: bool = False) -> list[Key]:
    """All cells of a protocol.

    Examples
    --------
    >>> keys = cell_keys(Protocol.DISTINCT)
    >>> len(keys) // len(METHODS), keys[0]["data"]
    (80, 'banana')
    """
    return [
        {
            "protocol": str(protocol),
            "data": name,
            "split": split,
            "method": method,
            "seed": seed,
            "quick": quick,
            "code": code_version(),
        }
        for name, n_splits in PLANS[protocol].n_splits.items()
        for split in range(QUICK_SPLITS if quick else n_splits)
        for method in METHODS
    ]


@lru_cache(maxsize=16)
def dataset(name: str, protocol: Protocol, seed: int) -> Dataset:
    """The rows and the splits of a data set under a protocol."""
    if name == "ripley":
        return load_ripley()
    data = load_ida(name)
    return redrawn(data, OWN_SPLITS, random_state=seed) if protocol is Protocol.OWN else data


def measured_cell(key: Key) -> Record:
    """Fit one method to the training rows of one split, and measure on its test rows."""
    name, split, seed = str(key["data"]), int(key["split"] or 0), int(key["seed"] or 0)
    data = dataset(name, Protocol(str(key["protocol"])), seed)
    if name == "ripley":  # one split: repetitions differ by their seed
        split, seed = 0, seed + split
    return measured(data, split, str(key["method"]), seed=seed, quick=bool(key["quick"]))


def measured(data: Dataset, split: int, method: str, *, seed: int, quick: bool) -> Record:
    """The outcome of a method on a split."""
    X_train, y_train, X_test, y_test = data.split(split)
    chosen = METHODS[method]
    model = chosen.make(Situation(X_train.shape[1], seed, quick))
    begin = perf_counter()
    model.fit(X_train, y_train)
    fit_seconds = perf_counter() - begin
    begin = perf_counter()
    P = model.predict_proba(X_test)
    predicted = model.predict(X_test)
    seconds = perf_counter() - begin
    n_initial, n_weights = chosen.n_weights(model, len(X_train))
    return {
        "error": float(np.mean(predicted != y_test)),
        "log_loss": float(log_loss(y_test, P, labels=model.classes_)),
        "brier": brier_score(y_test, P, labels=model.classes_),
        "ece": expected_calibration_error(y_test, P, labels=model.classes_),
        "n_initial": int(n_initial),
        "n_weights": int(n_weights),
        "fit_seconds": fit_seconds,
        "predict_seconds": seconds,
        "chosen": chosen_parameters(model),
        "converged": has_converged(model),
        "n_train": len(X_train),
        "n_test": len(X_test),
        # of what the model says about the test rows: equal for equal models
        "fingerprint": hashlib.sha256(np.ascontiguousarray(P).tobytes()).hexdigest()[:16],
    }


def has_converged(model: Any) -> bool | None:
    """Whether learning ended by itself, where the model knows."""
    last = model[-1] if isinstance(model, Pipeline) else model
    last = getattr(last, "best_estimator_", last)
    converged = getattr(last, "converged_", None)
    return None if converged is None else bool(converged)


def chosen_parameters(model: Any) -> dict[str, float | str]:
    """What the training rows decided: parameters of a search, or of a kernel."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if getattr(last, "chosen_", None):
        return dict(last.chosen_)
    if hasattr(last, "best_params_"):
        return {name: float(value) for name, value in last.best_params_.items()}
    return {"kernel": str(last.kernel_)} if hasattr(last, "kernel_") else {}
