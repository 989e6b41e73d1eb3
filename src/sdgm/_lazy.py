"""Public names that are imported when they are first wanted."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def attribute(package: str, homes: Mapping[str, str], name: str) -> Any:
    """A name of a package from the module that it is in, for its ``__getattr__``.

    Parameters
    ----------
    package : str
    homes : mapping from str to str
        Modules of the names, relative to the package.
    name : str
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value = getattr(import_module(f"{package}.{homes[name]}"), name)
    setattr(import_module(package), name, value)  # and it is not asked for again
    return value
