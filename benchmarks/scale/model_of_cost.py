"""The cost model: two constants, from passes alone; what it says of fits that were measured, and of
one that was not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.records import Record
from benchmarks.scale.cost import work

# the fit on paper
ROWS, INPUTS, CORES = 10**9, 100, 100
# weights of each of four components that are left, and passes: as in the fits that were measured
LEFT = (25, 100, 250)


@dataclass(frozen=True)
class Cost:
    """Seconds of one core per row and pass.

    Attributes
    ----------
    per_number, per_operation : float
        Seconds per number made, and per operation in products of matrices.
    error : float
        Largest relative error on the passes that it comes from.
    """

    per_number: float
    per_operation: float
    error: float

    @classmethod
    def of(cls, passes: Sequence[Record], cores: int) -> Cost:
        """Least squares of relative errors."""
        each = [(r, kind) for r in passes for kind in r["pass_median"]]
        W = np.array([work(kind, r["inputs"], r["columns"], r["by_component"]) for r, kind in each])
        seconds = np.array([cores * r["pass_median"][kind] / r["rows"] for r, kind in each])
        relative = W / seconds[:, None]
        constants, _ = nnls(relative, np.ones(len(relative)))
        error = float(np.abs(relative @ constants - 1.0).max())
        return cls(float(constants[0]), float(constants[1]), error)

    def pass_seconds(
        self,
        kind: str,
        rows: float,
        inputs: int,
        columns: int,
        by_component: list[int],
        cores: int,
    ) -> float:
        """Of one pass."""
        numbers, operations = work(kind, inputs, columns, by_component)
        return rows * (self.per_number * numbers + self.per_operation * operations) / cores


def bytes_per_row(inputs: int) -> int:
    """Inputs, a label, and on Dask a weight."""
    return 8 * inputs + 4 + 8


def bundles(rows: int, inputs: int, cores: int) -> int:
    """Sums that Dask adds up in a pass."""
    from sdgm.dask.rows import GROUP_ROWS, bundled_groups

    return -(-rows // (GROUP_ROWS * bundled_groups(rows, inputs, cores)))


def tasks_of_pass(n_bundles: int) -> int:
    """Tasks by which Dask sums so many bundles of rows: one for each, and sums of sums."""
    from sdgm.dask.totals import ADDED

    n_tasks = n_bundles
    while n_bundles > ADDED:
        n_bundles = -(-n_bundles // ADDED)
        n_tasks += n_bundles
    return n_tasks
