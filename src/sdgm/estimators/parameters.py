"""What users pass in, checked and brought into one form, with one sentence per mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_array

from sdgm._typing import FloatArray, IntArray

E = TypeVar("E", bound=StrEnum)


class Prior(StrEnum):
    """What is done with the precisions of the weights."""

    ARD = "ard"
    RIDGE = "ridge"


class Predictive(StrEnum):
    """What `predict_proba` returns."""

    MAP = "map"
    AVERAGED = "averaged"


def choice(name: str, value: object, options: type[E]) -> E:
    """The member of a string enum, or an error that lists them."""
    try:
        return options(value)  # type: ignore[arg-type]
    except ValueError:
        known = ", ".join(repr(str(option)) for option in options)
        raise ValueError(f"{name} must be one of {known}, got {value!r}.") from None


def positive_integer(name: str, value: object) -> int:
    """A whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def positive_number(name: str, value: object) -> float:
    """A finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


def components_per_class(n_components: object, classes: np.ndarray[Any, Any]) -> IntArray:
    """M_c of every class from one number, a mapping from label, or one number per class: (C,)."""
    if isinstance(n_components, Mapping):
        missing = [label for label in classes.tolist() if label not in n_components]
        if missing:
            raise ValueError(
                f"n_components has no entry for class {missing[0]!r}; "
                f"give one for each of {classes.tolist()}."
            )
        values = [n_components[label] for label in classes.tolist()]
    elif isinstance(n_components, Sequence | np.ndarray) and not isinstance(n_components, str):
        values = list(n_components)
        if len(values) != len(classes):
            raise ValueError(
                f"n_components has {len(values)} entries for {len(classes)} classes; "
                f"give one per class, in the order {classes.tolist()}."
            )
    else:
        values = [n_components] * len(classes)
    return np.array([positive_integer("n_components", value) for value in values])


def checked_sample_weight(sample_weight: object, X: FloatArray) -> FloatArray:
    """Sample weights as an array, none negative and not all zero: (N,)."""
    if sample_weight is None:
        return np.ones(len(X))
    s = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", copy=True
    )
    if s.shape != (len(X),):
        raise ValueError(
            f"sample_weight has shape {s.shape} for {len(X)} samples; give one number per sample."
        )
    if (s < 0).any():
        raise ValueError(
            f"sample_weight has a negative entry, {s.min():g}; weights say how often a sample "
            "counts, so use zero to leave one out."
        )
    if not s.any():
        raise ValueError("sample_weight is zero for every sample; leave at least some in.")
    return s


def checked_responsibilities(
    init: object, y: IntArray, n_components: IntArray, used: IntArray, n_samples: int
) -> FloatArray:
    """Responsibilities given by the user for all samples, of those used: (len(used), K).

    Normalised within each sample's class.
    """
    r = np.array(init, dtype=np.float64)
    K = int(n_components.sum())
    if r.shape != (n_samples, K):
        raise ValueError(
            f"init has shape {r.shape} instead of {(n_samples, K)}: one row per sample and one "
            "column per component, ordered by class."
        )
    own = np.repeat(np.arange(len(n_components)), n_components) == y[:, None]
    r = np.asfortranarray(np.where(own, r[used], 0.0))
    total = r.sum(axis=1)
    if not np.isfinite(r).all() or (r < 0).any() or not (total > 0).all():
        raise ValueError(
            "init must hold responsibilities: finite, not negative, and above zero for some "
            "component of each sample's own class."
        )
    return r / total[:, None]
