"""Settings that may be left open, to be chosen from the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class OpenSettings:
    """The values of settings: as given, else as chosen from the data, else fixed.

    Attributes
    ----------
    given : mapping
        Parameters as the user gave them; None and "auto" leave them open.
    fixed : mapping
        What they are when nothing is chosen.
    chosen : mapping
        What was chosen.
    """

    given: Mapping[str, Any]
    fixed: Mapping[str, Any]
    chosen: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        value = self.given[name]
        return self.chosen.get(name, self.fixed[name]) if is_open(value) else value

    def chooses(self, name: str) -> bool:
        """Whether a setting is to be chosen: it is "auto", or all of them are left open."""
        return is_auto(self.given[name]) or all(value is None for value in self.given.values())

    @property
    def wants_choice(self) -> bool:
        """Whether any of them is to be chosen."""
        return any(self.chooses(name) for name in self.given)

    @property
    def asks_for_choice(self) -> bool:
        """Whether the user said so of any."""
        return any(map(is_auto, self.given.values()))

    def with_values(self, values: Mapping[str, Any]) -> OpenSettings:
        """With these values, as if they had been given."""
        return replace(self, given={**self.given, **values})


def is_auto(value: object) -> bool:
    """Whether a setting is to be chosen from the data, by name."""
    return isinstance(value, str) and value == "auto"


def is_open(value: object) -> bool:
    """Whether a setting has no value of its own."""
    return value is None or is_auto(value)
