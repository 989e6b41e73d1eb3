"""Models of tables: from a file of mixed columns to a classifier, and back to predictions."""

from __future__ import annotations

from typing import Any

from sdgm._lazy import attribute
from sdgm.tables.inputs import Category, Input, Number, feature_names

_HOMES = {
    "TableModel": "model",
    "TableError": "errors",
    "fit_table": "fitting",
    "Evaluation": "evaluation",
    "evaluate_classifier": "evaluation",
    "evaluate_table": "evaluation",
    "predict_table": "prediction",
    "FileRows": "large",
    "open_rows": "large",
}

__all__ = ["Category", "Input", "Number", "feature_names", *_HOMES]


def __getattr__(name: str) -> Any:
    """The names that need more than numpy, from their own modules."""
    return attribute(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return __all__
