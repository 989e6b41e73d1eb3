"""Models of tables: from a file of mixed columns to a classifier, and back to predictions."""

from __future__ import annotations

from typing import Any

from sdgm._lazy import attribute

_HOMES = {
    "Category": "inputs",
    "Input": "inputs",
    "Number": "inputs",
    "feature_names": "inputs",
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

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """A name from its own module, imported when it is first wanted."""
    return attribute(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return __all__
