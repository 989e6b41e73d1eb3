"""Settings of `fit_table`; light, so that the command's help does not import the estimators."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum

from sdgm.tables.errors import SettingError


class Form(StrEnum):
    """Which form of the model to learn."""

    AUTO = "auto"
    PRIMAL = "primal"
    DUAL = "dual"

    @classmethod
    def _missing_(cls, value: object) -> Form:
        known = ", ".join(map(str, cls))
        raise SettingError("form", f"must be one of {known}, got {value!r}.")


class Missing(StrEnum):
    """What to do with missing values."""

    IMPUTE = "impute"
    ERROR = "error"


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
