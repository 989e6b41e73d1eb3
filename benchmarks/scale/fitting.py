"""One fit: what it took, what is left of it, how good it is."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.records import Record
from benchmarks.scale.memory import Watched
from benchmarks.timing import timed

# rows predicted at a time: the features of all of them would take much memory
PART_ROWS = 8192


def fitted(model: Any, *data: Any) -> Record:
    """Fit, and what that took."""
    with Watched() as memory:
        begin = process_time()
        _, seconds, warned = timed(lambda: model.fit(*data))
        cpu = process_time() - begin
    return {
        "seconds": round(seconds, 4),
        "cpu_seconds": round(cpu, 4),
        "warned": warned,
        **memory.record(),
    }


def sizes_of(model: Any) -> Record:
    """Weights of a model, steps of its learning."""
    return {
        "weights": int(model.n_active_weights_),
        "initial_weights": int(model.n_initial_weights_),
        "components": int(np.sum(model.n_components_)),
        "iterations": int(model.n_iter_),
        "newton_steps": sum(record.newton_steps for record in model.history_),
    }


def quality(y: np.ndarray, P: np.ndarray) -> Record:
    """Error and log loss of probabilities of the classes 0, 1, ..."""
    classes = np.arange(P.shape[1])
    return {
        "error": round(float((P.argmax(axis=1) != y).mean()), 6),
        "log_loss": round(float(log_loss(y, P, labels=classes)), 6),
    }


def quality_of_bayes(data: Any, X: np.ndarray, y: np.ndarray) -> Record:
    """The same of Bayes' rule, which is the best there can be."""
    return {f"bayes_{name}": value for name, value in quality(y, data.posterior(X)).items()}


def in_parts(predict: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """Predictions, some rows at a time."""
    parts = [X[i : i + PART_ROWS] for i in range(0, len(X), PART_ROWS)]
    return np.concatenate([predict(part) for part in parts])
