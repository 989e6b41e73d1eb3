"""Sets that are drawn: Appendix B's checkerboard and Breiman's waveforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sdgm.datasets.dataset import Dataset, with_one_split

# Appendix B gives the numbers of Gaussians and of rows. Deviation and centres are those of the
# authors' generator.
CHECKERBOARD_SIGMA = 0.125
CHECKERBOARD_GRID = np.array([-0.75, -0.25, 0.25, 0.75])  # along either input

# Triangles of height 6 over the inputs 1 to 21, with their tips at 11, 15 and 7
WAVES = np.maximum(6.0 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0.0)  # (3, 21)
WAVES_OF_CLASS = np.array([(0, 1), (0, 2), (1, 2)])  # the two that each class mixes
# the class that the IDA benchmark sets against the other two
WAVEFORM_POSITIVE = 1


def make_checkerboard(n_train: int = 20, n_test: int = 100, random_state: Any = 0) -> Dataset:
    """Sixteen Gaussians on a 4 x 4 grid, their two classes alternating: the set of Appendix B.

    The centres are at -0.75, -0.25, 0.25 and 0.75 along both axes, and the standard deviation is
    0.125, so neighbours barely touch: Bayes' rule errs on 6.6% of all such rows.

    Parameters
    ----------
    n_train, n_test : int
        Rows of each Gaussian; the paper's 320 and 1600 rows are the defaults.
    random_state : int, RandomState or None

    Returns
    -------
    data : Dataset
        Labels 0 and 1, with 0 at the top left; one split. Rows come Gaussian by Gaussian, from
        the top left to the right and then downwards.

    Examples
    --------
    >>> from sdgm.datasets import make_checkerboard
    >>> X_train, y_train, X_test, y_test = make_checkerboard().split()
    >>> X_train.shape, X_test.shape
    ((320, 2), (1600, 2))
    """
    check_sizes(n_train=n_train, n_test=n_test)
    rng = check_random_state(random_state)
    centres = np.array([(x, y) for y in CHECKERBOARD_GRID[::-1] for x in CHECKERBOARD_GRID])
    classes = (np.add.outer(np.arange(4), np.arange(4)) % 2).ravel()
    X = np.concatenate(
        [rng.normal(np.repeat(centres, n, axis=0), CHECKERBOARD_SIGMA) for n in (n_train, n_test)]
    )
    y = np.concatenate([np.repeat(classes, n) for n in (n_train, n_test)])
    source = "drawn from Appendix B's sixteen Gaussians"
    return with_one_split("checkerboard", X, y, 16 * n_train, source)


def make_waveform(
    n_train: int = 400, n_test: int = 4600, n_classes: int = 3, random_state: Any = 0
) -> Dataset:
    """Breiman's waveforms: 21 points along a random mixture of two of three triangles, with noise.

    A row is u a + (1 - u) b + e, where u is uniform on [0, 1], e is standard normal noise and a, b
    are two of the triangles h_1, h_2, h_3 of height 6 with tips at inputs 11, 15 and 7: h_1 and
    h_2 in the first class, h_1 and h_3 in the second, h_2 and h_3 in the third. The classes are
    equally probable. Inputs are not scaled.

    Parameters
    ----------
    n_train, n_test : int
        Numbers of rows, by default those of the IDA benchmark.
    n_classes : {3, 2}
        With 2, the second class against the other two, as in the IDA benchmark.
    random_state : int, RandomState or None

    Returns
    -------
    data : Dataset
        Labels 0, 1 and 2, or +1 for the second class and -1 for the others; one split.

    References
    ----------
    L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone, Classification and Regression Trees,
    1984, section 2.6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sdgm.datasets import make_waveform
    >>> data = make_waveform(n_classes=2)
    >>> data.X.shape, np.unique(data.y)
    ((5000, 21), array([-1,  1]))
    """
    check_sizes(n_train=n_train, n_test=n_test)
    if n_classes not in (2, 3):
        raise ValueError(f"n_classes must be 2 or 3, got {n_classes}.")
    rng = check_random_state(random_state)
    N = n_train + n_test
    c = rng.randint(3, size=N)
    u = rng.uniform(size=(N, 1))
    a, b = WAVES[WAVES_OF_CLASS[c].T]  # (N, 21) each
    X = u * a + (1.0 - u) * b + rng.normal(size=(N, WAVES.shape[1]))
    y = c if n_classes == 3 else np.where(c == WAVEFORM_POSITIVE, 1, -1)
    return with_one_split("waveform", X, y, n_train, "drawn from Breiman's three waveforms")


def check_sizes(**sizes: int) -> None:
    """Refuse numbers of rows below one."""
    for name, n in sizes.items():
        if n < 1:
            raise ValueError(f"{name} must be at least 1, got {n}.")
