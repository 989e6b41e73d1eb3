"""How a model came about, as JSON values that are saved with it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.parameters import components_per_class
from sdgm.tables.labels import class_counts

HISTORY = ("iteration", "log_evidence", "log_likelihood", "n_weights", "n_components")


def learning_record(classifier: BaseSDGM, form: str) -> dict[str, Any]:
    """When, with what and how a classifier was learned."""
    initial = components_per_class(classifier._setting("n_components"), classifier.classes_)
    defaults = type(classifier)().get_params()
    parameters = {
        name: value
        for name, value in classifier.get_params().items()
        if value != defaults[name] and name != "record_states"
    }
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "form": form,
        "parameters": parameters,
        "chosen": dict(classifier.chosen_),
        "converged": bool(classifier.converged_),
        "weights": {
            "initial": int(classifier.n_initial_weights_),
            "final": int(classifier.n_active_weights_),
        },
        "components": {
            "initial": np.maximum(initial, classifier.n_components_).tolist(),
            "final": classifier.n_components_.tolist(),
        },
        "history": {
            name: [getattr(record, name) for record in classifier.history_] for name in HISTORY
        },
    }


def versions() -> dict[str, str]:
    """Of the software that learned the model."""
    import sdgm

    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"sdgm": sdgm.__version__, "python": platform.python_version(), **packages}


def source_record(
    name: str, n_rows: int, labels: np.ndarray[Any, Any], columns: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What the table was, and what became of its columns."""
    return {
        "name": name,
        "rows": n_rows,
        "rows_used": len(labels),
        "class_counts": class_counts(labels),
        "columns": list(columns),
    }
