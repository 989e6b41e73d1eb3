"""Parameters of users, checked and normalised, with one sentence per mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from sdgm._choice import choice as choice
from sdgm._typing import FloatArray, IntArray

# largest sample weight whose products with features can still be summed
LARGEST_WEIGHT = 1e100


class Prior(StrEnum):
    """How the precisions of the weights are set."""

    ARD = "ard"
    RIDGE = "ridge"


class Predictive(StrEnum):
    """What `predict_proba` returns."""

    MAP = "map"
    AVERAGED = "averaged"


def positive_integer(name: str, value: object) -> int:
    """A whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def boolean(name: str, value: object) -> None:
    """Refuse what is not a truth value; text is always true."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def whole_number(name: str, value: object) -> int:
    """A whole number that is not negative."""
    if not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} must be a whole number that is not negative, got {value!r}.")
    return int(value)


def positive_number(name: str, value: object) -> float:
    """A finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


def check_labels(y: np.ndarray[Any, Any]) -> None:
    """Refuse targets that are not labels, or that cannot be sorted."""
    if y.dtype == object:
        try:
            np.unique(y)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in y.tolist()})
            raise ValueError(
                f"y mixes labels of type {' and '.join(kinds)}; use one type for all."
            ) from None
    check_classification_targets(y)


def check_classes(classes: np.ndarray[Any, Any]) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least two."
        )


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
    elif np.ndim(n_components) == 1:  # type: ignore[arg-type]
        values = list(n_components)  # type: ignore[call-overload]
        if len(values) != len(classes):
            raise ValueError(
                f"n_components has {len(values)} entries for {len(classes)} classes; "
                f"give one per class, in the order {classes.tolist()}."
            )
    else:
        values = [n_components] * len(classes)
    return np.array([positive_integer("n_components", value) for value in values])


def checked_sample_weight(sample_weight: object, X: FloatArray) -> FloatArray:
    """Sample weights as a new array, finite, none negative and not all zero: (N,)."""
    if sample_weight is None:
        return np.ones(len(X))
    try:
        s = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"sample_weight must be numbers, one per sample, got {sample_weight!r:.60}."
        ) from None
    if s.shape != (len(X),):
        raise ValueError(
            f"sample_weight has shape {s.shape} for {len(X)} samples; give one number per sample."
        )
    if not np.isfinite(s).all():
        raise ValueError("sample_weight has NaN or infinite entries; give finite numbers.")
    if (s < 0).any():
        raise ValueError(
            f"sample_weight has a negative entry, {s.min():g}; weights say how often a sample "
            "counts, so use zero to leave one out."
        )
    if not s.any():
        raise ValueError("sample_weight is zero for every sample; leave at least some in.")
    if s.max() > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight is too large, up to {s.max():.3g}: sums over the samples would "
            "overflow; divide all of it by the same number."
        )
    return s


def class_factors(
    class_weight: object, y: np.ndarray[Any, Any], s: FloatArray
) -> FloatArray | float:
    """Factor on each sample's weight from ``class_weight``: (N,), or one.

    "balanced" counts each sample by its weight, as if it were repeated.
    """
    if class_weight is None:
        return 1.0
    if isinstance(class_weight, str) and class_weight == "balanced":
        codes = np.unique(y, return_inverse=True)[1]
        total = np.bincount(codes, s)
        share = np.where(total > 0, s.sum() / ((total > 0).sum() * np.maximum(total, 1e-300)), 1.0)
        return share[codes]
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a mapping from label to number, "
            f"got {class_weight!r}."
        )
    factors: FloatArray = compute_sample_weight(class_weight, y)
    if not np.isfinite(factors).all() or (factors <= 0).any():
        raise ValueError(
            f"class_weight must be a positive number for every class, got {class_weight!r}; "
            "to leave out a class, leave out its rows."
        )
    return factors


def checked_responsibilities(
    init: object, y: IntArray, n_components: IntArray, used: IntArray, n_samples: int
) -> FloatArray:
    """The user's responsibilities of the samples in use: (len(used), K).

    Normalised within each sample's class.
    """
    try:
        r = np.array(init, dtype=np.float64)
    except (TypeError, ValueError):
        r = np.array(np.nan)
    if r.ndim == 0:
        raise ValueError(
            "init must be 'kmeans', 'gmm', 'random' or an array of responsibilities, "
            f"got {init!r:.60}."
        )
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


# --- the teacher ---


def is_given(teacher: Any) -> bool:
    """Whether the teacher is a classifier given by the user."""
    return teacher is not None and not isinstance(teacher, str)


def check_teacher(teacher: Any) -> None:
    """Refuse a teacher without probabilities."""
    if isinstance(teacher, str) and teacher == "auto":
        return
    if isinstance(teacher, str) or not hasattr(teacher, "fit"):
        raise ValueError(f"teacher must be 'auto', None or a classifier, got {teacher!r:.60}.")
    if not is_classifier(teacher):
        raise ValueError(
            f"teacher must be a classifier with predict_proba, got {type(teacher).__name__}."
        )
    if not hasattr(teacher, "predict_proba"):
        raise ValueError(
            f"the teacher {type(teacher).__name__} has no predict_proba; use another, or wrap "
            "it in scikit-learn's CalibratedClassifierCV."
        )


# --- settings that may be left open, to be chosen from the training rows ---


@dataclass(frozen=True)
class OpenSettings:
    """The values of settings: as given, else as chosen from the data, else fixed.

    Attributes
    ----------
    given : mapping
        Parameters as the user gave them; None and "auto" leave them open.
    fixed : mapping
        Their values when nothing is chosen.
    chosen : mapping
        Values that were chosen.
    """

    given: Mapping[str, Any]
    fixed: Mapping[str, Any]
    chosen: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        value = self.given[name]
        return self.chosen.get(name, self.fixed[name]) if is_open(value) else value

    def chooses(self, name: str) -> bool:
        """Whether a setting is to be chosen if there is a teacher."""
        return is_open(self.given[name])

    def with_values(self, values: Mapping[str, Any]) -> OpenSettings:
        """With these values, as if they had been given."""
        return replace(self, given={**self.given, **values})


def is_open(value: object) -> bool:
    """Whether a setting has no value of its own."""
    return value is None or (isinstance(value, str) and value == "auto")
