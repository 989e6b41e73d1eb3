"""Names of the presets; light, so that the command's help does not import the estimators."""

from __future__ import annotations

from enum import StrEnum


class Preset(StrEnum):
    """The two ways through Algorithm 1."""

    FAST = "fast"
    PAPER = "paper"
