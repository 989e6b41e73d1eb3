"""What the arrays of a document must be, and which of their sizes must agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
from msgspec import Struct

from sdgm.persistence.errors import InvalidModelFile

Array = np.ndarray


class Spec(NamedTuple):
    """What one array must be."""

    shape: str  # one letter per dimension; a letter has one size in all arrays
    dtype: str = "float64"
    finite: bool = True
    least: float | None = None  # the smallest value allowed
    below: str | None = None  # the letter whose size the values must be below


def check_arrays(document: Struct, n_classes: int) -> None:
    """Compare types, shapes and values of all arrays with the annotations of their fields."""
    sizes = {"C": n_classes}
    arrays = list(annotated_arrays(document))
    for name, array, spec in arrays:
        if array.dtype.name != spec.dtype:
            raise InvalidModelFile(
                f"is invalid: array {name!r} has type {array.dtype.name}, not {spec.dtype}"
            )
        agrees = array.ndim == len(spec.shape) and all(
            sizes.setdefault(letter, size) == size
            for letter, size in zip(spec.shape, array.shape, strict=True)
        )
        if not agrees:
            raise InvalidModelFile(
                f"is invalid: array {name!r} has shape {array.shape}, which does not agree with "
                "the other arrays"
            )
    for name, array, spec in arrays:
        if not array.size:
            continue
        if spec.finite and not np.isfinite(array).all():
            raise InvalidModelFile(f"is invalid: array {name!r} holds NaN or infinity")
        if spec.least is not None and array.min() < spec.least:
            raise InvalidModelFile(f"is invalid: array {name!r} holds {array.min()}")
        if spec.below is not None and array.max() >= sizes[spec.below]:
            raise InvalidModelFile(f"is invalid: array {name!r} holds {array.max()}")


def annotated_arrays(record: Struct) -> Iterator[tuple[str, Any, Spec]]:
    """Names of fields, arrays and specifications in a record and the records inside."""
    for name, hint in get_type_hints(type(record), include_extras=True).items():
        value = getattr(record, name)
        if isinstance(value, Struct):
            yield from annotated_arrays(value)
        elif isinstance(value, np.ndarray):
            # of the type, or of the first of a union
            kind = hint if hasattr(hint, "__metadata__") else get_args(hint)[0]
            yield name, value, kind.__metadata__[0]
