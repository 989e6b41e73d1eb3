"""Sums over rows that are not all in memory: blocks that are read when they are wanted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from sdgm._typing import FloatArray
from sdgm.core.data.rows import CANONICAL_ROWS, Rows, S, block_total, grouped_sum, in_order


@dataclass(frozen=True)
class BlockedRows:
    """Rows that come in canonical blocks, from a function that reads or makes them.

    Attributes
    ----------
    n_rows : int
    read : callable
        ``read(i)`` returns canonical block i.
    to_Z : callable or None
        From what is read to the coordinates that are wanted, part by part of a block.
    width : int
        Numbers per row that ``to_Z`` makes.
    has_initial_r : bool
        Whether the rows carry responsibilities to start from.
    n_threads : int
        Threads that work on blocks side by side; each should have BLAS to itself.

    Examples
    --------
    >>> import numpy as np
    >>> Z, y = np.ones((40_000, 1)), np.zeros(40_000, dtype=int)
    >>> rows = BlockedRows.of(Rows(Z, y, np.ones(40_000)), n_threads=2)
    >>> rows.n_blocks, rows.total(lambda block: block.Z.sum(axis=0), width=1)
    (3, array([40000.]))
    """

    n_rows: int
    read: Callable[[int], Rows]
    n_threads: int = 1
    to_Z: Callable[[FloatArray], FloatArray] | None = None
    width: int = 1
    has_initial_r: bool = False

    @classmethod
    def of(cls, rows: Rows, *, n_threads: int = 1) -> BlockedRows:
        """Rows in memory, for several threads."""
        blocks = list(rows.blocks(CANONICAL_ROWS))
        return cls(len(rows), blocks.__getitem__, n_threads, has_initial_r=rows.has_initial_r)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_blocks(self) -> int:
        """Canonical blocks."""
        return -(-self.n_rows // CANONICAL_ROWS)

    def without_initial_r(self) -> BlockedRows:
        read = self.read
        if not self.has_initial_r:
            return self
        return replace(self, read=lambda i: read(i).without_initial_r(), has_initial_r=False)

    def mapped(self, to_Z: Callable[[FloatArray], FloatArray], width: int) -> BlockedRows:
        """The same rows in other coordinates, a function of what is read, made when wanted."""
        return replace(self, to_Z=to_Z, width=width)

    def unmapped(self) -> BlockedRows:
        return replace(self, to_Z=None, width=1)

    def repeated(self, times: float) -> BlockedRows:
        """The same rows, each with its weight multiplied."""
        read = self.read

        def read_repeated(i: int) -> Rows:
            block = read(i)
            return replace(block, s=times * block.s)

        return replace(self, read=read_repeated)

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        statistic = of_mapped(statistic, self.to_Z)
        width = max(width, self.width)

        def of_block(i: int) -> S:
            return block_total(self.read(i), statistic, width)

        if self.n_threads == 1:
            return grouped_sum(map(of_block, range(self.n_blocks)))
        with ThreadPoolExecutor(self.n_threads) as pool:
            return grouped_sum(in_order(pool, of_block, range(self.n_blocks), 2 * self.n_threads))


def of_mapped(
    statistic: Callable[[Rows], S], to_Z: Callable[[FloatArray], FloatArray] | None
) -> Callable[[Rows], S]:
    """The statistic of rows whose coordinates are yet to be made."""
    if to_Z is None:
        return statistic
    return lambda block: statistic(replace(block, Z=to_Z(block.Z)))
