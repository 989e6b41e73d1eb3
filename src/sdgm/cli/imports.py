"""A shorter start of the command: what scikit-learn imports but seldom uses is imported on use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

IMPORTER = "sklearn.utils.fixes"  # imported by everything in scikit-learn
SELDOM_USED = ("scipy.stats", "pandas")  # which it imports: more than half of the time


class Later(ModuleType):
    """Stands for a module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        withdraw(self)
        return getattr(import_module(self.__name__), name)


def withdraw(module: Later) -> None:
    """Let the next import find the module itself."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]


@contextmanager
def imported_later(names: Sequence[str]) -> Iterator[None]:
    """Put off the import of modules that are installed and not yet imported."""
    absent = [name for name in names if name not in sys.modules and find_spec(name) is not None]
    modules = {name: Later(name) for name in absent}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for module in modules.values():
            withdraw(module)


class Finder:
    """Finds the one module of scikit-learn that imports them, and runs it without them."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != IMPORTER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = without(spec.loader.exec_module)  # type: ignore
        return spec


def without(execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    """The execution of a module that gets what it seldom uses later."""

    def exec_module(module: ModuleType) -> None:
        with imported_later(SELDOM_USED):
            execute(module)

    return exec_module


def shorten() -> None:
    """From now on scikit-learn is imported in less time; for programs of our own only."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
