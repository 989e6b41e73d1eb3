"""What the benchmarks of scale rest on: their problems, their files, their counts, their fits."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks import environment
from benchmarks.environment import busy_seconds
from benchmarks.scale import DRAWN_ROWS, GENERATED, SAMPLED, Gaussians, by_batch
from benchmarks.scale.page import exponent, page, sample_verdict

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


def test_the_verdict_on_a_kernel_is_about_time_and_memory() -> None:
    common = {"topic": "dual", "rows": 100_000, "allocated_bytes": 1, "weights": 1, "vectors": 1,
              "error": 0.1, "log_loss": 0.3, "bayes_error": 0.1, "bayes_log_loss": 0.2,
              "run": environment.surroundings("here"), "others": 0.0}  # fmt: skip
    records = [
        {"kernel": "RBF", "seconds": 60.0, "peak_bytes": 5e9, **common},
        {"kernel": "linear", "seconds": 60.0, "peak_bytes": 1e9, **common},
    ]
    cell = {"topic": "dual", "kernel": "other", "rows": 60_000}
    failed = [{"cell": cell, "status": "timeout", "timeout": 9.0}]
    text = "\n\n".join(page(records, failed, has_picture=False))
    assert "- dual, other, 60,000: timeout after 9 s" in text
    target = "the target is under 300 s and 4 GB at 100,000 rows."
    verdicts = [line for line in text.splitlines() if "target" in line]
    assert verdicts == [
        f"**Not met**: RBF: 60 s, 5.00 GB; {target}", f"**Met**: linear: 60 s, 1.00 GB; {target}"
    ]  # fmt: skip


@pytest.mark.parametrize(("worse", "word"), [(0.0, "Met"), (0.05, "Not met")])
def test_a_sample_that_loses_is_told_by_paired_rows(worse: float, word: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=10_000)
    P = rng.beta(2.0, 1.0, size=10_000)
    P = np.where(y == 1, [1.0 - P, P], [P, 1.0 - P]).T
    other = P + rng.normal(size=(10_000, 1)) * [[-0.01, 0.01]]
    other = np.clip(other - worse * (2 * np.eye(2)[y] - 1.0), 0.01, 0.99)
    rows, _ = SAMPLED[GENERATED]
    sampled, at_once = ({"rows": rows, **by_batch(y, each)} for each in (other, P))
    assert sample_verdict(GENERATED, sampled, at_once).startswith(f"**{word}**")
