"""Models of tables with other parts."""

from __future__ import annotations

from copy import copy
from typing import Any

from sdgm.tables import TableModel


def with_parts(model: TableModel, **parts: Any) -> TableModel:
    """A copy of the model in which some attributes differ."""
    other = copy(model)
    vars(other).update(parts)
    return other
