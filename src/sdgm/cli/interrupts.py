"""Interrupts that are remembered: some packages swallow the exception while they are imported."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # exit code of a command that the user interrupted, as in shells

_seen = False


@contextmanager
def remembered() -> Iterator[None]:
    """Remember interrupts, unless the process is to ignore them; ignore them when all is done."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Python would end by the signal if the interrupt hit code that was given as text, as of
        # dataclasses, unless other text runs after it
        eval("None")


def _remember(number: int, frame: FrameType | None) -> None:
    global _seen
    _seen = True
    raise KeyboardInterrupt


def seen() -> bool:
    """Whether there was an interrupt."""
    return _seen


def check() -> None:
    """Raise an interrupt that was swallowed before."""
    if _seen:
        raise KeyboardInterrupt
