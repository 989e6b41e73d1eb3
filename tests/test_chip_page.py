"""The page of the chips: who is compared with whom."""

import pytest

pytest.importorskip("matplotlib")

from benchmarks.chip.page import EITHER, FORMS, IN_SHORT, OUTCOMES, against_emlearn, outcome


def record(method, setting, error, flash):
    return {"data": "wine", "board": "Cortex-M0", "method": method, "setting": setting,
            "error": error, "flash": flash}  # fmt: skip


def test_half_of_the_flash_is_half_and_no_more():
    assert [outcome(ours, least) for ours, least in ((5, 10), (9, None), (6, 10), (11, 10))] == [
        *OUTCOMES
    ]


def test_every_header_meets_the_smallest_peer_that_errs_no_more():
    short = f"{IN_SHORT}, label"
    records = [
        record(FORMS[0], "fixed, label", 0.10, 600),
        record(FORMS[0], short, 0.12, 400),
        record(FORMS[1], "fixed, label", 0.05, 900),
        record("emlearn, decision tree", "2 leaves", 0.30, 200),
        record("emlearn, decision tree", "9 leaves", 0.12, 500),
        record("emlearn, network", "2 units", 0.12, 700),
        record("emlearn, network", "4 units", 0.10, 1300),
    ]
    counts, comparisons, verdict = against_emlearn(records)
    rows = {line.split(" | ")[1]: line.split(" | ")[2:] for line in comparisons.splitlines()[2:]}
    assert rows["original form"][:4] == ["10.00", "600", "none", "1300"]
    assert rows["original form, 8 bits"][:4] == ["12.00", "400", "500", "700"]
    assert rows["dual form"][:4] == ["5.00", "900", "none", "none"]
    assert rows["dual form, 8 bits"][:2] == ["", "refused"]
    assert f"| {EITHER} | 1 | 0 | 0 | 0 |" in counts
    assert "on 0 more no size of emlearn reaches its error" in verdict
