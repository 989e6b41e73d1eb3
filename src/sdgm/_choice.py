"""Settings with a fixed list of values."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

E = TypeVar("E", bound=StrEnum)


def choice(name: str, value: object, options: type[E]) -> E:
    """The member of a string enum, or an error that lists them."""
    try:
        return options(value)  # type: ignore[arg-type]
    except ValueError:
        known = ", ".join(repr(str(option)) for option in options)
        raise ValueError(f"{name} must be one of {known}, got {value!r}.") from None
