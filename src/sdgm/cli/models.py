"""Model files that commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sdgm.text import shown


def load_model(path: Path) -> Any:
    """A model of a file, or one sentence."""
    from sdgm.persistence import load

    return load(path)


def load_table_model(path: Path) -> Any:
    """A model that reads tables, or one sentence."""
    from sdgm.tables.model import TableModel

    model = load_model(path)
    if not isinstance(model, TableModel):
        raise ValueError(
            f"{shown(path, 200)} holds a {type(model).__name__} without the columns of a table; "
            "use a model of sdgm fit."
        )
    return model
