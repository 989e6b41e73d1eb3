"""How a call is timed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")


def timed(
    call: Callable[[], T], clock: Callable[[], float] = perf_counter
) -> tuple[T, float, list[str]]:
    """What a call returns, its seconds by a clock, and the categories of the warnings it gave."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = clock()
        result = call()
        seconds = clock() - start
    return result, seconds, sorted({warning.category.__name__ for warning in caught})


def rotated(items: Sequence[Any], by: int) -> list[Any]:
    """The items with another one first, so that no one always follows the same one."""
    by %= len(items)
    return [*items[by:], *items[:by]]


def digits(seconds: list[float]) -> list[float]:
    """Times as they are stored: to a microsecond."""
    return [round(value, 6) for value in seconds]
