"""Model files made wrong in many ways, with and without a checksum that matches."""

from __future__ import annotations

import copy
import io
import json
import random
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from sdgm.persistence.codec import read, to_bytes
from sdgm.persistence.container import packed, unpacked
from sdgm.persistence.errors import InvalidModelFile
from tests.persistence.models import classifier_of, fitted, outputs, rows_of

CENTER = "classifier/model/scaler/center"
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 3, 7, 255, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**25),
    *(0.0, -0.0, 0.5, 1e-320, 1e70, 1e308, -1e308),
]
VALUES: list[Any] = [
    *NUMBERS,
    *(None, True, False, "", "x", "nan", "auto", "precomputed", "rbf", "averaged", "paper"),
    *("SDGMClassifier", "TableModel", "__import__('os').system('true')", "../../etc/passwd"),
    *([], [1], [[1, 2], [3]], {}, {"a": 1}, {"float": "nan"}, {"float": "inf"}, {"tuple": [1, 2]}),
    *({"dict": [[1, 2]]}, {"dict": [[[1], 2]]}, {"array": CENTER}, {"array": "w" * 100}),
    *("\u0000", "\ud800", "y" * 5000, [0.5] * 500),
]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-320, 1e-200, 1e70, 1e200, 1e308, -1e308]
INTEGERS = [-(2**63), -2, -1, 0, 1, 2, 5, 1000, 2**31, 2**53, 2**63 - 1]
TYPES = ["F64", "F32", "F16", "BF16", "F8_E4M3", "I64", "I32", "U64", "U8", "BOOL", "C64", "", "x"]
DTYPES = ["float64", "float32", "int64", "int32", "uint8", "bool", "uint64"]
TEXTS = [
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "[" * 5000,
        '{"a":' * 5000,
        "1" * 5000,
        "-",
        '"\\x"',
    ),
    *('{"a":1,"a":2}', "[1,]", "1.0e0", " 1", "true ", '"\\ud800"', "9" * 21),
]


