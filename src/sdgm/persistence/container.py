"""A document and named arrays as one safetensors file.

The document is canonical JSON under the one key "sdgm" of the metadata. With the arrays it is under
a checksum, which finds damage, not malice: all that a file says is checked against a schema too.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from sdgm.persistence.errors import Unsound
from sdgm.persistence.strict_json import canonical, parsed

Array = np.ndarray[Any, Any]

# raised when files can no longer be read by the library as it was
FORMAT = 1
KEY = "sdgm"
# bytes in front of the header that say how long it is
PREFIX = 8
MAX_HEADER = 8 << 20
MAX_FILE = 1 << 30
# read at once when the checksum is computed
PIECE = 1 << 20
# names of types in safetensors
TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
REMEDY = "make one with sdgm fit, or sdgm.save"
DAMAGED = "is damaged: {}; copy it once more from where it came, or save the model again"


@dataclass(frozen=True)
class Entry:
    """Where an array is, in bytes after the header, and what it is."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """What a file says of itself."""

    document: dict[str, Any]
    entries: dict[str, Entry]
    n_bytes: int  # in front of the arrays


def safetensors() -> Any:
    """The package, or a sentence on how to get it."""
    try:
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'model files need safetensors, which is not installed: pip install "sdgm[io]"',
            name=error.name,
        ) from error
    return safetensors


def packed(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a file; the same for the same contents."""
    # as they lie in the file
    plain = {
        name: np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        for name, array in arrays.items()
    }
    checksum = hashlib.sha256(canonical(document).encode())
    for name in sorted(plain):
        checksum.update(_title(name, plain[name].dtype, plain[name].shape))
        checksum.update(plain[name].tobytes())
    text = canonical({**document, "checksum": checksum.hexdigest()})
    return bytes(safetensors().numpy.save(plain, metadata={KEY: text}))


def _title(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """What stands for an array in the checksum, in front of its numbers."""
    return f"\n{name} {dtype.name} {list(shape)}\n".encode()


def read_header(stream: BinaryIO, size: int) -> Header:
    """The header of a file of so many bytes, with everything in it accounted for."""
    if size == 0:
        raise Unsound("is empty")
    if size > MAX_FILE:
        raise Unsound(f"has {size} bytes, and model files have {MAX_FILE} at most")
    length = int.from_bytes(stream.read(PREFIX), "little")
    if size < PREFIX or length < 2 or stream.read(1) != b"{":
        raise Unsound(f"is not a model file of sdgm; {REMEDY}")
    if length > min(MAX_HEADER, size - PREFIX):
        raise Unsound(DAMAGED.format("its header is longer than it can be"))
    try:
        raw = parsed("{" + stream.read(length - 1).decode("ascii"))
    except UnicodeDecodeError:
        raise Unsound(DAMAGED.format("its header is not plain text")) from None
    metadata = raw.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise Unsound(f"holds arrays of something else, no model of sdgm; {REMEDY}")
    document = parsed(metadata[KEY])
    _check_format(document)
    if canonical(document) != metadata[KEY] or len(metadata) > 1:
        raise Unsound(DAMAGED.format("its description is not as sdgm writes it"))
    entries = {name: _entry(name, value) for name, value in raw.items()}
    _check_extents(entries, size - PREFIX - length)
    return Header(document, entries, PREFIX + length)


def _check_format(document: Any) -> None:
    version = document.get("format") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise Unsound(DAMAGED.format("it has no format version"))
    if version > FORMAT:
        raise Unsound(
            f"was written by a newer format {version}; this sdgm reads {FORMAT}; update sdgm"
        )


def _entry(name: str, value: Any) -> Entry:
    """An array as the header describes it."""
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise Unsound(DAMAGED.format(f"array {name!r:.60} has no type, shape and place"))
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in TYPES:
        raise Unsound(f"is not sound: array {name!r:.60} has type {dtype!r:.20}")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(n) is not int or n < 0 for n in numbers):
            raise Unsound(DAMAGED.format(f"array {name!r:.60} has no shape and place"))
    if len(offsets) != 2 or len(shape) > 8:
        raise Unsound(DAMAGED.format(f"array {name!r:.60} has no shape and place"))
    if math.prod(shape) * TYPES[dtype].itemsize != offsets[1] - offsets[0]:
        raise Unsound(DAMAGED.format(f"array {name!r:.60} has a shape that is not its size"))
    return Entry(TYPES[dtype], tuple(shape), *offsets)


def _check_extents(entries: Mapping[str, Entry], n_bytes: int) -> None:
    """Whether the arrays lie one behind the other and fill the rest of the file."""
    end = 0
    for begin, entry_end in sorted((entry.begin, entry.end) for entry in entries.values()):
        if begin != end:
            raise Unsound(DAMAGED.format("its arrays overlap or leave gaps"))
        end = entry_end
    if end != n_bytes:
        missing = "cut short" if end > n_bytes else "longer than it says"
        raise Unsound(DAMAGED.format(f"it is {missing}"))


def check_checksum(stream: BinaryIO, header: Header) -> None:
    """Whether all bytes are as they were written; reads them piece by piece."""
    document = dict(header.document)
    expected = document.pop("checksum", None)
    checksum = hashlib.sha256(canonical(document).encode())
    for name in sorted(header.entries):
        entry = header.entries[name]
        checksum.update(_title(name, entry.dtype, entry.shape))
        stream.seek(header.n_bytes + entry.begin)
        remaining = entry.end - entry.begin
        while remaining:
            piece = stream.read(min(PIECE, remaining))
            if not piece:
                raise Unsound(DAMAGED.format("it is cut short"))
            checksum.update(piece)
            remaining -= len(piece)
    if checksum.hexdigest() != expected:
        raise Unsound(DAMAGED.format("its checksum does not match"))


def read_arrays(stream: BinaryIO, header: Header) -> dict[str, Array]:
    """The arrays of a file whose header was checked."""
    package = safetensors()
    stream.seek(0)
    try:
        tensors = dict(package.deserialize(stream.read(MAX_FILE)))
    except package.SafetensorError as error:
        raise Unsound(DAMAGED.format("its arrays cannot be read")) from error
    arrays = {}
    for name, entry in header.entries.items():
        tensor = tensors.get(name)
        if tensor is None or tuple(tensor["shape"]) != entry.shape:
            raise Unsound(DAMAGED.format(f"array {name!r:.60} is not as it says"))
        data = tensor["data"]
        if entry.dtype == bool and max(data, default=0) > 1:
            raise Unsound(f"is not sound: array {name!r:.60} holds more than true and false")
        array = np.frombuffer(data, dtype=entry.dtype).reshape(entry.shape)
        # its own memory, aligned, that can be written to
        arrays[name] = array.astype(entry.dtype.newbyteorder("="))
    return arrays
