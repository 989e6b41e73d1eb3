"""Which version wrote a file, and what is said where it knows more than this one.

The rules are in docs/files.md: within a major version, every file of an older version loads, and so
does one of a newer version that uses nothing new.
"""

from __future__ import annotations

import re
from typing import Any

from sdgm import __version__
from sdgm.persistence.errors import InvalidModelFile

VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?[a-z0-9.+]{0,30}", re.ASCII)


def release(version: str) -> tuple[int, ...] | None:
    """The numbers of a version; None for what is none.

    Examples
    --------
    >>> release("0.12.1"), release("1.0rc1"), release("new")
    ((0, 12, 1), (1, 0, 0), None)
    """
    match = VERSION.fullmatch(version)
    return None if match is None else tuple(int(number or 0) for number in match.groups())


def writer(document: Any) -> str | None:
    """The version that wrote a document, if it says so."""
    versions = document.get("versions") if isinstance(document, dict) else None
    version = versions.get("sdgm") if isinstance(versions, dict) else None
    return version if isinstance(version, str) and release(version) is not None else None


def install(version: str) -> str:
    """What to do to read a file of a version."""
    return f'pip install "sdgm>={version}"'


def newer_format(document: Any, found: int, known: int) -> InvalidModelFile:
    """What is wrong with a file of a newer format."""
    version = writer(document)
    by, remedy = (f" by sdgm {version}", install(version)) if version else ("", "update sdgm")
    return InvalidModelFile(
        f"was written{by} in format {found}, and sdgm {__version__} reads formats up to {known}; "
        f"{remedy}"
    )


def explained(problem: InvalidModelFile, document: Any) -> InvalidModelFile:
    """The problem of a document, with the version to install where a newer one wrote it."""
    version, ours = writer(document), release(__version__)
    theirs = None if version is None else release(version)
    if version is None or theirs is None or ours is None or theirs <= ours:
        return problem
    what = str(problem).removeprefix("is invalid: ")
    return InvalidModelFile(
        f"was written by sdgm {version} and cannot be read by sdgm {__version__}: {what}; "
        f"{install(version)}"
    )
