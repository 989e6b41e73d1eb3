"""Claims about columns of weights: a weight of two is the row twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sdgm import SDGMClassifier
from sdgm.tables import TableError, evaluate_table, fit_table, predict_table
from sdgm.tables.evaluation import lead, scores

rng = np.random.default_rng(0)
N = 40
KIND = np.arange(N) % 2
FREQUENCY = rng.integers(5, size=N)
FRAME = pl.DataFrame(
    {
        "row": np.arange(1, N + 1),
        "x": (rng.normal(size=N) + 2 * KIND).round(2),
        "colour": rng.choice(["red", "blue"], N),
        "kind": np.where(KIND, "b", "a"),
        "n": FREQUENCY,
    }
)
REPEATED = FRAME[np.repeat(np.arange(N), FREQUENCY)].drop("n")
OPTIONS: dict[str, Any] = {"form": "primal", "components": 1}


@pytest.mark.parametrize("test_size", [0, 0.25])
def test_frequencies_give_the_model_and_the_test_of_repeated_rows(test_size: float) -> None:
    options = OPTIONS | {"test_size": test_size}
    counted = fit_table(FRAME, "kind", weights="n", **options)
    repeated = fit_table(REPEATED, "kind", exclude=["row"], **options)
    assert counted.inputs == repeated.inputs
    assert np.array_equal(counted.predict_proba(FRAME), repeated.predict_proba(FRAME))
    if test_size:
        for measured in ("error", "log_loss", "brier", "confusion", "rows"):
            assert counted.record["held_out"][measured] == repeated.record["held_out"][measured]
    source = counted.record["source"]
    assert source["weights"] == "n" and source["rows"] == N
    assert source["rows_used"] == FREQUENCY.sum()
    kinds = {column["name"]: column for column in source["columns"]}
    assert kinds["row"]["reason"] == "row numbers" and "n" not in kinds


def test_evaluation_counts_rows_by_the_weights_of_the_model(tmp_path: Path) -> None:
    model = fit_table(FRAME, "kind", weights="n", **OPTIONS)
    found, expected = evaluate_table(model, FRAME), evaluate_table(model, REPEATED)
    assert (found.error, found.log_loss) == (expected.error, expected.log_loss)
    assert found.rows == len(REPEATED)
    assert evaluate_table(model, FRAME.drop("n")).rows == N
    assert predict_table(model, FRAME, tmp_path / "out.csv").ignored == ()


def test_fractions_are_sample_weights() -> None:
    weights = np.where(FREQUENCY == 0, 0.0, FREQUENCY + 0.5)
    frame = FRAME.with_columns(n=weights).select("x", "kind", "n")
    model = fit_table(frame, "kind", weights="n", test_size=0, **OPTIONS)
    plain = SDGMClassifier(1, covariance_type="auto", random_state=0)
    plain.fit(frame.select("x"), frame["kind"].to_numpy(), sample_weight=weights)
    np.testing.assert_allclose(
        model.predict_proba(frame), plain.predict_proba(frame.select("x")), rtol=1e-9
    )
    assert model.record["source"]["rows_used"] == (FREQUENCY > 0).sum()
    tested = fit_table(frame, "kind", weights="n", **OPTIONS)
    assert tested.record["held_out"]["rows"] == sum(
        map(sum, tested.record["held_out"]["confusion"])
    )
    assert evaluate_table(model, frame).rows == (FREQUENCY > 0).sum()
    many = fit_table(frame.with_columns(n=10**8), "kind", weights="n", test_size=0, **OPTIONS)
    assert many.record["source"]["rows_used"] == N  # too many rows to repeat


def test_weighted_measures_are_those_of_repeated_rows() -> None:
    P = rng.dirichlet(np.ones(3), size=N)
    codes, s = rng.integers(3, size=N), FREQUENCY.astype(float)
    rows = np.repeat(np.arange(N), FREQUENCY)
    for name, value in scores(P, codes, s).items():
        assert value == pytest.approx(scores(P[rows], codes[rows])[name])
    a, b = rng.random((2, N))
    assert lead(a, b, s)["lead"] == pytest.approx(lead(a[rows], b[rows])["lead"])
    gains = b - a
    assert lead(a, b)["lead_error"] == pytest.approx(gains.std(ddof=1) / np.sqrt(N))
    assert lead(a, b, np.full(N, 7.0)) == pytest.approx(lead(a, b))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.where(np.arange(N) == 3, -1.0, 1.0), "weights must be .* has -1 in row 4"),
        ([1.0] * (N - 1) + [None], f"has no value in row {N}"),
        (["many"] * N, "weights must name a column of numbers; 'n' has 'many'"),
        ([0] * N, "weights must not all be zero"),
    ],
)
def test_what_is_no_weight_is_refused(values: Any, said: str) -> None:
    with pytest.raises(TableError, match=said):
        fit_table(FRAME.with_columns(n=pl.Series(values)), "kind", weights="n")


def test_a_column_has_one_role() -> None:
    with pytest.raises(TableError, match="no column 'm' for the weights: did you mean"):
        fit_table(FRAME.rename({"n": "mm"}), "kind", weights="m")
    with pytest.raises(TableError, match="no column 'm' to exclude"):
        fit_table(FRAME, "kind", exclude=["m"])
    with pytest.raises(TableError, match="Column 'kind' cannot be both target and weights"):
        fit_table(FRAME, "kind", weights="kind")
    with pytest.raises(TableError, match="Column 'row' cannot be both id and excluded"):
        fit_table(FRAME, "kind", id_column="row", exclude=["row"])
    with pytest.raises(TableError, match="exclude must be a list of names, got 'row'"):
        fit_table(FRAME, "kind", exclude="row")


def test_excluded_columns_are_not_learned_from_and_said_to_be() -> None:
    model = fit_table(FRAME, "kind", exclude=["x", "row"], **OPTIONS)
    assert [column.name for column in model.inputs] == ["colour", "n"]
    notes = {column["name"]: column["reason"] for column in model.record["source"]["columns"]}
    assert notes["x"] == notes["row"] == "excluded"


def test_class_weights_and_budgets_reach_the_classifier() -> None:
    frame = FRAME.select("x", kind=pl.Series(KIND))
    model = fit_table(frame, "kind", class_weight={"1": 5.0}, max_weights=2, **OPTIONS)
    assert model.classifier.class_weight == {1: 5.0} and model.classifier.max_weights == 2
    assert model.record["weights"]["final"] <= 2
    plain = fit_table(frame, "kind", max_weights=2, **OPTIONS)
    assert model.predict_proba(frame)[:, 1].mean() > plain.predict_proba(frame)[:, 1].mean()
    assert fit_table(frame, "kind", class_weight="balanced").classifier.class_weight == "balanced"
    for wrong, said in [
        ({"2": 1.0}, "class_weight names '2', which is not a class; the classes are '0' and '1'"),
        ({"1": -1.0}, "class_weight must have a positive number for each label, got -1.0 for '1'"),
        ("even", "class_weight must be balanced or a number"),
    ]:
        with pytest.raises(TableError, match=said):
            fit_table(frame, "kind", class_weight=wrong)
    with pytest.raises(TableError, match="max_weights must be a positive integer, got 0"):
        fit_table(frame, "kind", max_weights=0)
