"""Claims about models of tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sdgm.tables
from sdgm.tables import TableModel
from tests.tables.ugly import read_table


def test_predictions_are_those_of_the_classifier(ugly_model: TableModel, ugly: Path) -> None:
    frame, _ = read_table(ugly)
    P = ugly_model.predict_proba(frame)
    assert P.shape == (120, 3) and np.allclose(P.sum(axis=1), 1.0)
    assert np.array_equal(ugly_model.predict(frame), ugly_model.classes_[P.argmax(axis=1)])
    assert ugly_model.predict_std(frame).shape == (120, 3)
    np.testing.assert_allclose(ugly_model.predict_proba(frame[5:9]), P[5:9], rtol=1e-12)


def test_no_rows_have_no_predictions(ugly_model: TableModel, ugly: Path) -> None:
    frame = read_table(ugly)[0].clear()
    assert ugly_model.predict(frame).shape == (0,)
    assert ugly_model.predict_proba(frame).shape == (0, 3)
    assert ugly_model.predict_std(frame).shape == (0, 3)


def test_a_model_is_shown_shortly_and_escaped_in_notebooks(ugly_model: TableModel) -> None:
    assert len(repr(ugly_model)) < 1000
    pytest.importorskip("jinja2")
    page = ugly_model._repr_html_()
    assert "<b>x</b>" not in page and "&lt;b&gt;x&lt;/b&gt;" in page


def test_names_are_there_and_others_are_not() -> None:
    assert sorted(dir(sdgm.tables)) == sorted(sdgm.tables.__all__)
    assert all(hasattr(sdgm.tables, name) for name in sdgm.tables.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fit_chair'"):
        sdgm.tables.fit_chair  # noqa: B018


def test_polars_is_imported_when_a_table_is_read_and_not_before() -> None:
    code = "import sdgm.tables, sys; sdgm.tables.fit_table; assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
