"""How often a fit goes over the rows, with what, and how long that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from sdgm.core.objective.derivatives import Derivatives, PairSums

# what the sums are, by the function that makes a block's share
DERIVATIVES, OBSERVED = "derivatives", "observed"
KINDS = {
    "derivatives_of_rows": DERIVATIVES,
    "derivatives_by_pairs": DERIVATIVES,
    "derivatives_by_products": DERIVATIVES,
    "gradient_of_rows": "gradients",
    "curvature_blocks": "curvatures",
    "curvature_product": "products",
    "fit_of_rows": "fits",
    "drawn_sample": "sample",
    "root_mean_squares": "norms",
    "slopes_of_rows": "slopes",
    "curvature_of_all": "cross",
}


class Passes:
    """Passes over the rows by kind.

    `seconds` has those of each pass by number of rows and kind: ``gradients``, ``derivatives``
    (gradient and curvature), ``observed`` (what is missing of the information too); with many
    coordinates ``curvatures`` and ``products``; of all columns there could be ``norms``, and
    ``slopes`` and ``cross``, by which some come back; ``fits``, ``sample``; or ``counts``.
    """

    def __init__(self, after: Callable[[int], None] | None = None) -> None:
        self.seconds: dict[tuple[int, str], list[float]] = {}
        self._after = after

    def add(self, n_rows: int, statistic: Any, result: Any, seconds: float) -> None:
        """One more pass."""
        function = statistic.__qualname__.split(".")[0]
        kind = KINDS.get(function, "counts")
        if kind == DERIVATIVES and has_missing(result):
            kind = OBSERVED
        self.seconds.setdefault((n_rows, kind), []).append(seconds)
        if self._after is not None:
            self._after(sum(map(len, self.seconds.values())))

    def of_all_rows(self) -> dict[str, list[float]]:
        """Seconds of the passes over the most rows there were, by kind."""
        most = max((n_rows for n_rows, _ in self.seconds), default=0)
        return {kind: each for (n_rows, kind), each in self.seconds.items() if n_rows == most}

    def record(self) -> dict[str, Any]:
        """For a file of records; passes over parts of the rows are left out."""
        every = self.of_all_rows()
        return {
            "passes": {kind: len(each) for kind, each in every.items()},
            "pass_seconds": {kind: round(sum(each), 4) for kind, each in every.items()},
        }


def has_missing(result: Derivatives | PairSums) -> bool:
    """Whether the sums of a pass tell the missing information too."""
    if isinstance(result, PairSums):
        return len(result.matrices) > 1
    return result.missing is not None


@contextmanager
def counted(source: type, after: Callable[[int], None] | None = None) -> Iterator[Passes]:
    """Count the passes over rows of a class such as `BlockedRows`; `after` is told after each."""
    passes = Passes(after)
    total: Any = source.total  # type: ignore[attr-defined]

    def timed_total(self: Any, statistic: Any, width: int) -> Any:
        begin = perf_counter()
        result = total(self, statistic, width)
        passes.add(len(self), statistic, result, perf_counter() - begin)
        return result

    source.total = timed_total  # type: ignore[attr-defined]
    try:
        yield passes
    finally:
        source.total = total  # type: ignore[attr-defined]
