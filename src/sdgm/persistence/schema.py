"""What arrays a file must hold, and which of their sizes must agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sdgm.persistence.errors import Unsound

FLOAT = ("float64",)
INTEGER = ("int64",)
ANY_NUMBER = (
    *("float64", "float32", "int64", "int32", "int16", "int8"),
    *("uint64", "uint32", "uint16", "uint8", "bool"),
)


@dataclass(frozen=True)
class Spec:
    """One array.

    Attributes
    ----------
    shape : str or None
        One letter per dimension; a letter has one size in all arrays. None for any shape.
    dtypes : tuple of str
    optional : bool
    finite : bool
        Whether NaN and infinity are refused.
    least : number or None
        The smallest value allowed.
    below : str, number or None
        What values must be below: a number, or the size of a letter.
    """

    shape: str | None
    dtypes: tuple[str, ...] = FLOAT
    optional: bool = False
    finite: bool = True
    least: float | None = None
    below: str | float | None = None


class Described(Protocol):
    """What is known of an array before it is read."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


def check_layout(
    specs: Mapping[str, Spec], layout: Mapping[str, Described], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Compare names, types and shapes with the schema.

    Parameters
    ----------
    specs : mapping from name to Spec
    layout : mapping from name to anything with dtype and shape
    sizes : mapping from letter to int
        Sizes that are known already.

    Returns
    -------
    sizes : dict from letter to int
        All of them.
    """
    sizes = dict(sizes)
    for name in layout.keys() - specs.keys():
        raise Unsound(f"is not sound: it has an array {name!r:.60} that no such model has")
    for name, spec in specs.items():
        if name not in layout:
            if spec.optional:
                continue
            raise Unsound(f"is not sound: array {name!r} is missing")
        dtype, shape = layout[name].dtype.name, layout[name].shape
        if dtype not in spec.dtypes:
            raise Unsound(f"is not sound: array {name!r} has type {dtype}, not {spec.dtypes[0]}")
        if spec.shape is None:
            continue
        wanted = [sizes.get(letter, size) for letter, size in zip(spec.shape, shape, strict=False)]
        if len(shape) != len(spec.shape) or list(shape) != wanted:
            raise Unsound(
                f"is not sound: array {name!r} has shape {shape}, which does not agree with the "
                "other arrays"
            )
        for letter, size in zip(spec.shape, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise Unsound(f"is not sound: array {name!r} has shape {shape}, which is no square")
    return sizes


def check_values(
    specs: Mapping[str, Spec], arrays: Mapping[str, np.ndarray[Any, Any]], sizes: Mapping[str, int]
) -> None:
    """Compare the numbers with the schema, once `check_layout` has passed."""
    for name, array in arrays.items():
        spec = specs[name]
        if not array.size:
            continue
        if spec.finite and not np.isfinite(array).all():
            raise Unsound(f"is not sound: array {name!r} holds NaN or infinity")
        if spec.least is not None and not array.min() >= spec.least:
            raise Unsound(f"is not sound: array {name!r} holds {array.min()}")
        limit = sizes[spec.below] if isinstance(spec.below, str) else spec.below
        if limit is not None and not array.max() < limit:
            raise Unsound(f"is not sound: array {name!r} holds {array.max()}")
