"""Where data files are looked for, and what is said when they are missing or damaged."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path


class MissingDataError(FileNotFoundError):
    """A data file is not where it is looked for.

    Parameters
    ----------
    file, folder : str, Path
        Path of the file below the data folder, and this folder.
    where_to_get : str
        What to fetch, and from where.
    put_in : str or None
        Where to put what was fetched, below the data folder; by default where the file would be.

    Examples
    --------
    >>> print(MissingDataError("a/b.npz", "b.npz from https://example.org", Path("data")))
    a/b.npz is not in the data folder data: get b.npz from https://example.org and put it in
    data...a, or set the environment variable SDGM_DATA to the folder that has it.
    """

    def __init__(
        self, file: str, where_to_get: str, folder: Path, put_in: str | None = None
    ) -> None:
        place = (folder / file).parent if put_in is None else folder / put_in
        super().__init__(
            f"{file} is not in the data folder {folder}: get {where_to_get} and put it in "
            f"{place}, or set the environment variable SDGM_DATA to the folder that has it."
        )


class DamagedDataError(ValueError):
    """A data file, or several with one checksum, is not the one it should be.

    Examples
    --------
    >>> print(DamagedDataError(Path("b.npz")))
    b.npz is damaged or another version (its checksum is not the expected one); delete it and
    download it again.
    """

    def __init__(self, *paths: Path) -> None:
        super().__init__(
            f"{' or '.join(map(str, paths))} is damaged or another version (its checksum is not "
            "the expected one); delete it and download it again."
        )


def data_folder() -> Path:
    """The folder that data files are looked for in.

    ``$SDGM_DATA`` if it is set, else a folder of the user's own: below ``%LOCALAPPDATA%`` on
    Windows, below ``$XDG_DATA_HOME`` or ``~/.local/share`` elsewhere. It need not exist.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", SDGM_DATA="my-data"):
    ...     print(data_folder())
    my-data
    """
    named = os.environ.get("SDGM_DATA")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        base, default = os.environ.get("LOCALAPPDATA"), Path.home() / "AppData" / "Local"
    else:
        base, default = os.environ.get("XDG_DATA_HOME"), Path.home() / ".local" / "share"
    return (Path(base) if base else default) / "sdgm"


def read_verified(path: Path, sha256: str) -> bytes:
    """The bytes of a file, after their checksum was found right."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DamagedDataError(path)
    return content
