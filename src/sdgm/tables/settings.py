"""Settings of `fit_table`; light, so that the command's help does not import the estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sdgm.tables.errors import SettingError, listed, quoted


class Named(StrEnum):
    """A setting of a few values, called like its class; any other is refused."""

    @classmethod
    def _missing_(cls, value: object) -> Named:
        known = ", ".join(map(str, cls))
        raise SettingError(cls.__name__.lower(), f"must be one of {known}, got {value!r}.")


class Form(Named):
    """Which form of the model to learn."""

    AUTO = "auto"
    PRIMAL = "primal"
    DUAL = "dual"


class Teacher(Named):
    """What a table's model learns from."""

    AUTO = "auto"
    LABELS = "labels"
    FOREST = "forest"
    BOOSTING = "boosting"


class Missing(StrEnum):
    """What to do with missing values."""

    IMPUTE = "impute"
    ERROR = "error"


@dataclass(frozen=True)
class Settings:
    """How to learn from a table, checked when it is made."""

    form: str = "auto"
    components: int | str = "auto"
    missing: str = "impute"
    class_weight: Mapping[Any, float] | str | None = None
    max_weights: int | None = None
    teacher: str = "auto"
    random_state: Any = None

    def __post_init__(self) -> None:
        Form(self.form)
        checked_components(self.components)
        check_missing(self.missing)
        check_class_weight(self.class_weight)
        check_max_weights(self.max_weights)
        Teacher(self.teacher)

    @property
    def n_components(self) -> int | str:
        """A number of components, or "auto"."""
        return checked_components(self.components)

    def class_weight_of(self, classes: Sequence[Any]) -> dict[Any, float] | str | None:
        """Weights by label; labels of other types that are written alike are found."""
        given = self.class_weight
        if not isinstance(given, Mapping):
            return given
        by_name = {str(label): label for label in classes}
        unknown = [name for name in given if str(name) not in by_name]
        if unknown:
            raise SettingError(
                "class_weight",
                f"names {quoted(unknown[0])}, which is not a class; the classes are "
                f"{listed(classes)}.",
            )
        return {by_name[str(name)]: float(weight) for name, weight in given.items()}


def checked_components(components: int | str) -> int | str:
    """A number of components, or "auto"."""
    if components == "auto":
        return components
    with suppress(ValueError):
        if int(components) >= 1:
            return int(components)
    raise SettingError("components", f"must be auto or a positive integer, got {components!r}.")


def check_missing(missing: str) -> None:
    """Refuse values other than "impute" and "error"."""
    if missing not in {*Missing}:
        raise SettingError("missing", f"must be impute or error, got {missing!r}.")


def check_test_size(test_size: float) -> None:
    """Refuse shares of rows that cannot be held out."""
    if not 0.0 <= test_size < 1.0:
        raise SettingError(
            "test_size", f"must be at least 0 and below 1, got {test_size}; 0.25 is usual."
        )


def check_max_weights(max_weights: int | None) -> None:
    """Refuse a budget without a weight."""
    if max_weights is not None and max_weights < 1:
        raise SettingError("max_weights", f"must be a positive integer, got {max_weights!r}.")


def check_class_weight(class_weight: Mapping[Any, float] | str | None) -> None:
    """Refuse what is neither "balanced" nor positive numbers by label."""
    if class_weight is None or class_weight == "balanced":
        return
    if not isinstance(class_weight, Mapping):
        raise SettingError(
            "class_weight", f"must be balanced or a number for each label, got {class_weight!r}."
        )
    for label, weight in class_weight.items():
        if not 0.0 < weight < float("inf"):
            raise SettingError(
                "class_weight",
                f"must have a positive number for each label, got {weight!r} for {quoted(label)}.",
            )


def class_weight_from(text: str | None) -> dict[str, float] | str | None:
    """The option of the command: ``balanced``, or ``LABEL=NUMBER`` with commas between them.

    Examples
    --------
    >>> class_weight_from("ill=5,well=1")
    {'ill': 5.0, 'well': 1.0}
    """
    if text is None or text == "balanced":
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        label, _, number = part.rpartition("=")
        try:
            weights[label.strip()] = float(number)
        except ValueError:
            label = ""
        if not label:
            raise SettingError(
                "class_weight",
                f"must be balanced or a list such as ill=5,well=1; {quoted(part)} is neither.",
            )
    check_class_weight(weights)
    return weights
