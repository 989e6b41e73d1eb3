"""Generated problems of any length, whose posteriors are known.

Rows come in blocks with a seed each, so that a table is the same whether it is drawn as a whole, in
parts into a file, or block by block on the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.special import logsumexp, softmax

# rows that are drawn from one seed
DRAWN_ROWS = 65_536
# seeds of the rows to learn from and to test on
TRAIN, TEST = 0, 1
SHAPES_SEED = 7

Table = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Gaussians:
    """Classes of equal size, each a mixture of equally likely Gaussians of different covariance."""

    n_classes: int
    n_modes: int
    n_inputs: int
    spread: float  # deviation of the means in each informative input
    n_informative: int  # inputs in which the Gaussians differ; the others are noise
    skew: float = 0.18  # deviation of the Gaussians' square roots around 0.8 times the identity

    @cached_property
    def shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """Means (C, M, I) and square roots of the covariances (C, M, I, I)."""
        rng = np.random.default_rng(SHAPES_SEED)
        shape, I = (self.n_classes, self.n_modes), self.n_informative  # noqa: E741
        means = self.spread * rng.normal(size=(*shape, I))
        return means, 0.8 * np.eye(I) + self.skew * rng.normal(size=(*shape, I, I))

    def block(self, number: int, seed: int, n_rows: int = DRAWN_ROWS) -> Table:
        """Inputs and classes of one block."""
        rng = np.random.default_rng([seed, number])
        means, roots = self.shapes
        y = rng.integers(self.n_classes, size=n_rows)
        mode = rng.integers(self.n_modes, size=n_rows)
        X = rng.normal(size=(n_rows, self.n_inputs))
        informative = np.empty((n_rows, self.n_informative))
        for c in range(self.n_classes):
            for m in range(self.n_modes):
                rows = np.flatnonzero((y == c) & (mode == m))
                own = X[rows, : self.n_informative]
                informative[rows] = own @ roots[c, m].T + means[c, m]
        X[:, : self.n_informative] = informative
        return X, y

    def blocks(self, n_rows: int, seed: int) -> Iterator[tuple[slice, Table]]:
        """All blocks of a table, and where they go; the last is cut."""
        for number, first in enumerate(range(0, n_rows, DRAWN_ROWS)):
            last = min(first + DRAWN_ROWS, n_rows)
            X, y = self.block(number, seed)
            yield slice(first, last), (X[: last - first], y[: last - first])

    def rows(self, n_rows: int, seed: int) -> Table:
        """A table in memory."""
        X, y = np.empty((n_rows, self.n_inputs)), np.empty(n_rows, dtype=np.int64)
        for where, block in self.blocks(n_rows, seed):
            X[where], y[where] = block
        return X, y

    def write(self, folder: Path, n_rows: int, seed: int) -> None:
        """A table as ``X.npy`` and ``y.npy``, one block in memory at a time."""
        shape = (n_rows, self.n_inputs)
        X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, shape)
        y = np.empty(n_rows, dtype=np.int8)
        for where, block in self.blocks(n_rows, seed):
            X[where], y[where] = block
        X.flush()
        np.save(folder / "y.npy", y)

    def posterior(self, X: np.ndarray) -> np.ndarray:
        """P(c | x), by Bayes' rule: (N, C)."""
        means, roots = self.shapes
        log_p = np.empty((len(X), self.n_classes, self.n_modes))
        for c in range(self.n_classes):
            for m in range(self.n_modes):
                U = np.linalg.solve(roots[c, m], (X[:, : self.n_informative] - means[c, m]).T)
                log_p[:, c, m] = -0.5 * (U**2).sum(axis=0) - np.linalg.slogdet(roots[c, m])[1]
        return softmax(logsumexp(log_p, axis=2), axis=1)


# what the cells call them
PROBLEMS = {
    "2 classes": Gaussians(2, 2, 10, spread=0.5, n_informative=10),
    "10 classes": Gaussians(10, 1, 10, spread=0.5, n_informative=10, skew=0.25),
    "26 classes": Gaussians(26, 2, 16, spread=0.7, n_informative=16),
}


def wide(n_inputs: int) -> Gaussians:
    """The problem of two classes among more inputs, which are noise."""
    return Gaussians(2, 2, n_inputs, spread=0.5, n_informative=10)
