"""Which solver climbs to the mode: the one place where that is decided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core import cost
from sdgm.core.data.rows import RowSource
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers import newton, sampled, truncated
from sdgm.core.solvers.points import Climb, Target
from sdgm.core.solvers.sampled import RowsWithSample

# how many times less work diagonal blocks must be to be worth an approximate evidence
BLOCKS_PAY = 4.0


class Solver(StrEnum):
    """How the Newton matrix is dealt with."""

    AUTO = "auto"
    FULL = "full"
    BLOCK = "block"


@dataclass(frozen=True)
class SolverChoice:
    """What the user asks for, and how much an exact evidence is worth.

    Attributes
    ----------
    solver : Solver
        The whole Newton matrix, or its diagonal blocks, or whichever takes less work.
    blocks_pay : float
        How many times less work the blocks must be; one where the evidence is approximate anyway,
        since the rows are a sample.
    """

    solver: Solver = Solver.AUTO
    blocks_pay: float = BLOCKS_PAY

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
        """Whether diagonal blocks do in place of the whole Newton matrix, by `cost`."""
        if self.solver is not Solver.AUTO:
            return self.solver is Solver.BLOCK
        whole = cost.dense_work(n_rows, sizes)
        if whole <= cost.LITTLE_WORK:
            return False
        least = min(whole, cost.row_space_work(n_rows, sizes))
        by_blocks = cost.blocks_work(n_rows, sizes, rank)
        return bool(least > cost.LITTLE_WORK and self.blocks_pay * by_blocks < least)

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
        """Numbers in memory of the solver that this chooses, as in `cost.dense_numbers`."""
        m = n_components * rank
        if self.uses_blocks(n_rows, np.full(n_components, float(rank)), rank):
            by_blocks = cost.blocks_numbers(n_rows, rank, n_components, n_threads)
            later = cost.later_dense_numbers(n_rows, m) if self.solver is Solver.AUTO else 0.0
            return max(by_blocks, later)
        if m > n_rows and not (observed and m <= cost.MAX_OBSERVED):
            points = cost.ROW_SPACE_POINTS + (cost.ROW_SPACE_POINTS_BEFORE if lasts else 0.0)
            whitened_rows = 2 * m * n_rows  # perhaps weighted
            return points * cost.row_space_numbers(n_rows, rank, n_components) + whitened_rows
        return cost.dense_numbers(n_rows, m, n_threads, lasts=lasts, observed=observed)


AUTOMATIC = SolverChoice()
