"""Records, values of parameters and arrays as JSON and named arrays, and back."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from sdgm.persistence.errors import InvalidModelFile

Arrays = dict[str, Any]

# lists inside lists, beyond which something is wrong
MAX_DEPTH = 10
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# an object with one of these as its only key is what JSON has no place for
MARKS = {"array", "dict", "float", "tuple"}


def encoded(value: Any, path: str, arrays: Arrays, depth: int = 0) -> Any:
    """A value as JSON; what JSON has no place for is marked, and arrays are added to ``arrays``.

    The path says where the value is in the document; arrays are named by it.

    Examples
    --------
    >>> encoded({1: (2, float("inf"))}, "n_components", {})
    {'dict': [[1, {'tuple': [2, {'float': 'inf'}]}]]}
    >>> encoded({"a": np.ones(3)}, "init", arrays := {}), arrays
    ({'a': {'array': 'init/a'}}, {'init/a': array([1., 1., 1.])})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) < 1 << 64:
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, np.ndarray) and is_numeric(value) and path not in arrays:
        arrays[path] = value
        return {"array": path}
    if isinstance(value, msgspec.Struct):
        # what is not there is not written, so that older versions need not know of it
        entries = {
            field.name: getattr(value, field.name)
            for field in msgspec.structs.fields(value)
            if field.default is not None or getattr(value, field.name) is not None
        }
        config = value.__struct_config__
        if config.tag_field is not None:
            entries[config.tag_field] = config.tag
        prefix = f"{path}/" if path else ""
        return {name: encoded(each, prefix + name, arrays) for name, each in entries.items()}
    if depth < MAX_DEPTH:
        if isinstance(value, list):
            return [encoded(each, path, arrays, depth + 1) for each in value]
        if isinstance(value, tuple):
            return {"tuple": [encoded(each, path, arrays, depth + 1) for each in value]}
        if isinstance(value, dict):
            keys = [encoded(key, path, arrays, MAX_DEPTH) for key in value]
            values = [
                encoded(each, f"{path}/{key}", arrays, depth + 1) for key, each in value.items()
            ]
            if is_object(keys):
                return dict(zip(keys, values, strict=True))
            return {"dict": [list(pair) for pair in zip(keys, values, strict=True)]}
    kind = "a function" if callable(value) else f"of type {type(value).__name__}"
    raise ValueError(
        f"{path.rpartition('/')[2]} is {kind}, which a model file does not hold; before saving, "
        "use set_params to give a number, text, or a list or mapping of them."
    )


def is_object(keys: list[Any]) -> bool:
    """Whether a JSON object can have these keys: texts, whose order does not matter, no marks."""
    has_texts = all(isinstance(key, str) for key in keys)
    return has_texts and keys == sorted(keys) and not MARKS.intersection(keys)


def is_numeric(array: Any) -> bool:
    """Whether a file can hold an array."""
    return array.dtype.kind in "biu" or array.dtype in (np.float32, np.float64)


def decoded(value: Any, arrays: Arrays) -> Any:
    """The value of JSON made by `encoded`; arrays are taken out of ``arrays``.

    Examples
    --------
    >>> decoded({"dict": [[1, {"tuple": [2, {"float": "inf"}]}]]}, {})
    {1: (2, inf)}
    """
    if isinstance(value, list):
        return [decoded(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    match list(value.items()):
        case [("float", str(name))] if name in NOT_FINITE:
            return NOT_FINITE[name]
        case [("array", str(name))]:
            if name not in arrays:
                raise InvalidModelFile(f"is invalid: array {name!r:.60} is missing")
            return arrays.pop(name)
        case [("tuple", list(items))]:
            return tuple(decoded(each, arrays) for each in items)
        case [("dict", list(pairs))]:
            if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs) and not any(
                isinstance(key, list | dict) for key, _ in pairs
            ):
                return {key: decoded(each, arrays) for key, each in pairs}
        case [(name, _)] if name not in MARKS:
            return {name: decoded(value[name], arrays)}
        case [_, _, *_] | []:
            return {name: decoded(each, arrays) for name, each in value.items()}
    raise InvalidModelFile(f"is invalid: it holds a value of an unknown type, {value!r:.60}")
