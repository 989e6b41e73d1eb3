"""Labels as JSON and back, with the type of their array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgm.persistence.arrays import Array
from sdgm.persistence.documents import Labels
from sdgm.persistence.errors import InvalidModelFile

# the widest text type that is kept though no label needs it, in characters
WIDEST = 1024
# bytes of an array of text, in which every entry is as wide as the widest; beyond, objects
MAX_TEXT_BYTES = 32 << 20


def encoded_labels(labels: Array) -> Labels:
    """Labels and their type.

    Examples
    --------
    >>> encoded_labels(np.array(["no", "yes"]))
    Labels(dtype='U3', values=['no', 'yes'])
    """
    dtype, values = labels.dtype, labels.tolist()
    if dtype.kind == "U":
        width = dtype.itemsize // 4
        return Labels(f"U{width}" if 0 < width <= WIDEST else "U", values)
    if dtype.kind in "biuf" and dtype.itemsize <= 8:
        return Labels(dtype.name, values)
    if dtype.kind == "O" and all(isinstance(value, str | bool | int | float) for value in values):
        return Labels("object", values)
    raise ValueError(
        f"labels of type {dtype}, such as {values[0]!r:.60}, are nothing that a model file holds; "
        "fit with labels that are numbers, booleans or text."
    )


def decoded_labels(labels: Labels, what: str) -> Array:
    """The array of labels made by `encoded_labels`."""
    values = labels.values
    if labels.dtype == "object":
        return object_array(values)
    if labels.dtype.startswith("U"):
        if all(isinstance(value, str) for value in values):
            return text_array(values, int(labels.dtype[1:] or 0))
    else:
        try:
            with np.errstate(over="ignore"):
                array = np.array(values, dtype=labels.dtype)
        except (ValueError, OverflowError):
            array = np.array([])
        # none is rounded, and none is true where it should be 1
        if repr(array.tolist()) == repr(values):
            return array
    raise InvalidModelFile(f"is invalid: {what} are not of type {labels.dtype!r}")


def object_array(values: Sequence[Any]) -> Array:
    """A list as an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def text_array(values: Sequence[Any], width: int) -> Array:
    """Texts in an array of text of at least this width, or as objects where it would be huge."""
    width = max(min(width, WIDEST), max(map(len, values), default=0), 1)
    if 4 * width * len(values) > MAX_TEXT_BYTES:
        return object_array(values)
    return np.array(values, dtype=f"U{width}")
