from __future__ import annotations

from itertools import product

import pytest

pytest.importorskip("matplotlib")

from benchmarks.accuracy import mean_ranks
from benchmarks.records import values_of


def test_ranks_belong_to_their_methods_in_any_order_of_the_records() -> None:
    error = {"good": 0.1, "fair": 0.2, "bad": 0.3}
    records = [{"data": d, "method": m, "error": error[m]} for d, m in product("ab", error)]
    records = [*records[:3], *records[:2:-1]]  # the second set has its methods backwards
    ranks = dict(zip(values_of(records, "method"), mean_ranks(records, "error"), strict=True))
    assert ranks == {"good": 1.0, "fair": 2.0, "bad": 3.0}
