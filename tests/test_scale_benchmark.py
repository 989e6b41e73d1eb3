"""What the benchmarks of scale rest on: their problems, their files, their counts, their fits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.machine import busy_seconds
from benchmarks.scale import cells, pixels, sample
from benchmarks.scale import page as page_module
from benchmarks.scale.__main__ import make_parser
from benchmarks.scale.cost import KINDS, work
from benchmarks.scale.model_of_cost import Cost
from benchmarks.scale.page import page
from benchmarks.scale.page_of_cost import all_columns, seconds_of_samples
from benchmarks.scale.passes import counted
from benchmarks.scale.picture import exponent
from benchmarks.scale.problems import DRAWN_ROWS, Gaussians
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import Rows
from sdgm.core.model.features import monomials
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


def test_the_cost_model_finds_the_constants_that_made_the_times() -> None:
    passes = []
    for inputs, weights in (10, 5), (10, 60), (100, 25), (100, 400):
        shape = {"inputs": inputs, "columns": 4 * weights, "by_component": [weights] * 4}
        seconds = {}
        for kind in KINDS:
            numbers, operations = work(kind, **shape)
            seconds[kind] = 1_000 * (2e-9 * numbers + 3e-11 * operations) / 2
        passes.append({"rows": 1_000, "pass_median": seconds, **shape})
    cost = Cost.of(passes, cores=2)
    assert cost.error < 1e-8
    assert (cost.per_number, cost.per_operation) == pytest.approx((2e-9, 3e-11))
    assert cost.pass_seconds("observed", 500, 100, 1600, [400] * 4, cores=1) == pytest.approx(
        passes[-1]["pass_median"]["observed"]
    )


def test_work_of_children_is_not_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    before, own = busy_seconds(), cells.child_seconds()
    code = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    own = cells.child_seconds() - own
    assert own >= 0.5
    if before:  # the system tells, in hundredths of a second
        assert busy_seconds() - before >= own - 0.1
    now = {"perf_counter": 100.0, "busy_seconds": 50.0, "child_seconds": 7.0}
    for name in now:
        monkeypatch.setattr(cells, name, lambda name=name: now[name])
    others = cells.CoresOfOthers()
    now.update(perf_counter=110.0, busy_seconds=65.0, child_seconds=19.0)
    assert others.until_now() == pytest.approx(0.3)


def test_the_verdict_on_pixels_is_about_our_own_model() -> None:
    common = {"status": "done", "topic": "pixels", "rows": pixels.ROWS, "allocated_bytes": 1,
              "weights": 1, "error": 0.1, "log_loss": 0.3, "source": "here",
              "others": 0.0}  # fmt: skip
    records = [
        {"model": pixels.LOGISTIC, "seconds": 60.0, **common},
        {"model": pixels.SDGM, "seconds": 6000.0, **common},
    ]
    records += [{"status": "timeout", "timeout": 9.0, "topic": "pixels", "model": "other",
                 "rows": 60_000}]  # fmt: skip
    text = page(records, has_picture=False)
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


def test_the_time_of_samples_is_carried_on_by_a_power_of_the_columns() -> None:
    fits = [
        {"rows": 100_000, "inputs": D, "seconds": 7.0 + 1e-4 * all_columns(D) ** 2,
         "pass_seconds": {"gradients": 5.0, "norms": 2.0}}
        for D in (10, 30, 50)
    ]  # fmt: skip
    seconds, power = seconds_of_samples(fits, 5151)
    assert (seconds, power) == pytest.approx((1e-4 * 5151**2, 2.0))
    assert all_columns(100) == len(monomials(100, "full"))
    assert seconds_of_samples(fits[:1], 5151) is None


def test_words_are_checked_and_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    parser = make_parser()
    assert parser.parse_args([]).words == []
    assert parser.parse_args(["dual", "--quick"]).words == ["dual"]
    with pytest.raises(SystemExit):
        parser.parse_args(["duel"])
    assert "'duel' is none of growth, sample" in capsys.readouterr().err
