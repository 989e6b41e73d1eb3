"""Scales at which a thousand rows are many, so that tests of many rows are quick."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdgm.core.data import blocked_rows
from sdgm.core.data import rows as rows_module
from sdgm.core.solvers import sampled
from sdgm.scale import many_rows, sampling


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, blocks have 64, samples 400 and 600, or 800 in the dual form."""
    for module in (rows_module, blocked_rows, sampling):
        monkeypatch.setattr(module, "CANONICAL_ROWS", 64)
    monkeypatch.setattr(rows_module, "MIN_BLOCK_ROWS", 16)
    monkeypatch.setattr(sampling, "RARE_ROWS", 30)
    monkeypatch.setattr(many_rows, "LARGE_ROWS", 1000)
    monkeypatch.setattr(many_rows, "MAX_ROWS", 1000)
    monkeypatch.setattr(many_rows, "CHOSEN_AT_ONCE", 1000)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 800)  # half as many where a second follows
    monkeypatch.setattr(many_rows, "MIDDLE_ROWS", 600)
    monkeypatch.setattr(sampled, "ENOUGH_ROWS", 8)


def make_small_on_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with groups of 256 rows on the workers."""
    from sdgm.dask import estimators, rows, totals

    make_small(monkeypatch)
    monkeypatch.setattr(totals, "CANONICAL_ROWS", 64)
    for module in (totals, rows, estimators):
        monkeypatch.setattr(module, "GROUP_ROWS", 256)
    monkeypatch.setattr(estimators, "LARGE_ROWS", 1000)


def assert_same(one: Any, other: Any) -> None:
    """Two fitted models are the same, to the last bit."""
    np.testing.assert_array_equal(one.model_.active, other.model_.active)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.mixture_weights_, other.mixture_weights_)
    np.testing.assert_array_equal(one.covariance_, other.covariance_)
