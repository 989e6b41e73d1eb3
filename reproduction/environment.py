"""What a result was computed with: date, versions, processor."""

from __future__ import annotations

import hashlib
import os
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import sdgm

# what computes results: the library, and the experiments beside it
SOURCES = ("sdgm/core", "sdgm/estimators", "sdgm/scale", "sdgm/metrics.py", "sdgm/datasets")
PACKAGES = ("sdgm", "numpy", "scipy", "scikit-learn")


@cache
def code_version() -> str:
    """A mark of all that computes a cell: the sources, and the libraries below them.

    Examples
    --------
    >>> len(code_version())
    12
    """
    mark = hashlib.sha256(" ".join(map(version, PACKAGES[1:])).encode())
    library = Path(sdgm.__file__).parents[1]
    paths = [library / source for source in SOURCES] + [Path(__file__).parent]
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            mark.update(file.read_bytes())
    return mark.hexdigest()[:12]


def environment() -> str:
    """One line for the head of a page of results.

    Examples
    --------
    >>> environment()
    '2..., Python 3..., sdgm ..., numpy ..., scipy ..., scikit-learn ..., ... cores'
    """
    return f"{datetime.now(UTC).date()}, {machine()}"


def machine() -> str:
    """Versions, system and cores: what a record is kept with."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"Python {platform.python_version()}, {versions}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores"
    )
