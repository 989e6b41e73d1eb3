"""Python values in JSON and back: parameters, numbers that are not finite, labels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from sdgm.persistence.errors import Unsound

Array = np.ndarray[Any, Any]
T = TypeVar("T")

# lists inside lists, beyond which something is wrong
MAX_DEPTH = 8
# counts have up to 63 bits, other whole numbers 64
LARGEST_INTEGER = 1 << 63
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
NUMBERS = (
    *("bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"),
)
# the widest text type that is kept though no label needs it, in characters
WIDEST = 1024
# bytes of an array of text, in which every entry is as wide as the widest; beyond, objects
MAX_TEXT_BYTES = 32 << 20


# --- any value ---


def encoded(value: Any, what: str, depth: int = 0) -> Any:
    """A value as JSON; tuples, dicts and numbers that are not finite are marked.

    Examples
    --------
    >>> encoded({1: (2, float("inf"))}, "n_components")
    {'dict': [[1, {'tuple': [2, {'float': 'inf'}]}]]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) < 2 * LARGEST_INTEGER:
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if depth < MAX_DEPTH:
        if isinstance(value, list):
            return [encoded(each, what, depth + 1) for each in value]
        if isinstance(value, tuple):
            return {"tuple": [encoded(each, what, depth + 1) for each in value]}
        if isinstance(value, dict):
            keys = [encoded(key, what, MAX_DEPTH) for key in value]
            values = [encoded(each, what, depth + 1) for each in value.values()]
            return {"dict": [list(pair) for pair in zip(keys, values, strict=True)]}
    kind = "a function" if callable(value) else f"of type {type(value).__name__}"
    raise ValueError(
        f"{what} is {kind}, which a model file does not hold; before saving, use set_params to "
        "give a number, text, or a list or mapping of them."
    )


def decoded(value: Any) -> Any:
    """The value of JSON made by `encoded`.

    Examples
    --------
    >>> decoded({"dict": [[1, {"tuple": [2, {"float": "inf"}]}]]})
    {1: (2, inf)}
    """
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"float": str(name), **rest} if name in NOT_FINITE and not rest:
            return NOT_FINITE[name]
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decoded(each) for each in items)
        case {"dict": list(items), **rest} if not rest:
            result = {}
            for pair in items:
                if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], list | dict):
                    raise Unsound("is not sound: a mapping in it is no mapping")
                result[pair[0]] = decoded(pair[1])
            return result
    raise Unsound(f"is not sound: it holds a value of no known kind, {value!r:.60}")


# --- the entries of an object ---


class Fields:
    """The entries of a JSON object, each asked for once, by type.

    Examples
    --------
    >>> fields = Fields({"name": "age", "missing": 3}, "a column")
    >>> fields.text("name"), fields.whole("missing")
    ('age', 3)
    >>> fields.done()
    """

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, dict):
            raise Unsound(f"is not sound: {what} is not described")
        self.left = dict(value)
        self.what = what

    def take(self, name: str, wanted: str, is_right: Callable[[Any], bool]) -> Any:
        """An entry, if it is what is wanted."""
        if name not in self.left:
            raise Unsound(f"is not sound: {self.what} has no {name!r}")
        value = self.left.pop(name)
        if not is_right(value):
            raise Unsound(
                f"is not sound: {name!r} of {self.what} is {value!r:.60}, which is not {wanted}"
            )
        return value

    def text(self, name: str) -> str:
        return self.take(name, "text", lambda value: isinstance(value, str))

    def boolean(self, name: str) -> bool:
        return self.take(name, "true or false", lambda value: isinstance(value, bool))

    def whole(self, name: str) -> int:
        return self.take(
            name,
            "a whole number that is not negative",
            lambda value: type(value) is int and 0 <= value < LARGEST_INTEGER,
        )

    def number(self, name: str) -> float:
        """A float, perhaps NaN or infinite."""
        value = decoded(self.take(name, "a number", lambda value: True))
        if type(value) is not float:
            raise Unsound(f"is not sound: {name!r} of {self.what} is {value!r:.60}, not a number")
        return value

    def object(self, name: str) -> dict[str, Any]:
        return self.take(name, "an object", lambda value: isinstance(value, dict))

    def items(self, name: str) -> Sequence[Any]:
        return self.take(name, "a list", lambda value: isinstance(value, list))

    def texts(self, name: str) -> Sequence[str]:
        return self.take(name, "a list of texts", is_texts)

    def optional(self, name: str, read: Callable[[str], T]) -> T | None:
        """An entry that may be null."""
        if name in self.left and self.left[name] is None:
            return self.take(name, "null", lambda value: value is None)
        return read(name)

    def done(self) -> None:
        """Refuse entries that nobody asked for."""
        for name in self.left:
            raise Unsound(f"is not sound: {self.what} has {name!r:.60}, which no such model has")


def is_texts(value: Any) -> bool:
    """Whether it is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


# --- labels ---


def encoded_labels(labels: Array) -> dict[str, Any]:
    """Labels and their type as JSON.

    Examples
    --------
    >>> encoded_labels(np.array(["no", "yes"]))
    {'dtype': 'U3', 'values': ['no', 'yes']}
    """
    dtype = labels.dtype
    values = labels.tolist()
    if dtype.kind == "U":
        width = dtype.itemsize // 4
        return {"dtype": f"U{width}" if 0 < width <= WIDEST else "U", "values": values}
    if dtype.kind == "O":
        if all(isinstance(value, str | bool | int | float) for value in values):
            return {"dtype": "object", "values": [encoded(value, "a label") for value in values]}
    elif dtype.name in NUMBERS:
        return {"dtype": dtype.name, "values": values}
    raise ValueError(
        f"labels of type {dtype}, such as {values[0]!r:.60}, are nothing that a model file holds; "
        "fit with labels that are numbers, booleans or text."
    )


def decoded_labels(value: Any, what: str) -> Array:
    """The labels of JSON made by `encoded_labels`."""
    fields = Fields(value, what)
    name, values = fields.text("dtype"), fields.items("values")
    fields.done()
    if name == "object":
        if all(isinstance(each, str | bool | int | float) for each in values):
            return object_array(values)
    elif re.fullmatch(r"U\d{0,4}", name, re.ASCII):
        if is_texts(values):
            return text_array(values, int(name[1:] or 0))
    elif name in NUMBERS:
        dtype: np.dtype[Any] = np.dtype(name)
        kinds: dict[str, type[Any]] = {"b": bool, "i": int, "u": int, "f": float}
        least, most = number_limits(dtype)
        if all(type(each) is kinds[dtype.kind] and least <= each <= most for each in values):
            return np.array(values, dtype=dtype)
    raise Unsound(f"is not sound: {what} are not of type {name!r:.20}")


def number_limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and the largest number of a type."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def object_array(values: Sequence[Any]) -> Array:
    """A list as an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def text_array(values: Sequence[str], width: int) -> Array:
    """Texts in an array of text of at least this width, or as objects where it would be huge."""
    width = max(min(width, WIDEST), max(map(len, values), default=0), 1)
    if 4 * width * len(values) > MAX_TEXT_BYTES:
        return object_array(values)
    return np.array(values, dtype=f"U{width}")
