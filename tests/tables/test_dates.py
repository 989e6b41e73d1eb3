"""Claims about columns of dates: days since 1970-01-01, whoever holds them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdgm
from sdgm.tables import Number, TableError, TableModel, fit_table, predict_table
from sdgm.tables.values import as_days

N = 60
START = datetime(2020, 1, 1, 6)
WHEN = [START + timedelta(days=int(i)) for i in np.random.default_rng(0).integers(400, size=N)]
KIND = ["late" if when > START + timedelta(days=200) else "early" for when in WHEN]
OTHER = np.random.default_rng(1).normal(size=N)
OPTIONS: dict[str, Any] = {"form": "primal", "components": 1}


def table(when: Any) -> pl.DataFrame:
    return pl.DataFrame({"when": when, "other": OTHER, "kind": KIND})


@pytest.fixture(scope="module")
def model() -> TableModel:
    return fit_table(table(WHEN), "kind", **OPTIONS)


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_days_are_those_of_the_calendar(when: datetime) -> None:
    expected = (when - datetime(1970, 1, 1)) / timedelta(days=1)
    for series in (pl.Series([when]), pl.Series([when.isoformat(sep=" ")])):
        days, odd = as_days(series)
        assert days[0] == pytest.approx(expected, abs=1e-9, rel=1e-12) and not odd[0]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2007-1-2", "2007-01-02"),
        ("2007/01/02", "2007-01-02"),
        (" 2007-01-02T12:00 ", "2007-01-02 12:00:00.0"),
    ],
)
def test_dates_with_the_year_first_are_read(text: str, same: str) -> None:
    days, odd = as_days(pl.Series([text, same, "2007-02-31", "2007-01-02 25h", None, "NA"]))
    assert days[0] == days[1] is not None
    assert days[2:].null_count() == 4 and odd.to_list() == [False, False, True, True, False, False]


def test_a_column_of_dates_is_a_number_of_days_with_a_remark(model: TableModel) -> None:
    assert model.inputs[0] == Number("when", is_date=True)
    note = model.record["source"]["columns"][0]
    assert note["kind"] == "date" and "as days since 1970-01-01" in note["reason"]
    days = [(when - datetime(1970, 1, 1)) / timedelta(days=1) for when in WHEN]
    np.testing.assert_allclose(model.features(table(WHEN))[:, 0], days)


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "texts", "csv"])
def test_dates_of_any_library_are_the_same_days(
    model: TableModel, library: str, tmp_path: Path
) -> None:
    frame = table(WHEN)
    expected = model.predict_proba(frame)
    if library == "csv":
        frame.write_csv(tmp_path / "t.csv", datetime_format="%Y-%m-%d %H:%M:%S")
        again = fit_table(tmp_path / "t.csv", "kind", **OPTIONS)
        assert again.inputs == model.inputs
        predict_table(model, tmp_path / "t.csv", tmp_path / "out.csv", proba=True)
        found = pl.read_csv(tmp_path / "out.csv").select("P(early)", "P(late)").to_numpy()
    elif library == "texts":
        found = model.predict_proba(table([when.isoformat() for when in WHEN]))
    else:
        pytest.importorskip(library)
        other = frame.to_pandas() if library == "pandas" else frame.to_arrow()
        assert fit_table(other, "kind", **OPTIONS).inputs == model.inputs
        found = model.predict_proba(other)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_missing_date_becomes_the_median_with_an_indicator() -> None:
    when = [None, *WHEN[1:]]
    column = fit_table(table(when), "kind", test_size=0, **OPTIONS).inputs[0]
    assert column.features == ("when", "when missing")
    assert column.fill == pytest.approx(as_days(pl.Series(WHEN[1:]))[0].median())


def test_files_keep_which_columns_are_dates(model: TableModel, tmp_path: Path) -> None:
    sdgm.save(model, tmp_path / "m.sdgm")
    assert sdgm.load(tmp_path / "m.sdgm").inputs == model.inputs


@pytest.mark.parametrize(
    "when",
    [
        [each.replace(tzinfo=UTC) for each in WHEN],
        [each.isoformat() + "Z" for each in WHEN],
        [each.isoformat() + "+02:00" for each in WHEN],
        [each.isoformat(sep=" ") + " CET" for each in WHEN],
    ],
)
def test_times_of_a_zone_are_refused_with_what_to_do(model: TableModel, when: Any) -> None:
    said = "Column 'when' has times with a time zone, .*; convert them .* or exclude the column"
    with pytest.raises(TableError, match=said):
        fit_table(table(when), "kind")
    with pytest.raises(TableError, match=said):
        model.predict(table(when))
    fit_table(table(when), "kind", exclude=["when"], **OPTIONS)


def test_what_is_no_date_is_refused_with_its_row(model: TableModel) -> None:
    texts = [when.isoformat() for when in WHEN]
    with pytest.raises(TableError, match="has the text 'soon' in row 2, but had dates in training"):
        model.predict(table([texts[0], "soon", *texts[2:]]))
    with pytest.raises(TableError, match="holds numbers, but had dates in training"):
        model.predict(table(np.arange(N)))
    numbers = fit_table(table(np.arange(N) % 7), "kind", **OPTIONS)
    with pytest.raises(TableError, match="holds dates, but had numbers in training"):
        numbers.predict(table(WHEN))
