"""Claims about threads: who shares the work, and that all is as before when a fit ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest

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


class Blas:
    """A BLAS of two threads, whatever the machine has and other libraries have made of it."""

    def __init__(self) -> None:
        self.n_threads = 2

    def info(self) -> list[dict[str, Any]]:
        others = {"user_api": "openmp", "num_threads": 8}
        return [{"user_api": "blas", "num_threads": self.n_threads}, others]

    @contextmanager
    def limit(self, *, limits: int, user_api: str) -> Iterator[None]:
        assert user_api == "blas"
        before, self.n_threads = self.n_threads, limits
        try:
            yield
        finally:
            self.n_threads = before


@pytest.fixture(autouse=True)
def two_blas_threads(monkeypatch: pytest.MonkeyPatch) -> Blas:
    blas = Blas()
    monkeypatch.setattr(threads, "_controller", lambda: blas)
    return blas


def test_the_real_blas_is_held_to_one_thread_and_given_its_others_back() -> None:
    n_threads = min(2, os.cpu_count() or 1)
    code = f"""
from threadpoolctl import threadpool_info
from sdgm.scale.threads import n_blas_threads, one_blas_thread

def of_blas():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

import scipy.linalg
assert n_blas_threads() == max(of_blas()) == {n_threads}, of_blas()
with one_blas_thread():
    assert set(of_blas()) == {{1}} and n_blas_threads() == {n_threads}, of_blas()
assert max(of_blas()) == {n_threads}, of_blas()
"""
    # a process of its own: what other libraries did to BLAS in this one is not known
    wanted = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(n_threads))
    environment = {**os.environ, **wanted}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


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


def test_a_fit_is_the_same_whoever_shares_it(
    two_blas_threads: Blas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "SHARED_WORK", 0.0)
    monkeypatch.setattr(rows_module, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(rows_module, "MIN_BLOCK_ROWS", 16)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + 1.5 * y[:, None]
    shared = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    with two_blas_threads.limit(limits=1, user_api="blas"):
        alone = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    np.testing.assert_array_equal(shared.predict_proba(X), alone.predict_proba(X))
