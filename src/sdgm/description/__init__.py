"""A fitted model in words: which terms decide for which class, and how sure their weights are.

`describe` gathers what there is to say, as values; `Description.text` lays it out for a terminal.
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
