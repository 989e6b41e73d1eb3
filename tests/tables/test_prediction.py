"""Claims about predictions for tables of any length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sdgm.tables import TableError, TableModel, delimited, fit_table, predict_table, reading
from tests.tables.ugly import read_table, write_ugly


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ugly(tmp_path_factory.mktemp("prediction") / "new.csv", 80, seed=7, labels=False)


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema_length=None, schema_overrides={"id": pl.String})


@pytest.mark.parametrize("block", [200, 1_000, 1 << 23])
def test_rows_keep_order_and_id_in_blocks_of_any_size(
    ugly_model: TableModel, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(delimited, "BLOCK", block)
    monkeypatch.setattr(delimited, "START", min(block, delimited.START))
    told: list[tuple[int, int]] = []
    done = predict_table(
        ugly_model,
        new,
        tmp_path / "out.csv",
        proba=True,
        std=True,
        progress=lambda rows, n_bytes: told.append((rows, n_bytes)),
    )
    out, frame = read(tmp_path / "out.csv"), read_table(new)[0]
    classes = ugly_model.classes_
    assert out.columns == [
        "id",
        "predicted_kind",
        *(f"P({label})" for label in classes),
        *(f"std({label})" for label in classes),
    ]
    assert tuple(out.columns) == done.columns
    assert out["id"].to_list() == frame["id"].to_list() == [f"00{i}" for i in range(80)]
    assert out["predicted_kind"].to_list() == ugly_model.predict(frame).tolist()
    # written with all their digits, and the same in blocks of one row as of many
    P = out.select(pl.nth(2, 3, 4)).to_numpy()
    assert np.allclose(P, ugly_model.predict_proba(frame), rtol=1e-12, atol=1e-15)
    S = out.select(pl.nth(5, 6, 7)).to_numpy()
    assert np.allclose(S, ugly_model.predict_std(frame), rtol=1e-9, atol=1e-12)
    assert done.rows == 80 and told[-1] == (80, new.stat().st_size)
    assert (len(told) > 1) == (block <= 1_000)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_all_kinds_of_files_say_the_same(
    ugly_model: TableModel,
    new: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
) -> None:
    monkeypatch.setattr(reading, "CHUNK_ROWS", 30)
    frame = read_table(new)[0]
    frame.write_parquet(tmp_path / "new.parquet")
    output = tmp_path / f"out{suffix}"
    predict_table(ugly_model, tmp_path / "new.parquet", output)
    if suffix == ".parquet":
        out = pl.read_parquet(output)
    else:
        separator = "\t" if suffix == ".tsv" else ","
        out = pl.read_csv(output, separator=separator, infer_schema=False)
    assert out.columns == ["id", "predicted_kind"]
    assert out["id"].equals(frame["id"])
    assert out["predicted_kind"].to_list() == ugly_model.predict(frame).tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.parquet", output.name]


def test_columns_may_be_reordered_and_others_are_named(
    ugly_model: TableModel, new: Path, tmp_path: Path
) -> None:
    frame = read_table(new)[0]
    other = frame.select(reversed(frame.columns)).with_columns(extra=pl.lit(1)).drop("id", "notes")
    done = predict_table(ugly_model, other, tmp_path / "out.csv")
    assert done.ignored == ("extra",) and done.lacks_id
    assert done.columns == ("predicted_kind",)
    out = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert out["predicted_kind"].to_list() == ugly_model.predict(frame).tolist()


def test_another_id_column_can_be_named_even_one_that_is_an_input(
    ugly_model: TableModel, new: Path, tmp_path: Path
) -> None:
    frame = read_table(new)[0]
    for name in ("notes", "темп"):
        predict_table(ugly_model, new, tmp_path / "out.csv", id_column=name)
        out = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
        assert out[name].equals(frame[name])
        assert out["predicted_kind"].to_list() == ugly_model.predict(frame).tolist()
    with pytest.raises(TableError, match="no column 'notez' for the id: did you mean 'notes'"):
        predict_table(ugly_model, new, tmp_path / "x.csv", id_column="notez")


def test_a_table_without_rows_has_predictions_without_rows(
    ugly_model: TableModel, new: Path, tmp_path: Path
) -> None:
    header = new.read_bytes()[: delimited.row_end(new.read_bytes())]
    (tmp_path / "none.csv").write_bytes(header)
    for suffix in (".csv", ".parquet"):
        done = predict_table(ugly_model, tmp_path / "none.csv", tmp_path / f"out{suffix}")
        assert done.rows == 0
    assert (tmp_path / "out.csv").read_text() == "id,predicted_kind\n"
    assert pl.read_parquet(tmp_path / "out.parquet").columns == ["id", "predicted_kind"]


def test_a_bad_value_is_found_in_any_block_and_leaves_no_file(
    ugly_model: TableModel, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 400)
    monkeypatch.setattr(delimited, "START", 400)
    frame = read_table(new)[0]
    values = frame["темп"].to_list()
    values[61] = "warm"
    frame.with_columns(pl.Series("темп", values)).write_csv(tmp_path / "bad.csv")
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(TableError, match="Column 'темп' has the text 'warm' in row 62"):
        predict_table(ugly_model, tmp_path / "bad.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "out.csv"]


def test_an_interrupt_leaves_the_old_file_alone(
    ugly_model: TableModel, new: Path, tmp_path: Path
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for name in ("out.csv", "out.parquet", "out.csv.gz"):
        (tmp_path / name).write_text("old")
        with pytest.raises(KeyboardInterrupt):
            predict_table(ugly_model, new, tmp_path / name, progress=interrupt)
        assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


def test_labels_are_written_as_they_were_read(tmp_path: Path) -> None:
    x = [0.0, 0.1, 1.0, 1.1, 0.2, 1.2] * 5
    for labels in ([False, False, True, True, False, True], [3, 3, 7, 7, 3, 7]):
        frame = pl.DataFrame({"x": x, "y": labels * 5})
        model = fit_table(frame, "y", form="primal", components=1, test_size=0)
        predict_table(model, frame, tmp_path / "out.csv")
        assert pl.read_csv(tmp_path / "out.csv")["predicted_y"].to_list() == labels * 5


def test_a_table_is_not_written_over_by_its_predictions(
    ugly_model: TableModel, new: Path, tmp_path: Path
) -> None:
    table = tmp_path / "new.csv"
    table.write_bytes(new.read_bytes())
    (tmp_path / "soft.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    for name in ("new.csv", "soft.csv", "hard.csv"):
        with pytest.raises(TableError, match=f"{name}' would overwrite the input file"):
            predict_table(ugly_model, table, tmp_path / name)
    assert table.read_bytes() == new.read_bytes()


def test_an_id_called_like_a_prediction_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0] * 9, "y": ["a", "b"] * 9, "P(a)": range(18)})
    model = fit_table(frame, "y", id_column="P(a)", form="primal", components=1, test_size=0)
    with pytest.raises(TableError, match=r"id column 'P.a.' has the name of a prediction column"):
        predict_table(model, frame, tmp_path / "out.csv", proba=True)
