"""The data sets: Ripley's, Rätsch's and scikit-learn's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedShuffleSplit

from reproduction.datasets import load_ida, redrawn
from sdgm.datasets import load_ripley

BANANA_SPLIT = 1  # counted from 0: split 2 of the repository

Split = tuple[Any, Any, Any, Any]
# scikit-learn's, with the number of training rows
BUNDLED = {
    "iris": (load_iris, 90),
    "wine": (load_wine, 106),
    "wdbc": (load_breast_cancer, 300),
    "digits": (load_digits, 500),
}
IDA = (
    "banana", "breast_cancer", "titanic", "waveform", "german", "image", "heart", "ringnorm",
    "twonorm", "flare_solar", "thyroid",
)  # fmt: skip


def ripley() -> Split:
    """Ripley's problem as published: 250 training rows, 1000 test rows."""
    return load_ripley().split()


def banana() -> Split:
    """Split 2 of Banana."""
    return split_of("banana", BANANA_SPLIT)


PROBLEMS = {"Ripley": ripley, "Banana": banana}


@lru_cache(maxsize=32)
def rows_of(name: str) -> Any:
    """All rows of a set: X and y of scikit-learn's, a data set with splits of the others."""
    if name in BUNDLED:
        return BUNDLED[name][0](return_X_y=True)
    loaded = load_ida(name)
    return loaded if len(loaded.splits) > 1 else redrawn(loaded, 10)


def split_of(name: str, split: int) -> Split:
    """Training and test rows of a split."""
    if name in BUNDLED:
        X, y = rows_of(name)
        drawn = StratifiedShuffleSplit(1, train_size=BUNDLED[name][1], random_state=split)
        train, test = next(drawn.split(X, y))
        return X[train], y[train], X[test], y[test]
    loaded = rows_of(name)
    return loaded.split(split % len(loaded.splits))
