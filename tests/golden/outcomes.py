"""What is stored of a fit, and when two outcomes are the same."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

Outcome = dict[str, Any]

# of long arrays these many entries are stored, evenly, and the norm
MOST_NUMBERS = 40
# rows whose probabilities are stored
ROWS = 5
# averaged probabilities are stored of models with no more weights: draws follow the eigenvectors of
# the covariance, and where many eigenvalues are nearly equal these are another with another BLAS
MOST_AVERAGED = 12
# fitted attributes that are stored as they are, where a model has them
FITTED = (
    "classes_",
    "n_components_",
    "component_class_",
    "mixture_weights_",
    "n_active_weights_",
    "n_initial_weights_",
    "gamma_",
    "log_evidence_",
    "n_iter_",
    "converged_",
    "stop_reason_",
    "start_log_evidences_",
    "chosen_",
    "n_evaluations_",
    "weights_path_",
)
HISTORY = ("log_posterior", "log_likelihood", "log_evidence", "alpha_change")


def numbers(values: Any) -> list[float]:
    """Real numbers in reading order; of many, some of them and the norm."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    if len(flat) <= MOST_NUMBERS:
        return flat.tolist()
    kept = np.linspace(0, len(flat) - 1, MOST_NUMBERS).astype(np.intp)
    return [*flat[kept].tolist(), float(np.linalg.norm(flat))]


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, np.ndarray):
        return numbers(value) if value.dtype.kind == "f" else value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def fields_of(model: Any, names: Any) -> Outcome:
    """Fitted attributes, without the underscore."""
    return {
        name.removesuffix("_"): plain(getattr(model, name))
        for name in names
        if hasattr(model, name)
    }


def surviving(model: Any) -> list[list[Any]]:
    """For each component the terms, or training rows, whose weight is not zero."""
    names = model.relevance_ if hasattr(model, "relevance_") else model.terms_
    names = ["constant", *plain(names)]
    weights = np.column_stack([model.intercept_, model.coef_])
    return [[names[column] for column in np.flatnonzero(row)] for row in weights]


def covariance_numbers(covariance: Any) -> list[float]:
    """Diagonal of a covariance, and one number that all entries have a part in."""
    direction = np.cos(np.arange(len(covariance)))
    return [*numbers(np.diagonal(covariance)), float(direction @ covariance @ direction)]


def description(model: Any, X_test: Any, y_test: Any) -> Outcome:
    """What a fitted classifier learned, and what it says of other rows."""
    P = model.predict_proba(X_test)
    found = {
        "error": float(100.0 * np.mean(model.predict(X_test) != y_test)),
        "log_loss": float(log_loss(y_test, P, labels=model.classes_)),
        "probabilities": numbers(P[:ROWS]),
        **fields_of(model, FITTED),
    }
    if hasattr(model, "coef_"):
        weights = np.column_stack([model.intercept_, model.coef_])
        found["surviving"] = surviving(model)
        found["weights"] = numbers(weights[weights != 0.0])
        found["component_probabilities"] = numbers(model.predict_component_proba(X_test[:ROWS]))
    if getattr(model, "relevance_vectors_", None) is not None:
        found["relevance_vectors"] = numbers(model.relevance_vectors_)
    if getattr(model, "covariance_", None) is not None:
        found["covariance"] = covariance_numbers(model.covariance_)
    if "covariance" in found and model.n_active_weights_ <= MOST_AVERAGED:
        mean, std = model.predict_proba_averaged(X_test[:ROWS], return_std=True)
        found["averaged"], found["std"] = numbers(mean), numbers(std)
    if hasattr(model, "candidates_"):
        found["candidates"] = plain(model.candidates_)
    if hasattr(model, "history_"):
        found["history_n_weights"] = [record.n_weights for record in model.history_]
        found["history_newton_steps"] = [record.newton_steps for record in model.history_]
        for name in HISTORY:
            found[f"history_{name}"] = numbers([getattr(each, name) for each in model.history_])
    return found


def differences(
    found: Any, stored: Any, *, rtol: float = 1e-9, floor: float = 1e-10, where: str = ""
) -> list[str]:
    """Where an outcome is another than the stored one; empty if nowhere.

    Real numbers may differ by ``rtol`` of themselves and, in a list, by ``floor`` of the largest.
    All else is to be equal.
    """
    if isinstance(stored, dict) and isinstance(found, dict):
        if sorted(found) != sorted(stored):
            return [f"{where}: has {sorted(found)}, stored are {sorted(stored)}"]
        parts = [(f"{where}.{key}".lstrip("."), found[key], stored[key]) for key in stored]
    elif isinstance(stored, list) and isinstance(found, list):
        if len(found) != len(stored):
            return [f"{where}: {found}, stored is {stored}"]
        if stored and all(isinstance(each, float) for each in [*stored, *found]):
            return far_numbers(found, stored, rtol, floor, where)
        parts = [(f"{where}[{i}]", *pair) for i, pair in enumerate(zip(found, stored, strict=True))]
    elif isinstance(stored, float) and isinstance(found, float):
        return far_numbers([found], [stored], rtol, floor, where)
    else:
        same = type(found) is type(stored) and found == stored
        return [] if same else [f"{where}: {found!r}, stored is {stored!r}"]
    return [
        each
        for name, one, other in parts
        for each in differences(one, other, rtol=rtol, floor=floor, where=name)
    ]


def far_numbers(
    found: list[float], stored: list[float], rtol: float, floor: float, where: str
) -> list[str]:
    expected = np.array(stored)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    if np.allclose(found, expected, rtol=rtol, atol=floor * largest, equal_nan=True):
        return []
    i = int(np.argmax(np.nan_to_num(np.abs(np.array(found) - expected), nan=np.inf)))
    return [f"{where}[{i}]: {found[i]!r}, stored is {stored[i]!r}"]
