"""The one place that decides which solver finds the mode, and what each solver costs.

Costs are multiplications and numbers in memory; `scale.memory` uses the latter to decide whether a
fit has enough memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource, block_size
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers import newton, sampled, truncated
from sdgm.core.solvers.block_precision import KEPT_NUMBERS
from sdgm.core.solvers.newton import MAX_OBSERVED, Climb, Target
from sdgm.core.solvers.sampled import RowsWithSample

# products with the curvature that conjugate gradients take until the mode is reached
CG_PRODUCTS = 40
# multiplications up to which the full Newton matrix takes little time in any case: a core does
# about 10^10 per second
LITTLE_WORK = 2e10
# factor by which diagonal blocks must save work to justify an approximate evidence
BLOCKS_PAY = 4.0
# the same if the full matrix takes a moderate time: conjugate gradients may need many more products
# than the number assumed
MUCH_LESS = 10.0


class Solver(StrEnum):
    """How the Newton system is solved."""

    AUTO = "auto"
    FULL = "full"
    BLOCK = "block"


@dataclass(frozen=True)
class SolverChoice:
    """The user's choice, and how much an exact evidence is worth.

    Attributes
    ----------
    solver : Solver
        The whole Newton matrix, its diagonal blocks, or whichever takes less work.
    blocks_pay : float
        Factor by which blocks must save work; one if the evidence is approximate anyway, because
        the rows are a sample.
    little_work : float
        Multiplications of a step up to which the whole matrix is used in any case; from there to
        `LITTLE_WORK`, blocks must save the factor `MUCH_LESS`.
    """

    solver: Solver = Solver.AUTO
    blocks_pay: float = BLOCKS_PAY
    little_work: float = LITTLE_WORK

    def climb_to(
        self, target: Target, rows: RowSource, whitening: Whitening, several: bool
    ) -> Climb:
        """The climb for these rows and coordinates; parameters are as in `newton.climb_to`."""
        n_coordinates = len(whitening.component)
        if (
            isinstance(rows, RowsWithSample)
            and self.solver is not Solver.BLOCK
            and rows.can_direct(n_coordinates)
        ):
            return sampled.climb_to(target, rows, whitening, several)
        sizes = np.diff(whitening.starts).astype(np.float64)
        if self.uses_blocks(len(rows), sizes, whitening.rank):
            return truncated.climb_to(target, rows, whitening, several)
        return newton.climb_to(target, rows, whitening, several)

    def uses_blocks(self, n_rows: int, sizes: FloatArray, rank: int) -> bool:
        """Whether diagonal blocks replace the whole Newton matrix, by their cost."""
        if self.solver is not Solver.AUTO:
            return self.solver is Solver.BLOCK
        whole = dense_work(n_rows, sizes)
        if whole <= self.little_work:
            return False
        least = min(whole, row_space_work(n_rows, sizes))
        by_blocks = blocks_work(n_rows, sizes, rank)
        pays = self.blocks_pay if least > LITTLE_WORK else MUCH_LESS
        return bool(least > self.little_work and pays * by_blocks < least)

    def numbers(
        self,
        n_rows: int,
        rank: int,
        n_components: int,
        n_threads: int,
        *,
        lasts: bool,
        observed: bool,
    ) -> float:
        """Numbers in memory of the chosen solver, as in `dense_numbers`."""
        m = n_components * rank
        if self.uses_blocks(n_rows, np.full(n_components, float(rank)), rank):
            by_blocks = blocks_numbers(n_rows, rank, n_components, n_threads)
            later = later_dense_numbers(n_rows, m) if self.solver is Solver.AUTO else 0.0
            return max(by_blocks, later)
        if m > n_rows and not (observed and m <= MAX_OBSERVED):
            points = ROW_SPACE_POINTS + (ROW_SPACE_POINTS_BEFORE if lasts else 0.0)
            whitened_rows = 2 * m * n_rows  # perhaps weighted
            return points * row_space_numbers(n_rows, rank, n_components) + whitened_rows
        return dense_numbers(n_rows, m, n_threads, lasts=lasts, observed=observed)


AUTOMATIC = SolverChoice()


# --- multiplications; `sizes` are the coordinates of each component, (K,) ---


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


# --- numbers in memory ---

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
