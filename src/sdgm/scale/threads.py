"""Threads: our own, which share the rows, or BLAS threads, which help the largest problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController  # comes with scikit-learn

from sdgm.core.data.rows import Crew, crew_of

# multiply-adds of one pass over the rows above which our own threads share the rows; below,
# distributing the work takes longer than doing it
SHARED_WORK = 5e7
# the same for the threads of BLAS. The threads of numpy's BLAS and of scipy's BLAS wait for work by
# spinning and slow each other down: fits of seconds took twice as long with two threads as with one
BLAS_WORK = 2e10
# rows of the table per row of the largest matrix from which on our own threads take less time than
# those of BLAS, which also help to factorise
SHARED_ROWS = 4


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def n_blas_threads() -> int:
    """Number of threads that BLAS would use if it were not limited to one."""
    if _held.count:
        return _held.n_threads
    blas = [each["num_threads"] for each in _controller().info() if each["user_api"] == "blas"]
    return max(blas, default=1)


def sharing_threads(n_rows: int, size: int) -> int:
    """Number of our own threads, given the numbers of rows and of columns of the largest matrix."""
    return n_blas_threads() if n_rows >= SHARED_ROWS * size else 1


@contextmanager
def learning_threads(n_rows: int, work: float, size: int) -> Iterator[Crew | None]:
    """Threads for passes over rows in memory with this much work: a crew, or those of BLAS.

    Parameters
    ----------
    n_rows : int
    work : float
        Multiply-adds of a pass.
    size : int
        Rows of the largest matrix to factorise.
    """
    n_threads = sharing_threads(n_rows, size)
    if work < SHARED_WORK or n_threads == 1:
        with blas_threads(work):
            yield None
        return
    with one_blas_thread(), crew_of(n_threads) as crew:
        yield crew


@contextmanager
def blas_threads(work: float) -> Iterator[None]:
    """Keep BLAS on one thread for passes with so little work that more threads would not pay."""
    if work >= BLAS_WORK:
        yield
        return
    with one_blas_thread():
        yield


@contextmanager
def in_threads() -> Iterator[int]:
    """As many threads of our own as BLAS would use, each with a single-threaded BLAS."""
    n_threads = n_blas_threads()
    with one_blas_thread():
        yield n_threads


class Held:
    """Number of fits of this process that limit BLAS to one thread, and its previous limits."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.n_threads = 1
        self.limit: AbstractContextManager[object] | None = None


_held = Held()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread; the last of several concurrent fits restores the others."""
    with _held.lock:
        if _held.count == 0:
            _held.n_threads = n_blas_threads()
            _held.limit = _controller().limit(limits=1, user_api="blas")
            _held.limit.__enter__()
        _held.count += 1
    try:
        yield
    finally:
        with _held.lock:
            _held.count -= 1
            if _held.count == 0 and _held.limit is not None:
                _held.limit.__exit__(None, None, None)
                _held.limit = None
