"""How often a fit goes over the rows, with what, and how long that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

# what the sums are, by the function that makes a block's share
KINDS = {
    "derivatives_of_rows": "derivatives",
    "gradient_of_rows": "gradients",
    "curvature_blocks": "curvatures",
    "curvature_product": "products",
    "fit_of_rows": "fits",
    "drawn_sample": "sample",
}


class Passes:
    """Passes over the rows by kind.

    Attributes
    ----------
    seconds : dict
        Of each pass, by kind: ``derivatives`` (Newton's steps and what a search along them takes),
        with many coordinates ``gradients``, ``curvatures`` and ``products`` in their place;
        ``fits``, ``sample``, and ``counts`` for the rest.
    rows : object or None
        The rows of the last pass.
    """

    def __init__(self, after: Callable[[int], None] | None = None) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.rows: Any = None
        self._after = after

    def add(self, statistic: Any, seconds: float) -> None:
        """One more pass."""
        function = statistic.__qualname__.split(".")[0]
        self.seconds.setdefault(KINDS.get(function, "counts"), []).append(seconds)
        if self._after is not None:
            self._after(sum(map(len, self.seconds.values())))

    def record(self) -> dict[str, Any]:
        """For a file of records."""
        return {
            "passes": {kind: len(each) for kind, each in self.seconds.items()},
            "pass_seconds": {kind: round(sum(each), 4) for kind, each in self.seconds.items()},
        }


@contextmanager
def counted(source: type, after: Callable[[int], None] | None = None) -> Iterator[Passes]:
    """Count the passes over rows of a class.

    Parameters
    ----------
    source : type
        Such as `sdgm.core.reduction.BlockedRows`.
    after : callable, optional
        Told after every pass how many there were.
    """
    passes = Passes(after)
    total: Any = source.total  # type: ignore[attr-defined]

    def timed_total(self: Any, statistic: Any, width: int) -> Any:
        begin = perf_counter()
        result = total(self, statistic, width)
        passes.rows = self
        passes.add(statistic, perf_counter() - begin)
        return result

    source.total = timed_total  # type: ignore[attr-defined]
    try:
        yield passes
    finally:
        source.total = total  # type: ignore[attr-defined]
