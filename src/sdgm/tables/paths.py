"""Paths checked before any work is done; imports little, so that mistakes are reported at once."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdgm.tables.errors import TableError


def check_exists(source: Any) -> None:
    """The system's error for a file to read that is not there; "-" is standard input."""
    refuse_url(source)
    if source is not None and str(source) != "-":
        os.stat(source)


def refuse_url(source: Any) -> None:
    """Refuse an address, which the system would only call absent."""
    if re.match(r"[a-z0-9]{2,}:/", str(source)):
        raise TableError(f"{str(source)!r} is a URL; download it and give the name of the file.")


def refuse_existing(output: str | Path) -> None:
    """Refuse to replace a file; devices and pipes are written to."""
    if str(output) != "-" and os.path.isfile(output):
        raise TableError(
            f"{str(output)!r} exists; add --force to overwrite it, or give another file name."
        )


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before any work is done."""
    folder = path.parent
    if path.is_dir():
        raise TableError(f"{str(path)!r} is a folder; give a file name.")
    if not folder.is_dir():
        raise TableError(f"Cannot write {str(path)!r}: there is no folder {str(folder)!r}.")
    if path.exists() and is_read_only(path):
        raise TableError(f"Cannot write {str(path)!r}: it is read-only; give another file name.")
    if is_read_only(folder):
        raise TableError(f"Cannot write {str(path)!r}: its folder is read-only.")


def check_output(path: Path, suffixes: Sequence[str], *inputs: Any) -> None:
    """Refuse an output with another suffix, an input file, and a path that cannot be written."""
    is_device = path.exists() and not path.is_file() and not path.is_dir()
    if path.suffix not in suffixes and not is_device and not path.is_dir():
        raise TableError(
            f"{str(path)!r} does not end in {suffixes[0]}; name it {path.stem + suffixes[0]!r}."
        )
    refuse_input(path, *inputs)
    check_writable(path)


def refuse_input(output: str | Path, *inputs: Any) -> None:
    """Refuse to overwrite an input file, under any of its names."""
    for source in inputs:
        if not isinstance(source, str | Path) or "-" in (str(source), str(output)):
            continue
        if Path(source).is_file() and os.path.exists(output) and os.path.samefile(source, output):
            raise TableError(
                f"{str(output)!r} would overwrite the input file; give another file name."
            )


def is_read_only(path: Path) -> bool:
    """Whether a file or folder is write-protected, even if this user could write it."""
    return not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK))
