"""Predictions written in chunks to a file that appears when it is complete."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sdgm.atomic import replacing
from sdgm.tables.errors import TableError, polars
from sdgm.tables.paths import check_writable
from sdgm.tables.reading import known_suffix

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
Write = Callable[[Any], None]


def output_suffix(output: str | Path) -> str:
    """The suffix of a file of predictions; .csv for standard output and devices."""
    suffix = known_suffix(output, SUFFIXES)
    if suffix is not None:
        return suffix
    if str(output) == "-" or (Path(output).exists() and not Path(output).is_file()):
        return ".csv"
    raise TableError(
        f"{str(output)!r} ends in none of {', '.join(SUFFIXES)}; give it one of these suffixes."
    )


@contextmanager
def frame_writer(output: str | Path) -> Iterator[Write]:
    """A function that appends frames with equal columns."""
    suffix = output_suffix(output)
    if str(output) == "-":
        yield text_writer(sys.stdout.buffer, suffix)
        sys.stdout.buffer.flush()
        return
    check_writable(Path(output))
    with replacing(output) as file:
        if suffix == ".parquet":
            with parquet_writer(file) as write:
                yield write
        elif suffix.endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, compresslevel=6) as packed:
                yield text_writer(packed, suffix)
        else:
            yield text_writer(file, suffix)


def text_writer(file: Any, suffix: str) -> Write:
    """Frames as delimited text, with one header."""
    separator = "\t" if suffix.startswith(".tsv") else ","
    is_first = True

    def write(frame: Any) -> None:
        nonlocal is_first
        frame.write_csv(file, separator=separator, include_header=is_first)
        is_first = False

    return write


@contextmanager
def parquet_writer(file: Any) -> Iterator[Write]:
    """Frames as one Parquet file, concatenated from one file per frame."""
    pl = polars()
    with TemporaryDirectory(prefix=".sdgm-", dir=Path(file.name).parent) as folder:
        parts: list[Path] = []

        def write(frame: Any) -> None:
            parts.append(Path(folder, f"{len(parts)}.parquet"))
            frame.write_parquet(parts[-1])

        yield write
        pl.scan_parquet(parts, glob=False).sink_parquet(file.name, maintain_order=True)
