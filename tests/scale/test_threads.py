"""Claims about threads: who shares the work, and that all is as before when a fit ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sdgm import SDGMClassifier
from sdgm.core.data import rows as rows_module
from sdgm.scale import threads
from sdgm.scale.threads import (
    blas_threads,
    in_threads,
    learning_threads,
    n_blas_threads,
    one_blas_thread,
    sharing_threads,
)


@pytest.fixture(autouse=True)
def two_blas_threads() -> Iterator[None]:
    with threadpool_limits(2, "blas"):
        yield


def test_fits_that_overlap_give_the_threads_back() -> None:
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_blas_thread())
    assert second.enter_context(in_threads()) == 2  # although BLAS is held to one
    first.close()
    assert threads._held.count == 1
    second.close()
    assert threads._held.count == 0 and n_blas_threads() == 2


def test_an_error_gives_the_threads_back() -> None:
    with pytest.raises(ZeroDivisionError), in_threads():
        raise ZeroDivisionError
    assert n_blas_threads() == 2


def test_little_work_has_one_thread_and_much_has_those_of_blas() -> None:
    with blas_threads(1.0):
        assert threads._held.count == 1
    with blas_threads(1e12):
        assert threads._held.count == 0


def test_rows_are_shared_where_there_are_many_for_the_matrix() -> None:
    assert sharing_threads(400, 100) == 2
    assert sharing_threads(399, 100) == 1
    for n_rows, work, shared in ((10**4, 1e9, True), (10**4, 1.0, False), (100, 1e9, False)):
        with learning_threads(n_rows, work, 100) as crew:
            assert (crew is not None) == shared


def test_a_fit_is_the_same_whoever_shares_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "SHARED_WORK", 0.0)
    monkeypatch.setattr(rows_module, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(rows_module, "MIN_BLOCK_ROWS", 16)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + 1.5 * y[:, None]
    shared = SDGMClassifier(2, random_state=0).fit(X, y)
    with threadpool_limits(1, "blas"):
        alone = SDGMClassifier(2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(shared.predict_proba(X), alone.predict_proba(X))
