"""Claims about frames of other libraries: they are read as polars frames with the same rows are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sdgm.tables import TableError, TableModel, evaluate_table, fit_table, predict_table
from sdgm.tables.reading import polars_frame

N = 60
rng = np.random.default_rng(0)
KIND = np.arange(N) % 2
FRAME = pl.DataFrame(
    {
        "id": [f"r{i}" for i in range(N)],
        "x": [None if i % 9 == 0 else x for i, x in enumerate(rng.normal(size=N) + 2 * KIND)],
        "whole": rng.integers(5, size=N),
        "flag": rng.random(N) < 0.5,
        "colour": pl.Series(rng.choice(["red", "blue"], N), dtype=pl.Categorical),
        "name": [None if i % 7 == 0 else f"n{i % 3}" for i in range(N)],
        "kind": np.where(KIND, "b", "a"),
    }
)
OPTIONS: dict[str, Any] = {"id_column": "id", "form": "primal", "components": 1}
LIBRARIES = ["polars", "polars lazy", "pandas", "pandas objects", "pyarrow"]


def frame_of(library: str) -> Any:
    pytest.importorskip(library.split()[0])
    if library.startswith("polars"):
        return FRAME.lazy() if "lazy" in library else FRAME
    pytest.importorskip("pyarrow")
    if library == "pyarrow":
        return FRAME.to_arrow()
    frame = FRAME.to_pandas()
    return frame.astype({"name": object, "kind": object}) if "objects" in library else frame


@pytest.fixture(scope="module")
def expected() -> TableModel:
    return fit_table(FRAME, "kind", **OPTIONS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_of_any_library_gives_the_same_model_and_predictions(
    expected: TableModel, library: str, tmp_path: Path
) -> None:
    frame = frame_of(library)
    model = fit_table(frame, "kind", **OPTIONS)
    assert model.inputs == expected.inputs
    assert model.record["source"] == expected.record["source"]
    assert model.record["held_out"] == expected.record["held_out"]
    assert np.array_equal(model.predict(frame), expected.predict(FRAME))
    assert np.array_equal(model.predict_proba(frame), expected.predict_proba(FRAME))
    assert np.array_equal(model.predict_std(frame), expected.predict_std(FRAME))
    assert evaluate_table(model, frame) == evaluate_table(expected, FRAME)
    predict_table(model, frame, tmp_path / "out.csv", proba=True)
    predict_table(expected, FRAME, tmp_path / "expected.csv", proba=True)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_frames_of_pandas_are_read_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    import narwhals as nw

    def refused(self: Any) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow'")

    frame = frame_of("pandas")
    mixed = frame.assign(x=[1.0, "two"] * (N // 2))
    monkeypatch.setattr(nw.Series, "to_polars", refused)
    assert polars_frame(frame).rows() == FRAME.rows()
    with pytest.raises(TableError, match="Column 'x' holds values of several types"):
        polars_frame(mixed)


def test_labels_of_pandas_keep_their_type() -> None:
    pd = pytest.importorskip("pandas")
    x = [0.0, 1.0] * 10
    for labels in (
        pd.array([3, 7] * 10, dtype="Int64"),
        pd.Categorical([3, 7] * 10),
        [3.0, 7.0] * 9 + [3.0, None],
    ):
        frame = pd.DataFrame({"x": x, "y": labels}, index=range(50, 70))
        model = fit_table(frame, "y", form="primal", components=1, test_size=0)
        assert model.classes_.tolist() == [3, 7] and model.classes_.dtype == np.int64
    model = fit_table(pd.DataFrame({0: x, 1: [True, False] * 10}), "1", form="primal", test_size=0)
    assert [column.name for column in model.inputs] == ["0"] and model.classes_.dtype == bool


def test_polars_frames_are_not_copied() -> None:
    assert polars_frame(FRAME) is FRAME


def test_frames_that_cannot_be_used_give_one_sentence() -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    mixed = pd.DataFrame({"x": [1.0, 2.0], "y": [1, "two"]})
    with pytest.raises(TableError, match="Column 'y' holds values of several types"):
        fit_table(mixed, "y")
    same = (
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
        pd.DataFrame([[1, 2]], columns=[1, "1"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]),
    )
    for frame in same:
        with pytest.raises(TableError, match="several columns with the same name"):
            fit_table(frame, "y")
    for wrong in (FRAME["x"], None, 3):
        with pytest.raises(TypeError, match="A table is a path, a pandas, pyarrow or polars frame"):
            fit_table(wrong, "y")
    with pytest.raises(TableError, match="two dimensions, not 3"):
        fit_table(np.ones((2, 2, 2)), "y")


@pytest.mark.parametrize("name", ["narwhals", "polars"])
def test_a_missing_package_is_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf'needs {name}, .* pip install "sdgm\[io\]"'):
        polars_frame(FRAME)
