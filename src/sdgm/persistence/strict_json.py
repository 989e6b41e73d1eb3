"""JSON with one spelling for every document, read without surprises.

Written with sorted keys, no spaces and ASCII only. Reading refuses repeated keys, numbers that are
not finite or have too many digits, deep nesting, and texts whose values would take far more memory
than the text.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from sdgm.persistence.errors import Unsound

# values in one document: each takes up to about 70 bytes, against 3 in the text
MAX_VALUES = 500_000
# digits of the largest unsigned 64-bit number
MAX_DIGITS = 20


def canonical(document: Any) -> str:
    r"""The one text of a document.

    Examples
    --------
    >>> canonical({"b": 0.1, "a": [None, True, "ä"]})
    '{"a":[null,true,"\\u00e4"],"b":0.1}'
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def n_values(text: str) -> int:
    """No fewer than the values that a text holds; commas and brackets inside strings count too."""
    return text.count(",") + text.count("[") + text.count("{")


def parsed(text: str) -> Any:
    """The document of a text.

    Examples
    --------
    >>> parsed('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    if n_values(text) > MAX_VALUES:
        raise Unsound(f"is not sound: its header has more than {MAX_VALUES} values")
    try:
        return json.loads(
            text,
            object_pairs_hook=_distinct,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_refused,
        )
    except (ValueError, RecursionError) as error:
        raise Unsound("is damaged: its header is not valid JSON") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise Unsound("is not sound: a key of its header is there twice")
    return result


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise Unsound("is not sound: a whole number of its header has too many digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unsound("is not sound: a number of its header is not finite")
    return number


def _refused(name: str) -> NoReturn:
    raise Unsound(f"is not sound: its header holds {name}")
