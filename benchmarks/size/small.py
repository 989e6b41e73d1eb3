"""A classifier of a known size, and the best of a family within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

FOLDS = 3
NUMBER_BYTES, SHORT_BYTES = 4, 1
# no single row decides a mean: probabilities below this count as this much in the log loss
SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class Small:
    """A fitted classifier of classes 0, 1, ....

    Attributes
    ----------
    setting : str
        Where it is along the size of its family.
    numbers : int
        Real numbers that it predicts with.
    indices : int
        Inputs, children and components that it refers to, a byte each.
    proba : function
        From rows to probabilities.
    short : int
        Of the numbers, those that have eight bits.
    """

    setting: str
    numbers: int
    indices: int
    proba: Callable[[Any], Any]
    short: int = 0

    @property
    def bytes(self) -> int:
        """Constants in flash, without code."""
        long = self.numbers - self.short
        return long * NUMBER_BYTES + self.short * SHORT_BYTES + self.indices


# classifiers along the sizes of their family, from rows, classes 0, 1, ... and a seed
Family = Callable[[Any, Any, int], Iterator[Small]]


@dataclass(frozen=True)
class Score:
    """Error and log loss on some rows."""

    error: float
    log_loss: float


def score(model: Small, X: Any, y: Any) -> Score:
    """Of a classifier on rows."""
    P = np.clip(model.proba(X), SMALLEST, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    own = P[np.arange(len(y)), y]
    return Score(float(np.mean(P.argmax(axis=1) != y)), float(-np.log(own).mean()))


def class_shares(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """What is left where nothing else is small enough."""
    share = np.bincount(y) / len(y)
    yield Small("class shares", len(share) - 1, 0, lambda X: np.tile(share, (len(X), 1)))


def with_shares(family: Family) -> Family:
    """A family that has a member of every size."""

    def both(X: Any, y: Any, seed: int) -> Iterator[Small]:
        yield from class_shares(X, y, seed)
        yield from family(X, y, seed)

    return both


def cross_validated(
    family: Family, X: Any, y: Any, seed: int, largest: int
) -> tuple[list[Small], dict[str, Score]]:
    """The family fitted to all rows, and the scores of its settings in folds."""
    models = [model for model in family(X, y, seed) if model.numbers <= largest]
    known = {model.setting for model in models}
    n_folds = min(FOLDS, int(np.bincount(y).min()))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    sums: dict[str, list[tuple[Score, int]]] = {setting: [] for setting in known}
    for train, test in folds.split(X, y):
        for model in family(X[train], y[train], seed):
            if model.setting in known:
                sums[model.setting].append((score(model, X[test], y[test]), len(test)))

    def mean(parts: list[tuple[Score, int]]) -> Score:
        if len(parts) < n_folds:  # a path that ended earlier in some fold
            return Score(np.inf, np.inf)
        rows = sum(n for _, n in parts)
        return Score(
            sum(each.error * n for each, n in parts) / rows,
            sum(each.log_loss * n for each, n in parts) / rows,
        )

    return models, {setting: mean(parts) for setting, parts in sums.items()}


def within(models: Sequence[Small], loss: Callable[[Small], float], budget: int) -> Small:
    """The member with the lowest loss among those within a budget; the smallest of equals."""
    fitting = [model for model in models if model.numbers <= budget]
    return min(fitting, key=lambda model: (loss(model), model.numbers))