def taken_apart(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Document and arrays of a valid file."""
    return unpacked(io.BytesIO(content), len(content))


def raw(header: Any, payload: bytes, length: int | None = None) -> bytes:
    """A file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + payload


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and the rest."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


class Mutations:
    """Endless wrong files made from a valid one."""

    def __init__(self, content: bytes, seed: int) -> None:
        self.content = content
        self.document, self.arrays = taken_apart(content)
        self.random = random.Random(seed)

    def __iter__(self) -> Iterator[bytes]:
        ways = [
            self.truncated,
            self.flipped,
            self.spliced,
            self.other_header,
            self.other_text,
            *[self.other_document] * 4,
            *[self.other_arrays] * 4,
            self.other_both,
        ]
        while True:
            try:
                yield self.random.choice(ways)()
            except (ValueError, OverflowError, TypeError, UnicodeError, InvalidModelFile):
                continue  # nothing that could be written

    def truncated(self) -> bytes:
        return self.content[: self.random.randrange(len(self.content))]

    def flipped(self) -> bytes:
        content = bytearray(self.content)
        for _ in range(self.random.choice([1, 1, 2, 8])):
            content[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
        return bytes(content)

    def spliced(self) -> bytes:
        start = self.random.randrange(len(self.content))
        end = start + self.random.randrange(20)
        new = self.random.randbytes(self.random.randrange(20))
        return self.content[:start] + new + self.content[end:]

    def other_header(self) -> bytes:
        """Shapes, types and places that are not those of the arrays."""
        header, payload = split(self.content)
        name = self.random.choice([name for name in header if name != "__metadata__"])
        entry = header[name]
        match self.random.randrange(7):
            case 0:
                entry["dtype"] = self.random.choice([*TYPES, *VALUES])
            case 1:
                entry["shape"] = self.random.choice([[2**40, 2**40], [2**62], [-1], [0], *VALUES])
            case 2:
                entry["data_offsets"][self.random.randrange(2)] = self.random.choice(VALUES)
            case 3:
                header[name] = self.value()
            case 4:
                del header[name]
            case 5:
                header[self.random.choice(["w", "__metadata__", "../x", "\0"])] = entry
            case 6:
                n_bytes = len(json.dumps(header))
                lengths = [0, 1, 2, n_bytes - 1, n_bytes + 1, 2**24, 2**40, 2**63, 2**64 - 1]
                return raw(header, payload, self.random.choice(lengths))
        return raw(header, payload)

    def other_text(self) -> bytes:
        """The document spelled in a way that is not JSON, or not ours."""
        header, payload = split(self.content)
        text = header["__metadata__"]["sdgm"]
        start = self.random.choice([i for i, c in enumerate(text) if c in ":,["]) + 1
        end = start + self.random.randrange(30)
        text = text[:start] + self.random.choice(TEXTS) + text[end:]
        if self.random.random() < 0.5:
            header["__metadata__"]["sdgm"] = text
            return raw(header, payload)
        return raw(b'{"__metadata__":{"sdgm":"a"},"x":' + text.encode(), payload)

    def other_document(self) -> bytes:
        return packed(self.changed_document(), self.arrays)

    def other_arrays(self) -> bytes:
        return packed(self.document, self.changed_arrays())

    def other_both(self) -> bytes:
        return packed(self.changed_document(), self.changed_arrays())

    def value(self) -> Any:
        """Something that the document may not expect."""
        return copy.deepcopy(self.random.choice(VALUES))

    def changed_document(self) -> dict[str, Any]:
        """The document with a value replaced, removed, added or moved."""
        document = copy.deepcopy(self.document)
        for _ in range(self.random.choice([1, 1, 1, 2, 4])):
            node, key = self.random.choice(list(places(document)))
            match self.random.randrange(6):
                case 0:
                    del node[key]
                case 1 if isinstance(node, dict):
                    node[self.random.choice(["extra", "kind", "__class__", ""])] = node[key]
                case 2 if isinstance(node, list):
                    node.append(node[key])
                case 3 if isinstance(node[key], str | list):
                    node[key] = node[key] * self.random.choice([2, 50])
                case 4:
                    other, other_key = self.random.choice(list(places(document)))
                    node[key] = copy.deepcopy(other[other_key])
                case _:
                    node[key] = self.value()
        return document

    def changed_arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Arrays with other numbers, types, shapes or names."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        for _ in range(self.random.choice([1, 1, 1, 2])):
            name = self.random.choice(list(arrays))
            array = arrays[name]
            match self.random.randrange(8):
                case 0:
                    del arrays[name]
                case 1:
                    arrays[self.random.choice(["w", "table/story/x", "../x", name + "x"])] = array
                case 2:
                    with np.errstate(all="ignore"):
                        arrays[name] = array.astype(self.random.choice(DTYPES))
                case 3:
                    arrays[name] = np.concatenate([array, array], axis=0)
                case 4:
                    arrays[name] = array[: self.random.randrange(len(array) + 1)]
                case 5:
                    arrays[name] = array.reshape(self.random.choice([(-1,), (1, -1), (-1, 1)]))
                case _ if array.size:
                    pool = FLOATS if array.dtype.kind == "f" else INTEGERS
                    for _ in range(self.random.choice([1, 1, 3, array.size])):
                        with np.errstate(all="ignore"):
                            value = np.array(self.random.choice(pool)).astype(array.dtype)
                        array.flat[self.random.randrange(array.size)] = value
        return arrays


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a document with every key of it."""
    items = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
    for key, value in items:
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


class Hang(BaseException):
    """A file took too long."""


def _hang(*_: object) -> None:
    raise Hang


def try_files(kind: str, n_files: int, seed: int, seconds: float = 1.0) -> dict[str, int]:
    """Try to load wrong files: each is refused, or gives a model that predicts.

    The time is that of the processor, so that a busy machine does not count.
    """
    content = to_bytes(fitted(kind))
    counts = {"refused": 0, "loaded": 0}
    signal.signal(signal.SIGVTALRM, _hang)
    for _, mutated in zip(range(n_files), Mutations(content, seed), strict=False):
        problem = ""
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            use(read(io.BytesIO(mutated), len(mutated)))
        except InvalidModelFile as error:
            problem = str(error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        counts["refused" if problem else "loaded"] += 1
        assert len(problem) < 1000
        assert problem.isprintable()
    return counts


def use(model: Any) -> None:
    """Predict, and do what else one does with a model."""
    X = rows_of(model, 5)
    classifier = classifier_of(model)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in outputs(classifier):
            assert len(getattr(classifier, method)(X)) == len(X)
        if getattr(classifier, "covariance_", None) is not None:
            assert len(classifier.predict_proba_averaged(X)) == len(X)
    repr(model)


def limit_memory(n_bytes: int) -> None:
    """Let this process have so many bytes more than it has now."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, resource.RLIM_INFINITY))


def main(kind: str, n_files: int, seed: int) -> None:
    """Try files with no more than 64 MB of memory beyond what a valid file takes."""
    content = to_bytes(fitted(kind))
    use(read(io.BytesIO(content), len(content)))
    limit_memory(64 << 20)
    print(json.dumps(try_files(kind, n_files, seed)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
