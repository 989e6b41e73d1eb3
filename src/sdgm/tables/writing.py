"""Predictions written in chunks to a file that appears when it is complete, and output checks."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sdgm.atomic import replacing
from sdgm.tables.errors import TableError, polars
from sdgm.tables.reading import known_suffix

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
Write = Callable[[Any], None]


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before any work is done."""
    folder = path.parent
    if path.is_dir():
        raise TableError(f"{str(path)!r} is a folder; name a file to write.")
    if not folder.is_dir():
        raise TableError(f"Cannot write {str(path)!r}: there is no folder {str(folder)!r}.")
    if path.exists() and is_read_only(path):
        raise TableError(f"Cannot write {str(path)!r}: it is read-only; name another file.")
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
                f"{str(output)!r} would overwrite the input file; name another file to write."
            )


def is_read_only(path: Path) -> bool:
    """Whether a file or folder is write-protected, even if this user could write it."""
    return not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK))


def output_suffix(output: str | Path) -> str:
    """The suffix of a file of predictions; .csv for standard output and devices."""
    suffix = known_suffix(output, SUFFIXES)
    if suffix is not None:
        return suffix
    if str(output) == "-" or (Path(output).exists() and not Path(output).is_file()):
        return ".csv"
    raise TableError(
        f"Predictions are written as {', '.join(SUFFIXES)}, and {str(output)!r} ends in none."
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
