"""Ripley's synthetic two-class problem: the published rows, and the generator behind them."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.utils import check_random_state

from sdgm._typing import FloatArray
from sdgm.datasets.dataset import Dataset, with_one_split
from sdgm.datasets.files import DamagedDataError, MissingDataError, data_folder, read_verified

# Two Gaussians per class with equal shares, as Ripley gives them.
MEANS = np.array([[(-0.7, 0.3), (0.3, 0.3)], [(-0.3, 0.7), (0.4, 0.7)]])  # (class, component, 2)
VARIANCE = 0.03  # of both inputs, in all of them

PACKED = "ripley/ripley_synth.npz"
PACKED_SHA256 = "e1c8c778e3437e9c5fcac6cde7b527e19c312e472ca15f146dc200fe69085204"
# the files as published: a line of column names, then x1, x2 and the class, training part first
ORIGINALS = ("ripley/synth.tr", "ripley/synth.te")
# of the rows of both in this order, as little-endian float64 with the class in the third column
ORIGINALS_SHA256 = "ed8aeb060034096cae54a599e340e2bfffce7f125126e3efd18228ce35e178e7"

SOURCE = "B. D. Ripley, Pattern Recognition and Neural Networks, 1996; R package MASS 7.3-65"
LICENCE = "GPL-2 or GPL-3, as MASS"
WHERE_TO_GET = "synth.tr and synth.te, which do as well, from https://www.stats.ox.ac.uk/pub/PRNN/"


def load_ripley() -> Dataset:
    """Ripley's synthetic problem as published: 250 training rows, 1000 test rows.

    Read from ``ripley/ripley_synth.npz`` in `data_folder`, or else from the original text files
    ``ripley/synth.tr`` and ``ripley/synth.te`` there, with a checksum. Labels are 0 and 1.

    Raises
    ------
    MissingDataError
        When there is no such file; `make_ripley` needs none.
    DamagedDataError
        When the file is not the published one.

    Examples
    --------
    >>> from sdgm.datasets import MissingDataError, load_ripley, make_ripley
    >>> try:
    ...     data = load_ripley()
    ... except MissingDataError:
    ...     data = make_ripley()
    >>> data.X.shape
    (1250, 2)
    """
    folder = data_folder()
    if (folder / PACKED).is_file():
        rows, sha256 = read_packed(folder / PACKED), PACKED_SHA256
        return with_one_split("Ripley", *rows, SOURCE, licence=LICENCE, sha256=sha256)
    train, test = (folder / name for name in ORIGINALS)
    if train.is_file() and test.is_file():
        rows, sha256 = read_originals(train, test), ORIGINALS_SHA256
        return with_one_split("Ripley", *rows, SOURCE, licence=LICENCE, sha256=sha256)
    raise MissingDataError(PACKED, WHERE_TO_GET, folder)


def make_ripley(n_train: int = 250, n_test: int = 1000, random_state: Any = 0) -> Dataset:
    """Rows drawn from the distribution of Ripley's synthetic problem.

    Each class is an equal mixture of two Gaussians in the plane, with means (-0.7, 0.3) and
    (0.3, 0.3) against (-0.3, 0.7) and (0.4, 0.7), and covariance 0.03 I. As in the published
    rows, every Gaussian gives the same number of rows. Bayes' rule errs on 8.9% of all such rows,
    and on 8.0 % of the published test rows.

    Parameters
    ----------
    n_train, n_test : int
        Numbers of rows, shared equally by the four Gaussians; the first ones take the remainder.
    random_state : int, RandomState or None

    Returns
    -------
    data : Dataset
        Labels 0 and 1, one split.

    Examples
    --------
    >>> from sdgm.datasets import make_ripley
    >>> data = make_ripley(random_state=1)
    >>> data.X[data.y == 0].mean(axis=0).round(1)
    array([-0.2,  0.3])
    """
    for name, n in (("n_train", n_train), ("n_test", n_test)):
        if n < MEANS.size // 2:
            raise ValueError(f"{name} must be at least 4, one row per Gaussian, got {n}.")
    rng = check_random_state(random_state)
    (X_train, y_train), (X_test, y_test) = (drawn_rows(n, rng) for n in (n_train, n_test))
    X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
    return with_one_split("Ripley", X, y, n_train, "drawn from Ripley's four Gaussians")


def bayes_posterior(X: FloatArray) -> FloatArray:
    """P(c | x) by Bayes' rule from the true Gaussians, the best that can be known: (N, 2).

    Examples
    --------
    >>> bayes_posterior(np.array([[0.1, 0.4], [0.4, 0.7]])).round(2)
    array([[0.87, 0.13],
           [0.06, 0.94]])
    """
    squared_distance = ((X[:, None, None, :] - MEANS) ** 2).sum(axis=-1)  # (N, class, component)
    score = logsumexp(-0.5 * squared_distance / VARIANCE, axis=-1)  # (N, class)
    return softmax(score, axis=1)


def drawn_rows(n: int, rng: np.random.RandomState) -> tuple[FloatArray, np.ndarray[Any, Any]]:
    """N rows, class by class, and their labels."""
    y = np.sort(np.arange(n) % 2)
    means = [MEANS[c][np.sort(np.arange(n_c) % 2)] for c, n_c in enumerate(np.bincount(y))]
    return rng.normal(np.concatenate(means), np.sqrt(VARIANCE)), y


def read_packed(path: Path) -> tuple[FloatArray, np.ndarray[Any, Any], int]:
    """All rows, their labels and the number of training rows, from the packed file."""
    with np.load(io.BytesIO(read_verified(path, PACKED_SHA256)), allow_pickle=False) as arrays:
        X = np.concatenate([arrays["X_train"], arrays["X_test"]])
        y = np.concatenate([arrays["y_train"], arrays["y_test"]])
        return X, y, len(arrays["X_train"])


def read_originals(train: Path, test: Path) -> tuple[FloatArray, np.ndarray[Any, Any], int]:
    """All rows, their labels and the number of training rows, from the two text files."""
    try:
        parts = [
            np.array([line.split() for line in path.read_text().splitlines()[1:]], dtype=float)
            for path in (train, test)
        ]
        table = np.concatenate(parts)
    except ValueError as error:  # not text, not numbers, or lines of different length
        raise DamagedDataError(train, test) from error
    if hashlib.sha256(table.astype("<f8").tobytes()).hexdigest() != ORIGINALS_SHA256:
        raise DamagedDataError(train, test)
    return table[:, :2], table[:, 2], len(parts[0])
