"""The training rows, visited block by block: the one seam between learning and the samples.

All that learning asks of N samples is a sum over rows. A sum is added up in a fixed order: within
canonical blocks of `CANONICAL_ROWS` rows, over the blocks of a group, over the groups pair by pair.
So where the rows are kept, in which chunks, and who adds them makes no difference: on processors of
one kind, not of a bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from itertools import islice
from operator import iadd
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from sdgm._typing import FloatArray, LabelArray


class Summable(Protocol):
    """A statistic that can be added up over blocks of rows.

    What is added to may be changed in place, so that a statistic is never a view of the rows.
    """

    def __add__(self, other: Self, /) -> Self: ...


@dataclass(slots=True)
class Sums:
    """Statistics that are added up field by field; None stays None."""

    def __add__(self, other: Self) -> Self:
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return type(self)(*(None if a is None else a + b for a, b in pairs))

    def __iadd__(self, other: Self) -> Self:
        # in place: the matrices may be the largest arrays of a fit
        for f in fields(self):
            mine = getattr(self, f.name)
            if mine is not None:
                mine += getattr(other, f.name)
                setattr(self, f.name, mine)
        return self


S = TypeVar("S", bound=Summable)
T = TypeVar("T")

# rows of a block that is always summed as a whole: a power of two, so that working blocks divide it
CANONICAL_ROWS = 16_384
# blocks of a group, the least that a task of Dask sums: 65,536 rows. A block by itself would be
# four times as many tasks. The last bits of sums depend on it
GROUP_BLOCKS = 4
# shares of a block that threads may work on side by side: fixed, so that sums do not depend on how
# many threads there are
SHARES = 16
# numbers in a working array, 2 MB: small enough for the cache and for any machine
BLOCK_NUMBERS = 1 << 18
# rows of a working array however wide they are, from 1,024 numbers on: with few rows at a time
# products of matrices would be little more than products with vectors
MIN_BLOCK_ROWS = 256


class RowSource(Protocol):
    """Training rows, wherever they are."""

    def __len__(self) -> int: ...

    @property
    def has_initial_r(self) -> bool:
        """Whether the rows carry responsibilities to start from."""
        ...

    def without_initial_r(self) -> RowSource:
        """The same rows without the responsibilities of the start."""
        ...

    def unmapped(self) -> RowSource:
        """The same rows, for sums that do not look at Z: with whatever takes no work to make."""
        ...

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        """Sum of a statistic over all rows, with ``width`` working numbers per row."""
        ...


@dataclass(frozen=True)
class Rows:
    """Rows in memory, in the coordinates of the design: all of them, or a block.

    Attributes
    ----------
    Z : (N, p) array
        Left factor of the design, column-major.
    y : (N,) integer array or (N, C) array
        Class index of each row, or how frequent each class is there, summing to one.
    s : (N,) array
        Sample weights.
    r0 : (N, K) array or None
        Responsibilities to start from; None once the model itself gives them.
    first : int
        Number of the first row, where this is a block.
    crew : Crew or None
        Threads that share the work of a block.
    """

    Z: FloatArray
    y: LabelArray
    s: FloatArray
    r0: FloatArray | None = None
    first: int = 0
    crew: Crew | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def has_initial_r(self) -> bool:
        return self.r0 is not None

    @cached_property
    def is_unweighted(self) -> bool:
        """Whether every sample counts once, so that products with s can be left out."""
        return bool((self.s == 1.0).all())

    @cached_property
    def column_products(self) -> FloatArray:
        """Products of two columns of Z, each pair of columns once: (N, p (p + 1) / 2)."""
        i, j = np.triu_indices(self.Z.shape[1])
        return self.Z[:, i] * self.Z[:, j]

    def root_weighted(self, a: FloatArray) -> FloatArray:
        """``a`` times the root of s along its last axis; the same array if every s is one."""
        return a if self.is_unweighted else a * np.sqrt(self.s)

    def shared_by(self, crew: Crew | None) -> Rows:
        """The same rows, with threads that share the work of sums over them."""
        return replace(self, crew=crew)

    def blocks(self, size: int) -> Iterator[Rows]:
        """Blocks of ``size`` rows, in order."""
        for first in range(0, len(self), size):
            rows = slice(first, first + size)
            r0 = None if self.r0 is None else self.r0[rows]
            block = Rows(self.Z[rows], self.y[rows], self.s[rows], r0, self.first + first)
            yield block if self.crew is None else block.shared_by(self.crew)

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        if len(self) <= block_size(width):
            return statistic(self)
        if len(self) <= CANONICAL_ROWS:
            return block_total(self, statistic, width)
        blocks = self.blocks(CANONICAL_ROWS)
        return grouped_sum(block_total(block, statistic, width) for block in blocks)

    def without_initial_r(self) -> Rows:
        return self if self.r0 is None else replace(self, r0=None)

    def unmapped(self) -> Rows:
        return self


def block_size(width: int) -> int:
    """Rows that are worked on at once, when a row needs ``width`` numbers.

    Powers of two, so that canonical blocks are whole numbers of them.
    """
    n_rows = max(BLOCK_NUMBERS // max(width, 1), MIN_BLOCK_ROWS)
    return min(1 << (n_rows.bit_length() - 1), CANONICAL_ROWS)


class Crew(NamedTuple):
    """Threads that share the work of blocks in memory; the sums stay the same."""

    pool: ThreadPoolExecutor
    n_threads: int


@contextmanager
def crew_of(n_threads: int) -> Iterator[Crew | None]:
    """A crew, to be handed to rows with `Rows.shared_by`; none for one thread."""
    if n_threads == 1:
        yield None
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield Crew(pool, n_threads)


def block_total(block: Rows, statistic: Callable[[Rows], S], width: int) -> S:
    """Sum of a statistic over a canonical block, in parts that fit the cache."""
    size = block_size(width)
    if len(block) <= size:
        return statistic(block)

    def of_share(share: Rows) -> S:
        return reduce(iadd, map(statistic, share.blocks(size)))

    n_parts = -(-len(block) // size)
    shares = block.blocks(-(-n_parts // SHARES) * size)
    if block.crew is None:
        return reduce(iadd, map(of_share, shares))
    return reduce(iadd, in_order(block.crew.pool, of_share, shares, block.crew.n_threads))


def in_order(
    pool: ThreadPoolExecutor, function: Callable[[T], S], items: Iterable[T], ahead: int
) -> Iterator[S]:
    """Results of a function in the order of the items, with only a few calls ahead of their use."""
    waiting: deque[Future[S]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def group_total(group: Iterable[Rows], statistic: Callable[[Rows], S], width: int) -> S:
    """Sum of a statistic over the canonical blocks of a group."""
    return reduce(iadd, (block_total(block, statistic, width) for block in group))


def grouped_sum(totals: Iterable[S]) -> S:
    """Sum of the totals of canonical blocks: within groups, then over them as `tree_sum` does."""
    return tree_sum(group_sums(totals))


def group_sums(totals: Iterable[S]) -> Iterator[S]:
    """Sums of the totals of a group's canonical blocks, added as they come; the last may be fewer.

    Examples
    --------
    >>> list(group_sums([[1], [2], [3], [4], [5]]))
    [[1, 2, 3, 4], [5]]
    """
    for first in (iterator := iter(totals)):
        yield reduce(iadd, islice(iterator, GROUP_BLOCKS - 1), first)


def tree_sum(totals: Iterable[S]) -> S:
    """Sum of neighbours, then of neighbouring sums, and so on; an odd one waits for the next round.

    Few are kept at a time, and processes that add neighbours among themselves come to the same.

    Examples
    --------
    >>> tree_sum(["a", "b", "c", "d", "e"])
    'abcde'
    """
    waiting: list[tuple[int, S]] = []  # rounds that a sum has behind it, fewer towards the end
    for total in totals:
        rounds = 0
        while waiting and waiting[-1][0] == rounds:
            total = waiting.pop()[1] + total
            rounds += 1
        waiting.append((rounds, total))
    sums = [total for _, total in waiting]
    while len(sums) > 1:
        last = sums.pop()
        sums[-1] = sums[-1] + last
    return sums[0]
