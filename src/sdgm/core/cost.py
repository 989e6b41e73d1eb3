"""What the parts of Newton's method cost: multiplications, and numbers in memory.

All choices between ways to the same result are made by these counts: which solver
(`solvers.select`), how the curvature is summed (`objective.pairwise`), whether a fit has enough
memory. `sizes` are the coordinates of each component, (K,).
"""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import block_size

# products with the curvature that conjugate gradients take until the mode is reached
CG_PRODUCTS = 40
# multiplications up to which the whole Newton matrix takes little time, whatever else is possible
LITTLE_WORK = 2e10
# most posteriors that conjugate gradients keep from one product to the next
KEPT_NUMBERS = 1 << 24
# coordinates up to which the observed information is formed although there are fewer rows than
# coordinates, and made positive definite where it is not: eigenvectors take longer beyond
MAX_OBSERVED = 1000

# Numbers that are alive at once where most of them are, compared with measured peaks in
# ``tests/scale/test_memory_estimate.py``. A point has the curvature and its factor, two matrices.
# While the next point is computed there are a sum so far and a part of it, and from the second
# pass on the three matrices of the pass before, with its shrinkage. These are smaller where a pass
# prunes coordinates, which it does unless components have more weights than coordinates.
DENSE_COPIES, DENSE_COPIES_BEFORE = 5, 3
# the same for the missing information, and its difference from the curvature
MISSING_COPIES = 3
# fewer rows than coordinates: two points, and the one of the pass before
ROW_SPACE_POINTS, ROW_SPACE_POINTS_BEFORE = 2.5, 0.5
# diagonal blocks: where the climb began and where it ends, a sum and a part of it
BLOCK_COPIES = 6
# more for every other thread that adds up
THREAD_COPIES = 3
# working rows: whitened columns, and their products with two kinds of posteriors
ROW_COPIES = 3


# --- multiplications ---


def whole_work(sizes: FloatArray) -> float:
    """For the information of one row, all coordinates at once."""
    return float(sizes.sum() ** 2 + sizes @ sizes)


def pairs_work(sizes: FloatArray, n_columns: int) -> float:
    """The same by pairs of components, which share ``n_columns`` columns of Z.

    Components without coordinates count as one.
    """
    n_sides = min(int(np.count_nonzero(sizes)) + 1, len(sizes))
    return 0.5 * n_sides * (n_sides - 1) * n_columns**2


def dense_work(n_rows: int, sizes: FloatArray) -> float:
    """For a step with the whole Newton matrix."""
    m = float(sizes.sum())
    return n_rows * m**2 + m**3


def row_space_work(n_rows: int, sizes: FloatArray) -> float:
    """For the same step by a matrix of N x N numbers."""
    m = float(sizes.sum())
    return n_rows * (float(sizes @ sizes) + n_rows * m) + float(n_rows) ** 3


def blocks_work(n_rows: int, sizes: FloatArray, rank: int) -> float:
    """For a climb by diagonal blocks and conjugate gradients."""
    in_rows = n_rows * (sizes @ sizes + CG_PRODUCTS * rank * len(sizes))
    return float(in_rows + (sizes**3).sum())


def products_per_blocks(sizes: FloatArray, rank: int) -> float:
    """Products with the curvature, of 2 p K multiplications a row, that cost as much as blocks."""
    return float(sizes @ sizes) / (2 * rank * len(sizes))


# --- numbers in memory ---


def dense_numbers(n_rows: int, m: int, n_threads: int, *, lasts: bool, observed: bool) -> float:
    """Of steps with the whole Newton matrix.

    ``lasts`` says that the second pass has as many coordinates as the first, ``observed`` that the
    missing information is computed too.
    """
    copies = DENSE_COPIES + THREAD_COPIES * (n_threads - 1)
    copies += (DENSE_COPIES_BEFORE if lasts else 0) + (MISSING_COPIES if observed else 0)
    return copies * m**2 + ROW_COPIES * m * min(n_rows, block_size(m))


def row_space_numbers(n_rows: int, rank: int, n_components: int) -> float:
    """Of a precision of few rows: per component two matrices and a factor; two for the rows."""
    return n_components * (2.0 * rank**2 + rank * n_rows) + 2.0 * n_rows**2


def blocks_numbers(n_rows: int, rank: int, n_components: int, n_threads: int) -> float:
    """Of a climb by diagonal blocks and conjugate gradients."""
    copies = BLOCK_COPIES + THREAD_COPIES * (n_threads - 1)
    kept = 2 * n_rows * n_components
    kept = kept if n_rows * n_components <= KEPT_NUMBERS else 0
    in_rows = ROW_COPIES * rank * min(n_rows, block_size(rank))
    return copies * n_components * rank * rank + in_rows + kept


def later_dense_numbers(n_rows: int, m: int) -> float:
    """Of the whole matrix, once so few coordinates are left that it is little work."""
    # N m^2 + m^3 = LITTLE_WORK
    little = float(np.roots([1.0, n_rows, 0.0, -LITTLE_WORK]).real.max())
    return DENSE_COPIES * min(m, little) ** 2
