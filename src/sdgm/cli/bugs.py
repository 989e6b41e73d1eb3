"""Whose mistake an error is, and what is said where it is the library's own."""

from __future__ import annotations

import dis
import shlex
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from rich.text import Text

INTERNAL = 70  # exit code of an internal error, EX_SOFTWARE of sysexits.h
# packages whose commands run here: the command, and that of the paper's tables and figures
OWN_PACKAGES = ("sdgm", "reproduction")


class Invocation:
    """The command line that is at work, and whether its errors are printed with a traceback."""

    arguments: Sequence[str] = ()
    debug = False


invocation = Invocation()


def begin(arguments: Sequence[str]) -> None:
    """Remember the command line, for a report."""
    invocation.arguments, invocation.debug = arguments, False


def is_users(error: BaseException) -> bool:
    """Whether an error says what is wrong with the user's values, files, memory or packages.

    The library tells that by a ``raise`` of its own. A ValueError that comes out of numpy, or out
    of any other call, is one that nobody foresaw.
    """
    if isinstance(error, OSError | MemoryError):
        return True
    if not isinstance(error, ValueError | TypeError | ImportError):
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    package = last.tb_frame.f_globals.get("__name__", "").partition(".")[0]
    instruction = last.tb_frame.f_code.co_code[last.tb_lasti]
    return package in OWN_PACKAGES and dis.opname[instruction] == "RAISE_VARARGS"


def print_traceback(error: BaseException) -> None:
    """The traceback on standard error, if it is wanted."""
    if invocation.debug:
        traceback.print_exception(error, file=sys.stderr)


def report(error: BaseException, console: Any) -> None:
    """Say that it is the library's mistake, and what to report."""
    from sdgm import __version__

    print_traceback(error)
    what = " ".join(traceback.format_exception_only(error)).strip()
    command = shlex.join(["sdgm", *invocation.arguments])
    python = ".".join(map(str, sys.version_info[:3]))
    console.print(Text.assemble(("Internal error: ", "bold red"), what), soft_wrap=True)
    lines = (
        "This is a bug in sdgm. Please report it with these lines:",
        f"  sdgm {__version__}, Python {python}, {sys.platform}",
        f"  {command}",
    )
    more = "and the traceback that sdgm --debug COMMAND prints."
    for line in lines if invocation.debug else (*lines, more):
        console.print(line, markup=False, soft_wrap=True)
