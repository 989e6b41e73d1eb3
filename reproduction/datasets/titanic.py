"""The people on board the Titanic, from the public table of counts."""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray
from sdgm.datasets import Dataset

# (lost, saved) by class (first, second, third, crew), age (adult, child) and sex (female, male)
COUNTS = np.array(
    [
        [[(4, 140), (118, 57)], [(0, 1), (0, 5)]],
        [[(13, 80), (154, 14)], [(0, 13), (0, 11)]],
        [[(89, 76), (387, 75)], [(17, 14), (35, 13)]],
        [[(3, 20), (670, 192)], [(0, 0), (0, 0)]],
    ]
)

SOURCE = (
    "R. J. MacG. Dawson, The Unusual Episode data revisited, Journal of Statistics Education 3(3), "
    "1995, after the British Board of Trade's inquiry"
)
LICENCE = "none needed: 28 counts"


def make_titanic() -> Dataset:
    """Class, age and sex of the 2201 people on board, and who was saved.

    Built from the public table of counts, with the coding of the IDA benchmark: class (first,
    second, third, crew) counted up from the first, age 1 for children, sex 1 for men, then each
    input standardised over all rows. Up to rounding and order these are the rows of
    ``load_ida("titanic")``, but without splits; `redrawn` gives some.

    Returns
    -------
    data : Dataset
        Labels +1 for the 711 who were saved and -1 for the 1490 who were not, no splits.

    References
    ----------
    R. J. MacG. Dawson, The "Unusual Episode" data revisited, Journal of Statistics Education
    3(3), 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.datasets import make_titanic
    >>> data = make_titanic()
    >>> data.X.shape, len(np.unique(data.X, axis=0)), int(np.sum(data.y == 1))
    ((2201, 3), 14, 711)
    """
    people = coded_people()
    codes = people[:, :3]
    return Dataset(
        name="titanic",
        X=(codes - codes.mean(axis=0)) / codes.std(axis=0, ddof=1),
        y=np.where(people[:, 3] == 1, 1, -1).astype(np.intp),
        splits=[],
        source=SOURCE,
        licence=LICENCE,
        sha256=None,
        generated=True,
    )


def coded_people() -> FloatArray:
    """One row per person: class 0 to 3, child, man, saved."""
    cells = np.argwhere(COUNTS >= 0)  # every cell's four indices, in the order of ravel
    return np.repeat(cells, COUNTS.ravel(), axis=0).astype(float)  # (2201, 4)
