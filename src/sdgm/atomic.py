"""Atomic writes: files are written completely or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any


@contextmanager
def replacing(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[Any]:
    """A file to write to, which replaces the old one when all went well.

    It is written beside the old one, synchronised to disk, and then renamed: after an interrupt or
    a loss of power, one of the two is there, complete. It has the permissions of the old one. A
    link stays a link, and the file that it points to is replaced. Devices and pipes are written to
    directly.

    With ``text`` it is UTF-8 text with line ends unchanged, instead of bytes. Errors are the
    system's, with the name of ``path``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "note.txt")
    ...     with replacing(path) as file:
    ...         n_written = file.write(b"whole")
    ...         there = path.exists()
    ...     path.read_bytes(), there
    (b'whole', False)
    """
    target = Path(os.path.realpath(path))
    how: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if text else {}
    # a short name, since that of the target may have the greatest length
    temporary = target.with_name(f".sdgm-{token_hex(8)}")
    try:
        if is_direct(target):
            with open(target, "w" if text else "wb", **how) as file:
                yield file
            return
        try:
            # with the permissions that the user's mask leaves, or those of the old file
            with open(temporary, "x" if text else "xb", **how) as file:
                if target.exists():
                    os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:  # an interrupt too
            with suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(target.parent)
    except OSError as error:
        ours = error.filename is None or str(error.filename) in (str(temporary), str(target))
        if error.errno is None or not ours:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def checked_path(path: str | os.PathLike[str]) -> Path:
    """A path to write to, refused if it is a folder or in none."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
    return path


def is_direct(target: Path) -> bool:
    """Whether a path is written to directly, because it is not a regular file."""
    return target.exists() and not stat.S_ISREG(target.stat().st_mode)


def sync_folder(folder: Path) -> None:
    """Synchronise a folder, so that a rename survives a loss of power, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
