"""Interrupts that are remembered: some packages swallow the exception while they are imported."""

from __future__ import annotations

import signal
from types import FrameType

# exit code of a command that the user interrupted, as shells say it
INTERRUPTED = 130

_seen = False


def watch() -> None:
    """Remember interrupts from now on, unless the process is to ignore them."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _remember)


def unwatch() -> None:
    """Ignore interrupts: the work is done, and the process ends with its own exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python remembers an interrupt of code that was given as text, as dataclasses are made, and
    # would end by the signal; other text makes it forget
    eval("None")


def _remember(number: int, frame: FrameType | None) -> None:
    global _seen
    _seen = True
    raise KeyboardInterrupt


def seen() -> bool:
    """Whether there was an interrupt."""
    return _seen


def check() -> None:
    """Be interrupted now, if an interrupt was swallowed before."""
    if _seen:
        raise KeyboardInterrupt
