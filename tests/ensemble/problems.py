"""Small labelled rows for the tests of the ensemble."""

from __future__ import annotations

import numpy as np

from sdgm.ensemble.rows import LabelledRows, labelled_rows


def random_table(n: int = 30, D: int = 3, C: int = 3, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Inputs, labels and weights one, two and three; some rows are repeated with other labels."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(C), rng.integers(0, C, n - C))
    X = rng.normal(size=(n, D)) + 0.8 * y[:, None]
    X[5], X[7] = X[4], X[6]
    y[5] = (y[4] + 1) % C
    return X, y, rng.integers(1, 4, n).astype(float)


def weights_of(y: np.ndarray, s: np.ndarray, C: int) -> np.ndarray:
    weight = np.zeros((len(y), C))
    weight[np.arange(len(y)), y] = s
    return weight


def random_rows(n: int = 30, D: int = 3, C: int = 3, seed: int = 0) -> LabelledRows:
    X, y, s = random_table(n, D, C, seed)
    return labelled_rows(X, weights_of(y, s, C))[0]


def without(rows: LabelledRows, case: int) -> LabelledRows:
    """The rows without the mass of a case."""
    weight = rows.s[:, None] * rows.Y
    n, c = rows.cases.row[case], rows.cases.label[case]
    weight[n, c] -= rows.cases.mass[case]
    weight[weight < 1e-12] = 0.0
    kept = weight.sum(axis=1) > 0.0
    return labelled_rows(rows.X[kept], weight[kept])[0]
