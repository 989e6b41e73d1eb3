"""What the command line says about a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How thoroughly to measure.

    Attributes
    ----------
    repeats : int
        Rounds of timing, and seeds 0, 1, ... of the estimators that start at random.
    threads : tuple of int
        Thread counts, each measured in processes of its own.
    quick : bool
        A small run that shows that all works; its numbers are not for quoting.
    timeout : float
        Seconds for one point of the growth.
    """

    repeats: int
    threads: tuple[int, ...]
    quick: bool
    timeout: float
