"""What a fitted model has learned: the terms of every class, with the uncertainty of their weights.

`describe` returns values; `Description.text` formats them for a terminal.
"""

from sdgm.description.from_model import describe
from sdgm.description.values import (
    ClassDescription,
    Description,
    FeatureDescription,
    GaussianDescription,
    ModeDescription,
    TermDescription,
    VectorDescription,
)

__all__ = [
    "ClassDescription",
    "Description",
    "FeatureDescription",
    "GaussianDescription",
    "ModeDescription",
    "TermDescription",
    "VectorDescription",
    "describe",
]
