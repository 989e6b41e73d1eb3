"""Files of data sets: what is in them, after their checksums were found right."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from sdgm.datasets import DamagedDataError


def verified_content(path: Path, sha256: str) -> bytes:
    """What is in a file, unpacked if it is a .gz; the checksum is of what is inside."""
    content = path.read_bytes()
    try:
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DamagedDataError(path) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DamagedDataError(path)
    return content
