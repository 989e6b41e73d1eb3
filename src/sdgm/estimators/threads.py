"""BLAS threads, which help large problems and hold up small ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController  # comes with scikit-learn

from sdgm.core.rows import sharing_out

# multiply-adds of one pass over the rows from which threads of our own share them out; below,
# handing out the work takes longer than doing it
SHARED_WORK = 5e7
# the same for the threads of BLAS. Those of numpy's copy and of scipy's wait for work at full
# speed, in each other's way: fits of seconds took twice as long with two threads as with one
BLAS_WORK = 2e10
# rows per coordinate from which on our own threads take less time than those of BLAS, which also
# help to factorise
ROWS_PER_COORDINATE = 4


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def learning_threads(n_rows: int, work: float, size: float) -> Iterator[None]:
    """Threads for passes over rows in memory that take so much work.

    Parameters
    ----------
    n_rows : int
    work : float
        Multiply-adds of a pass.
    size : float
        Rows of the largest matrix to factorise.
    """
    if work < SHARED_WORK or n_rows < ROWS_PER_COORDINATE * size:
        with blas_threads(work):
            yield
        return
    with in_threads() as n_threads, sharing_out(n_threads):
        yield


@contextmanager
def blas_threads(work: float) -> Iterator[None]:
    """Keep BLAS on one thread for passes of so little work that more would not pay."""
    if work >= BLAS_WORK:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def in_threads() -> Iterator[int]:
    """As many threads of our own as BLAS would take, each with a BLAS of one thread."""
    blas = [each["num_threads"] for each in _controller().info() if each["user_api"] == "blas"]
    with _controller().limit(limits=1, user_api="blas"):
        yield max(blas, default=1)
