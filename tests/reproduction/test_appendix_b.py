"""Claims about Appendix B: what is run, what is written, and when the paper is said to be right."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction import appendix_b
from reproduction.appendix_b import (
    INITIAL,
    REPETITIONS,
    measured_cell,
    rows_and_model,
    run_appendix_b,
)
from reproduction.appendix_b_page import (
    CLAIMS,
    COLUMNS,
    FLAT_GAP,
    as_markdown,
    collected,
    judge_appendix_b,
)
from reproduction.cells import Key, Record, read_records


def as_published(initial: int) -> dict[str, float]:
    """Measures of which all that the paper says is true."""
    error = 0.5 - 0.08 * min(initial, 8) / 2 + 0.1 * (initial < 8)
    return {
        **dict.fromkeys(COLUMNS, 0.0),
        "train_error": error,
        "test_error": error + 0.01,
        "components": min(initial, 8) + 0.4 * max(initial - 10, 0),
        "weights": 2.0 * initial,
        "reduction": 0.991 + 0.0001 * initial,
    }


def records_of(change: Any = None, preset: str = "paper") -> list[Record]:
    """Records as published, with some measures changed: a function from the initial number."""
    return [
        {"preset": preset, "initial": initial, "repetition": i}
        | as_published(initial)
        | (change(initial) if change else {})
        for initial in INITIAL
        for i in range(REPETITIONS)
    ]


def false_claims(records: list[Record]) -> list[str]:
    return [claim.partition(": ")[2] for claim, holds, _ in judge_appendix_b(records) if not holds]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pytest.importorskip("matplotlib")
    return run_appendix_b(tmp_path_factory.mktemp("results") / "new", quick=True)


def test_all_claims_hold_for_curves_as_the_paper_describes_them() -> None:
    judgements = judge_appendix_b(records_of())
    assert [claim for claim, _, _ in judgements] == [f"preset paper: {c[0]}" for c in CLAIMS]
    assert [holds for _, holds, _ in judgements] == [True] * len(CLAIMS)
    assert all(type(holds) is bool for _, holds, _ in judgements)


@pytest.mark.parametrize(
    ("change", "claims"),
    [
        (
            lambda n: {"test_error": 0.35} if n == 4 else {"train_error": 0.3} if n == 6 else {},
            ["training and test error fall from 2 to 6"],
        ),
        (lambda n: {"test_error": 0.25} if n == 14 else {}, ["both errors are flat from 8 on"]),
        (
            lambda n: {"test_error": 0.178} if n == 12 else {},
            ["both errors are flat from 8 on", "the test error is the higher one from 8 on"],
        ),
        (lambda n: {"components": 5} if n == 6 else {}, ["no component is lost up to 8"]),
        (lambda n: {"components": 11.6} if n == 12 else {}, ["components are lost above 10"]),
        (lambda n: {"components": 14} if n == 20 else {}, ["eight components are lost at 20"]),
        (lambda n: {"components": 10} if n == 20 else {}, ["eight components are lost at 20"]),
        (lambda n: {"weights": 7}, ["the number of non-zero weights grows"]),
        (lambda n: {"weights": -n}, ["the number of non-zero weights grows"]),
        (lambda n: {"reduction": 1.0 - 0.0001 * n}, ["the reduction ratio grows"]),
        (
            lambda n: {"reduction": 0.988} if n == 2 else {},
            ["more than 99% of weights are removed"],
        ),
    ],
)
def test_each_claim_can_fail_alone(change: Any, claims: list[str]) -> None:
    assert false_claims(records_of(change)) == claims


@given(noise=st.floats(0.0, 0.2), gap=st.floats(0.0, 0.05))
def test_errors_are_flat_within_the_gap_or_two_standard_errors(noise: float, gap: float) -> None:
    records = records_of()
    signs = np.array([1.0, -1.0, 0.5, -0.5, 0.0])  # of mean zero
    for record in records:
        if record["initial"] == 16:
            shift = gap + noise * signs[record["repetition"]]
            record["train_error"] += shift
            record["test_error"] += shift
    limit = max(FLAT_GAP, 2.0 * noise * signs.std(ddof=1) / np.sqrt(5))
    if abs(gap - limit) > 1e-9:
        assert ("both errors are flat from 8 on" in false_claims(records)) == (gap > limit)


def test_claims_about_cells_that_were_not_run_are_left_out() -> None:
    records = [record for record in records_of() if record["initial"] in (2, 8, 20)]
    judged = {claim.partition(": ")[2] for claim, _, _ in judge_appendix_b(records)}
    assert {claim[0] for claim in CLAIMS} - judged == {
        "training and test error fall from 2 to 6",
        "components are lost above 10",
    }
    assert judge_appendix_b([]) == []


def test_numbers_are_the_means_in_the_units_of_the_table() -> None:
    numbers = {claim: words for claim, _, words in judge_appendix_b(records_of(preset="fast"))}
    assert (
        numbers["preset fast: training and test error fall from 2 to 6"]
        == "training error % 52.0, 44.0, 36.0; test error % 53.0, 45.0, 37.0"
    )


def test_presets_are_judged_apart() -> None:
    records = records_of() + records_of(lambda n: {"components": n}, preset="fast")
    wrong = [claim for claim, holds, _ in judge_appendix_b(records) if not holds]
    assert wrong == [
        "preset fast: components are lost above 10",
        "preset fast: eight components are lost at 20",
    ]


def test_curves_are_means_and_deviations_whatever_the_order_of_the_records() -> None:
    records = records_of()
    for record in records:
        record["weights"] += record["repetition"]
    np.random.RandomState(0).shuffle(records)
    curve = collected(records)["paper"]["weights"]
    np.testing.assert_array_equal(curve.initial, INITIAL)
    np.testing.assert_allclose(curve.mean, 2.0 * np.array(INITIAL) + 2.0)
    np.testing.assert_allclose(curve.deviation, np.sqrt(2.5))
    np.testing.assert_allclose(curve.values[:, 3] - curve.values[:, 0], 3.0)


def test_records_of_a_run_that_has_not_ended_are_refused() -> None:
    with pytest.raises(ValueError, match="preset paper has from 4 to 5 repetitions per cell; run"):
        judge_appendix_b(records_of()[:-1])


def test_the_model_has_the_settings_of_the_paper() -> None:
    _, model = rows_and_model("paper", 6, 0, 0)
    set_ = model.get_params()
    assert (set_["n_components"], set_["kernel"], set_["degree"]) == (3, "poly", 2)
    assert (set_["gamma"], set_["coef0"], set_["standardize"]) == (1.0, 1.0, False)
    assert set_["preset"] == "paper"


def test_repetitions_have_rows_of_their_own_which_their_cells_share() -> None:
    first, other = rows_and_model("paper", 2, 0, 0)[0], rows_and_model("fast", 20, 0, 0)[0]
    np.testing.assert_array_equal(first.X, other.X)
    assert [len(part) for part in first.split()] == [320, 320, 1600, 1600]
    starts = {(0, 0), (0, 1), (1, 0), (1, 1)}
    drawn = {rows_and_model("fast", 2, i, seed)[0].X.tobytes() for seed, i in starts}
    assert len(drawn) == 4


def test_a_cell_records_what_the_model_says() -> None:
    key: dict[str, Any] = {"preset": "fast", "initial": 8, "repetition": 0, "seed": 0}
    record = measured_cell(key)
    data, model = rows_and_model(**key)
    X, y, X_test, y_test = data.split()
    model.fit(X, y)
    assert record["train_error"] == pytest.approx(1.0 - model.score(X, y))
    assert record["test_error"] == pytest.approx(1.0 - model.score(X_test, y_test))
    weights = np.column_stack([model.intercept_, model.coef_])
    assert record["weights"] == np.count_nonzero(weights)
    assert record["initial_weights"] == 8 * 321
    assert record["reduction"] == pytest.approx(1.0 - record["weights"] / record["initial_weights"])
    assert record["components"] == len(weights)
    assert record["components_with_weights"] == len({k for k, _ in np.argwhere(weights)})
    assert record["converged"] is True and record["seconds"] > 0.0
    assert set(record) == set(COLUMNS)
    json.dumps(record)


def test_the_pinned_component_and_its_weights_are_not_counted_at_the_start() -> None:
    record = measured_cell({"preset": "paper", "initial": 2, "repetition": 0, "seed": 0})
    assert record["initial_weights"] == 321


def test_eight_components_learn_the_board_that_two_cannot() -> None:
    errors = [
        measured_cell({"preset": "fast", "initial": n, "repetition": 0, "seed": 0})["test_error"]
        for n in (2, 8)
    ]
    assert errors[0] > 0.4 and errors[1] < 0.15


def test_the_files_are_written_markdown_first(quick: list[Path]) -> None:
    names = [f"appendix-b{end}" for end in (".md", ".csv", ".png", ".svg")]
    names += ["appendix-b-boundaries.png", "appendix-b-boundaries.svg"]
    assert [path.name for path in quick] == names
    for path in quick[2:]:
        start = {".png": b"\x89PNG", ".svg": b"<?xml"}[path.suffix]
        assert path.read_bytes().startswith(start)


def test_the_quick_run_has_three_starts_two_repetitions_and_one_preset(quick: list[Path]) -> None:
    records = read_records(quick[0].with_suffix(".jsonl"))
    cells = {(r["preset"], r["initial"], r["repetition"], r["seed"]) for r in records}
    assert cells == {("fast", n, i, 0) for n in (2, 8, 20) for i in (0, 1)}
    assert len(records) == 6


def test_markdown_and_csv_hold_the_means_of_the_records(quick: list[Path]) -> None:
    records = read_records(quick[0].with_suffix(".jsonl"))
    errors = [record["test_error"] for record in records if record["initial"] == 20]
    mean, std = np.mean(errors), np.std(errors, ddof=1)
    with quick[1].open(encoding="utf-8", newline="") as file:
        row = list(csv.DictReader(file))[-1]
    assert (row["preset"], row["initial"], row["repetitions"]) == ("fast", "20", "2")
    assert float(row["test_error_mean"]) == pytest.approx(mean, rel=1e-5)
    assert float(row["test_error_std"]) == pytest.approx(std, rel=1e-5)
    (line,) = (line for line in quick[0].read_text("utf-8").splitlines() if "| 20 |" in line)
    assert f" {100 * mean:.1f} ± {100 * std:.1f} " in line


def test_the_page_ends_with_the_claims(quick: list[Path]) -> None:
    records = read_records(quick[0].with_suffix(".jsonl"))
    claims = judge_appendix_b(records)
    last = quick[0].read_text("utf-8").splitlines()[-len(claims) :]
    for line, (claim, holds, numbers) in zip(last, claims, strict=True):
        assert line == f"- {claim}: **{'yes' if holds else 'no'}** ({numbers})"


def test_a_second_run_computes_nothing_and_writes_the_same(quick: list[Path]) -> None:
    before = [path.read_bytes() for path in quick]
    told: list[tuple[int, int]] = []
    again = run_appendix_b(
        quick[0].parent, quick=True, progress=lambda done, total, _: told.append((done, total))
    )
    assert again == quick and told == [(6, 6)]
    assert [path.read_bytes() for path in again] == before


def test_cells_of_other_code_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Exception):
        pass

    def first(path: Path, keys: list[Key], *_: object, **__: object) -> None:
        raise Stop(keys[0]["code"])

    monkeypatch.setattr(appendix_b, "run_cells", first)
    for code in "one", "another":
        monkeypatch.setattr(appendix_b, "code_version", lambda code=code: code)
        with pytest.raises(Stop, match=code):
            run_appendix_b(tmp_path, quick=True)


def test_tables_of_both_presets_are_on_one_page() -> None:
    page = as_markdown(records_of() + records_of(preset="fast"))
    assert page.count("mean ± standard deviation of 5 repetitions") == 2
    assert page.count("\n| 20 | ") == 2
    assert page.endswith(")\n")


@pytest.mark.slow
def test_the_errors_of_both_presets_reach_a_level_near_that_of_bayes_rule() -> None:
    for preset in "paper", "fast":
        for initial in 12, 20:
            key: dict[str, Any] = {"preset": preset, "initial": initial, "repetition": 1, "seed": 0}
            record = measured_cell(key)
            assert 0.05 < record["test_error"] < 0.14
            assert record["reduction"] > 0.99
