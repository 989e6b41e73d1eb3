"""What the benchmarks of scale rest on: their problems, their files, their counts, their fits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks import environment
from benchmarks.environment import busy_seconds
from benchmarks.scale import page as page_module
from benchmarks.scale import pixels, sample
from benchmarks.scale.page import page
from benchmarks.scale.passes import counted
from benchmarks.scale.picture import exponent
from benchmarks.scale.problems import DRAWN_ROWS, Gaussians
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import Rows
from sdgm.core.objective.derivatives import class_totals

SMALL = Gaussians(3, 2, 5, spread=0.7, n_informative=4)


def test_a_longer_table_begins_with_the_shorter_one() -> None:
    X, y = SMALL.rows(DRAWN_ROWS + 10, seed=0)
    X_short, y_short = SMALL.rows(100, seed=0)
    np.testing.assert_array_equal(X[:100], X_short)
    np.testing.assert_array_equal(y[:100], y_short)
    np.testing.assert_array_equal(X[DRAWN_ROWS:], SMALL.block(1, 0)[0][:10])


def test_the_posterior_is_calibrated_and_beats_chance() -> None:
    X, y = SMALL.rows(20_000, seed=1)
    P = SMALL.posterior(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    error = (P.argmax(axis=1) != y).mean()
    expected = (1.0 - P.max(axis=1)).mean()  # of Bayes' rule, if P is the posterior
    assert abs(error - expected) < 0.01 < expected < 0.5


def test_files_hold_the_rows(tmp_path: Path) -> None:
    SMALL.write(tmp_path, 3_000, seed=0)
    X, y = SMALL.rows(3_000, seed=0)
    np.testing.assert_array_equal(np.load(tmp_path / "X.npy", mmap_mode="r"), X)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)


def test_passes_are_counted_by_kind_and_only_within() -> None:
    rows = BlockedRows.of(Rows(np.ones((10, 1)), np.zeros(10, dtype=int), np.ones(10)))
    few = BlockedRows.of(Rows(np.ones((3, 1)), np.zeros(3, dtype=int), np.ones(3)))
    told: list[int] = []
    with counted(BlockedRows, told.append) as passes:
        class_totals(rows, 1)
        rows.total(lambda block: len(block), 1)
        few.total(lambda block: len(block), 1)  # not over all rows
    class_totals(rows, 1)
    assert passes.record()["passes"] == {"counts": 2} and told == [1, 2, 3]


def test_the_exponent_is_that_of_the_last_decade() -> None:
    rows = np.array([1e2, 1e3, 1e4, 1e5])
    seconds = np.array([5.0, 5.0, 5.0, 5.0 * 10**0.8])
    assert exponent(rows, seconds) == pytest.approx(0.8)
    assert exponent(rows[:1], seconds[:1]) is None


def test_work_of_children_is_not_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    before, own = busy_seconds(), environment.child_seconds()
    code = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    own = environment.child_seconds() - own
    assert own >= 0.5
    if before:  # the system tells, in hundredths of a second
        assert busy_seconds() - before >= own - 0.1
    now = {"perf_counter": 100.0, "busy_seconds": 50.0, "child_seconds": 7.0}
    for name in now:
        monkeypatch.setattr(environment, name, lambda name=name: now[name])
    others = environment.CoresOfOthers()
    now.update(perf_counter=110.0, busy_seconds=65.0, child_seconds=19.0)
    assert others.until_now() == pytest.approx(0.3)


def test_the_verdict_on_pixels_is_about_our_own_model() -> None:
    run = environment.surroundings("here")
    common = {"topic": "pixels", "rows": pixels.ROWS, "allocated_bytes": 1, "weights": 1,
              "error": 0.1, "log_loss": 0.3, "run": run, "others": 0.0}  # fmt: skip
    records = [
        {"model": pixels.LOGISTIC, "seconds": 60.0, **common},
        {"model": pixels.SDGM, "seconds": 6000.0, **common},
    ]
    cell = {"topic": "pixels", "model": "other", "rows": 60_000}
    failed = [{"cell": cell, "status": "timeout", "timeout": 9.0}]
    text = "\n\n".join(page(records, failed, has_picture=False))
    assert "- pixels, other, 60,000: timeout after 9 s" in text
    verdicts = [line for line in text.splitlines() if "target" in line]
    assert verdicts == [
        "**Not met**: SDGM, diagonal: 100.0 minutes; the target is under 30 minutes with 60,000 "
        "images."
    ]


@pytest.mark.parametrize(("worse", "word"), [(0.0, "Met"), (0.05, "Not met")])
def test_a_sample_that_loses_is_told_by_paired_rows(worse: float, word: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=10_000)
    P = rng.beta(2.0, 1.0, size=10_000)
    P = np.where(y == 1, [1.0 - P, P], [P, 1.0 - P]).T
    other = P + rng.normal(size=(10_000, 1)) * [[-0.01, 0.01]]
    other = np.clip(other - worse * (2 * np.eye(2)[y] - 1.0), 0.01, 0.99)
    rows, _ = sample.DATA[sample.GENERATED]
    sampled, at_once = ({"rows": rows, **sample.by_batch(y, each)} for each in (other, P))
    assert page_module.sample_verdict(sample.GENERATED, sampled, at_once).startswith(f"**{word}**")
