"""The UCI sets of Fernández-Delgado et al. (2014), their folds and the published accuracies."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import Split
from sdgm.datasets import MissingDataError, data_folder

FOLDER, PUBLISHED = "uci121", "uci121/published_accuracy.csv"
WHERE = "the sets of Fernández-Delgado et al. (JMLR 15, 2014), packed one file per set,"
N_FOLDS = 4


class Published(NamedTuple):
    """Accuracies in percent, one row per set and one column per classifier; NaN where none is."""

    names: list[str]
    accuracy: np.ndarray[Any, Any]


def training_rows() -> dict[str, int]:
    """Rows of the first fold of every set that comes as one file, the least work first."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(published_file().parent.glob("*.npz")):
        with np.load(path) as arrays:
            # of two files the second was scaled apart from the first
            if arrays["n_test"] == 0:
                rows = len(arrays["fold1_train"])
                found[path.stem] = rows * (1 + int(arrays["y"].max())), rows
    return {name: found[name][1] for name in sorted(found, key=lambda name: found[name])}


@cache
def arrays_of(name: str) -> dict[str, Any]:
    """All arrays of a set."""
    published_file()
    with np.load(data_folder() / FOLDER / f"{name}.npz") as arrays:
        return dict(arrays)


def fold_of(name: str, fold: int) -> Split:
    """Training and test rows; folds count from 0."""
    arrays = arrays_of(name)
    train, test = (arrays[f"fold{fold + 1}_{part}"] for part in ("train", "test"))
    X, y = arrays["X"], arrays["y"]
    return X[train], y[train], X[test], y[test]


def published(sets: list[str]) -> Published:
    """What is published on these sets."""
    with published_file().open(newline="") as file:
        (_, *names), *rows = csv.reader(file)
    of = {name: [float(value or "nan") for value in values] for name, *values in rows}
    return Published(names, np.array([of[name] for name in sets]))


def published_file() -> Path:
    """Which stands for all of them."""
    path = data_folder() / PUBLISHED
    if not path.is_file():
        raise MissingDataError(PUBLISHED, WHERE, data_folder())
    return path
