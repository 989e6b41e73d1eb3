"""What a result was computed with: date, versions, processor."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

PACKAGES = ("sdgm", "numpy", "scipy", "scikit-learn")


def environment() -> str:
    """One line for the head of a page of results.

    Examples
    --------
    >>> environment()
    '2..., Python 3..., sdgm ..., numpy ..., scipy ..., scikit-learn ..., ... cores'
    """
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{datetime.now(UTC).date()}, Python {platform.python_version()}, {versions}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )
