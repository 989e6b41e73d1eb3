"""A document and named arrays as one safetensors file.

The document is canonical JSON under the key "sdgm" of the metadata. A checksum of it and of the
arrays, itself the array "sha256", finds damage, not malice: all that a file says is checked as
well. The safetensors library checks that the arrays lie one behind the other and fill the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec
import numpy as np
import safetensors.numpy

from sdgm.persistence.arrays import Array
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.versions import newer_format

# raised with the major version at the earliest, when older versions must not read new files:
# docs/files.md
FORMAT = 1
CHECKSUM = "sha256"
# bytes in front of the header that say how long it is
PREFIX = 8
# bytes of the header and of the file: models are far smaller, and a hostile file takes no more
# memory than this; docs/files.md has both
MAX_HEADER, MAX_FILE = 8 << 20, 1 << 30
# arrays in one file; a header could name a hundred thousand that are empty
MAX_ARRAYS = 1000
# values in one document: each takes up to about 70 bytes, against 3 in the text
MAX_VALUES = 500_000
# digits of the largest unsigned 64-bit number
MAX_DIGITS = 20
REMEDY = "create one with sdgm fit or sdgm.save"
DAMAGED = "is damaged: {}; copy it again from its source, or save the model again"


class Metadata(msgspec.Struct, forbid_unknown_fields=True):
    """Texts in the header of a file: the document, and no other, since they have no order."""

    sdgm: str


class Header(msgspec.Struct):
    """The header of a file; its other entries are for safetensors."""

    metadata: Metadata = msgspec.field(name="__metadata__")


# --- the document as JSON ---


def canonical(document: Any) -> str:
    r"""The one text of a document: sorted keys, no spaces, ASCII only.

    Not msgspec's, which refuses the lone surrogates that names of columns may contain.

    Examples
    --------
    >>> canonical({"b": 0.1, "a": [None, True, "ä"]})
    '{"a":[null,true,"\\u00e4"],"b":0.1}'
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parsed(text: str) -> Any:
    """The document of a canonical text: no key twice, all numbers finite and of 64 bits or so.

    Examples
    --------
    >>> parsed('{"a":[1,2.5]}')
    {'a': [1, 2.5]}
    """
    # no fewer than the values: commas and brackets inside strings count too
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise InvalidModelFile(f"is invalid: its header has more than {MAX_VALUES} values")
    try:
        document = json.loads(text, parse_int=lambda digits: int(digits[:MAX_DIGITS]))
        is_canonical = canonical(document) == text
    except (ValueError, RecursionError) as error:
        raise InvalidModelFile(DAMAGED.format("its description is not valid JSON")) from error
    if not is_canonical:
        raise InvalidModelFile(DAMAGED.format("its description is not as sdgm writes it"))
    return document


# --- files ---


def packed(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a file; the same for the same contents."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = canonical(document)
    contiguous[CHECKSUM] = np.frombuffer(checksum(text, contiguous), dtype=np.uint8)
    return safetensors.numpy.save(contiguous, metadata={"sdgm": text})


def checksum(text: str, arrays: Mapping[str, Array]) -> bytes:
    """SHA-256 of a document and of the names, types, shapes and values of arrays."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.name} {list(array.shape)}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.digest()


def unpacked(stream: BinaryIO, size: int) -> tuple[Any, dict[str, Array]]:
    """Document and arrays of a file of this size in bytes, if the checksum agrees."""
    text = read_text(stream, size)
    document = parsed(text)
    check_format(document)
    stream.seek(0)
    try:
        arrays = safetensors.numpy.load(stream.read(MAX_FILE))
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        reason = ascii(str(error))[1:-1].rpartition(": ")[2]
        raise InvalidModelFile(DAMAGED.format(f"{reason:.200}")) from error
    expected = arrays.pop(CHECKSUM, np.zeros(0)).tobytes()
    if checksum(text, arrays) != expected:
        raise InvalidModelFile(DAMAGED.format("its checksum does not match"))
    for name, array in arrays.items():
        if array.dtype == bool and array.view(np.uint8).max(initial=0) > 1:
            raise InvalidModelFile(f"is invalid: array {name!r:.60} is not of true and false")
    # in memory of their own, that can be written to
    return document, {name: array.copy() for name, array in arrays.items()}


def read_text(stream: BinaryIO, size: int) -> str:
    """The text of the document in a file of this size in bytes."""
    if size == 0:
        raise InvalidModelFile("is empty")
    if size > MAX_FILE:
        raise InvalidModelFile(f"has {size} bytes, and model files have {MAX_FILE} at most")
    length = int.from_bytes(stream.read(PREFIX), "little")
    if size < PREFIX or length < 2 or stream.read(1) != b"{":
        raise InvalidModelFile(f"is not a model file of sdgm; {REMEDY}")
    if length > min(MAX_HEADER, size - PREFIX):
        raise InvalidModelFile(DAMAGED.format("its header is longer than it can be"))
    header = b"{" + stream.read(length - 1)
    if header.count(b"data_offsets") > MAX_ARRAYS:
        raise InvalidModelFile(f"is invalid: it has more than {MAX_ARRAYS} arrays")
    try:
        return msgspec.json.decode(header, type=Header).metadata.sdgm
    except msgspec.ValidationError as error:
        problem = f"holds arrays but no sdgm model; {REMEDY}"
        raise InvalidModelFile(problem) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidModelFile(DAMAGED.format("its header is not valid JSON")) from error


def check_format(document: Any) -> None:
    """Refuse documents of a newer format, or of none."""
    version = document.get("format") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise InvalidModelFile(DAMAGED.format("it has no format version"))
    if version > FORMAT:
        raise newer_format(document, version, FORMAT)
