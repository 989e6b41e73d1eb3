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
    if missing not in ("impute", "error"):
        raise SettingError("missing", f"must be impute or error, got {missing!r}.")
