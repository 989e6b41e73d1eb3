"""The training rows, visited block by block: the one place that touches all N samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self, TypeVar

import numpy as np

from sdgm._typing import FloatArray, LabelArray


class Summable(Protocol):
    """A statistic that can be added up over blocks of rows."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Summable)

# numbers in a working array of a block: small enough for the cache and for any machine
BLOCK_NUMBERS = 1 << 18
MAX_BLOCK_ROWS = 16_384
MIN_BLOCK_ROWS = 256


@dataclass(frozen=True)
class Rows:
    """Training rows in the coordinates of the design.

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
    """

    Z: FloatArray
    y: LabelArray
    s: FloatArray
    r0: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def is_unweighted(self) -> bool:
        """Whether every sample counts once, so that products with s can be left out."""
        return bool((self.s == 1.0).all())

    def weighted(self, a: FloatArray) -> FloatArray:
        """``a`` times s along its last axis; the same array if every s is one."""
        return a if self.is_unweighted else a * self.s

    def root_weighted(self, a: FloatArray) -> FloatArray:
        """``a`` times the root of s along its last axis."""
        return a if self.is_unweighted else a * np.sqrt(self.s)

    def block_size(self, width: int) -> int:
        """Rows per block, when a row needs ``width`` numbers at work."""
        return min(max(BLOCK_NUMBERS // max(width, 1), MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

    def blocks(self, width: int) -> Iterator[Rows]:
        """Blocks of rows, in a fixed order."""
        size = self.block_size(width)
        for first in range(0, len(self), size):
            rows = slice(first, first + size)
            r0 = None if self.r0 is None else self.r0[rows]
            yield Rows(self.Z[rows], self.y[rows], self.s[rows], r0)

    def total(self, statistic: Callable[[Rows], S], width: int) -> S:
        """Sum of a statistic over all blocks."""
        if len(self) <= self.block_size(width):
            return statistic(self)
        blocks = self.blocks(width)
        result = statistic(next(blocks))
        for block in blocks:
            result = result + statistic(block)
        return result

    def started(self) -> Rows:
        """The same rows without the responsibilities of the start."""
        return self if self.r0 is None else replace(self, r0=None)
