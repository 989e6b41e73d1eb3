"""BLAS threads, which help large problems and hold up small ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController  # comes with scikit-learn

# multiply-adds of one pass over the rows from which BLAS may use all its threads; below, handing
# out the work takes longer than doing it, and many times longer on a busy machine
THREADED_WORK = 5e7
# the same where threads of our own do most of the work, and those of BLAS would be in the way
MUCH_WORK = 1e10


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def blas_threads(work: float, enough: float = THREADED_WORK) -> Iterator[None]:
    """Keep BLAS on one thread for passes of so little work that more would not pay."""
    if work >= enough:
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
