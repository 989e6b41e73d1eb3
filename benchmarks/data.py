"""The problems that are timed: Ripley's, Banana split 2, and mixtures of any size."""

from __future__ import annotations

import io

import numpy as np

from sdgm.datasets import MissingDataError, data_folder, load_ripley
from sdgm.datasets.files import read_verified

BANANA = "ida/banana.npz"
BANANA_SHA256 = "8e38de61097a384965c2d3d154510c0a5290211358be3bdf54262da0b6262c9e"
BANANA_SPLIT = 1  # counted from 0: split 2 of the repository

# the mixtures: how many Gaussians per class, and how many inputs tell the classes apart
GAUSSIANS_PER_CLASS = 3
INFORMATIVE = 5
MEAN_DEVIATION = 1.5
MEANS_SEED = 2

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def ripley() -> Split:
    """Ripley's problem as published: 250 training rows, 1000 test rows."""
    return load_ripley().split()


def banana_splits() -> list[Split]:
    """The 80 distinct splits of Banana: 400 training rows, 4900 test rows each."""
    path = data_folder() / BANANA
    if not path.is_file():
        raise MissingDataError(BANANA, "Banana of the IDA benchmark, packed as npz", data_folder())
    with np.load(io.BytesIO(read_verified(path, BANANA_SHA256))) as arrays:
        X, y, distinct = arrays["X"], arrays["y"], arrays["duplicate_of"] == 0
        pairs = zip(arrays["train_idx"][distinct], arrays["test_idx"][distinct], strict=True)
        return [(X[train], y[train], X[test], y[test]) for train, test in pairs]


def banana() -> Split:
    """Split 2 of Banana."""
    return banana_splits()[BANANA_SPLIT]


PROBLEMS = {"Ripley": ripley, "Banana": banana}


def gaussian_mixtures(n_samples: int, n_inputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of equal size, each a mixture of three equally likely Gaussians.

    All have unit covariance. Their means are drawn once and for all, with deviation 1.5 in each of
    the first five inputs (or all, when there are fewer); in every further input they are zero, so
    that those are noise. Bayes' rule errs on 11 % of the rows with five inputs or more, and on 22 %
    with two.

    Parameters
    ----------
    n_samples, n_inputs : int
    seed : int
        Of the rows; the means do not depend on it.
    """
    n_informative = min(n_inputs, INFORMATIVE)
    means = np.zeros((2, GAUSSIANS_PER_CLASS, n_inputs))
    drawn = np.random.default_rng(MEANS_SEED).standard_normal((2, GAUSSIANS_PER_CLASS, INFORMATIVE))
    means[..., :n_informative] = MEAN_DEVIATION * drawn[..., :n_informative]
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % 2)
    gaussian = rng.integers(GAUSSIANS_PER_CLASS, size=n_samples)
    return means[y, gaussian] + rng.standard_normal((n_samples, n_inputs)), y
