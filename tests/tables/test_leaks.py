"""Claims about columns that give the target away."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sdgm.tables import fit_table
from sdgm.tables.leaks import log_chance_of_intervals, log_chance_of_values, tells_all

rng = np.random.default_rng(0)
N = 60
CODES = np.arange(N) % 3
NOISE = rng.random(N)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (CODES + 0.9 * NOISE, True),
        (-(CODES % 2) - NOISE / 2, False),  # two classes of three have one interval
        (CODES.astype(float), True),
        (np.where(np.arange(N) == 4, 0.0, CODES), False),  # one row of the value of another class
        ([None if c == 2 else float(c) for c in CODES], True),
        ([None if i < 2 else float(c) for i, c in enumerate(CODES)], False),
        ([f"kind {c}" for c in CODES], True),
        ([f"kind {c}{i % 2}" for i, c in enumerate(CODES)], True),
        ([f"kind {c}{i // 3 % 15}" for i, c in enumerate(CODES)], True),  # a few names once
        ([f"kind {c % 2}" for c in CODES], False),
        ([(2 * c) % 3 for c in CODES], True),
        ([c + 3 * (i % 4) for i, c in enumerate(CODES)], True),  # codes, not intervals
        ([f"row {i}" for i in range(N)], False),  # names of rows tell nothing of others
        (NOISE, False),
    ],
)
def test_a_column_tells_all_if_its_values_belong_to_one_class_each(
    values: Any, expected: bool
) -> None:
    assert tells_all(pl.Series(values, strict=False), CODES) is expected


def test_few_rows_are_told_apart_by_chance() -> None:
    assert not tells_all(pl.Series([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1]))
    assert np.exp(log_chance_of_intervals(np.array([2, 2]))) == pytest.approx(1 / 3)
    assert np.exp(log_chance_of_values(np.array([1, 2, 3]), np.array([4, 4]))) == pytest.approx(
        1 / 2 * 1 / 4
    )


def test_a_column_that_gives_the_target_away_is_pointed_out() -> None:
    frame = pl.DataFrame(
        {"weight": 2500 + 100 * NOISE - 50, "other": rng.normal(size=N), "^low.*$": NOISE}
    )
    frame = frame.with_columns(low=pl.col("weight") < 2500)
    model = fit_table(frame, "low", form="primal", components=1)
    said = [
        each for each in model.record["warnings"] if "determines the class of every row" in each
    ]
    assert len(said) == 2 and "'weight'" in said[0] and "exclude it" in said[0]
    notes = {column["name"]: column["reason"] for column in model.record["source"]["columns"]}
    assert notes["weight"] == "alone determines the class of every row" and notes["other"] == ""
    honest = fit_table(frame, "low", form="primal", components=1, exclude=["weight", "^low.*$"])
    assert not any("determines the class" in each for each in honest.record["warnings"])
