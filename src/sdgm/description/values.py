"""The description of a fitted model, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sdgm.json_values import json_value


@dataclass(frozen=True)
class TermDescription:
    """One weight that is left.

    Attributes
    ----------
    name : str
        Such as ``age*dose``, of standardised inputs; ``1`` for the constant; in the dual form
        ``k(x, v3)``, the kernel at a relevance vector.
    weight, std : float, float or None
        Its posterior mode and, where the model kept it, standard deviation.
    features : tuple of str
        Features that the term is made of; in the dual form none are named.
    column : int or None
        Index of the term among ``terms_``, or of its relevance vector; None for the constant.
    """

    name: str
    weight: float
    std: float | None
    features: tuple[str, ...] = ()
    column: int | None = None

    @property
    def certainty(self) -> float:
        """Size of the weight in posterior standard deviations, or alone where there is none."""
        return abs(self.weight) / self.std if self.std else abs(self.weight)


@dataclass(frozen=True)
class GaussianDescription:
    """A mode as a Gaussian, in the user's units.

    It is determined up to a quadratic form that all modes share and that cancels in the
    probabilities. Inputs that the mode does not use are left out: it is flat in them.
    """

    features: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    correlation: tuple[tuple[float, ...], ...]  # the full matrix


@dataclass(frozen=True)
class ModeDescription:
    """One component of a class.

    Attributes
    ----------
    number : int
        Counted from one within the class.
    mixture_weight : float
    constant, terms : TermDescription or None, tuple of TermDescription
        The constant, if it is left, and the other terms, the most certain first; none for a
        background that is equal everywhere.
    gaussian : GaussianDescription or None
        None where the mode is not Gaussian in the inputs that it uses.
    """

    number: int
    mixture_weight: float
    constant: TermDescription | None
    terms: tuple[TermDescription, ...]
    gaussian: GaussianDescription | None

    @property
    def all_terms(self) -> tuple[TermDescription, ...]:
        """The terms, the constant last."""
        return self.terms if self.constant is None else (*self.terms, self.constant)


@dataclass(frozen=True)
class ClassDescription:
    """A class and its modes."""

    label: Any
    modes: tuple[ModeDescription, ...]


@dataclass(frozen=True)
class FeatureDescription:
    """What the classifier sees of a column, ``(x - center) / scale``; whether a term uses it."""

    name: str
    center: float
    scale: float
    used: bool


@dataclass(frozen=True)
class VectorDescription:
    """A relevance vector.

    Attributes
    ----------
    name : str
        ``v1``, ``v2``, ..., as the terms call it.
    row : int
        The row that it was, counted from `Description.rows_from`.
    values : dict
        Its values by column, as the user had them; None for a missing one and for a level that the
        model does not know. Empty for a kernel that was handed in as a matrix.
    weights : tuple of float
        One per mode, in the order of the classes; zero where it was removed.
    """

    name: str
    row: int
    values: dict[str, Any]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Description:
    """What a fitted model has learned; made by `describe`.

    Attributes
    ----------
    estimator, form : str
        Name of the class of the classifier, and "primal" or "dual".
    target : str or None
        Name of the column with the labels.
    classes : tuple of ClassDescription
    inputs, unused : tuple of str
        Columns that a term uses, and columns that none does.
    features : tuple of FeatureDescription
    standardized : bool
    kernel, vectors : str or None, tuple of VectorDescription
        Formula of the kernel and relevance vectors, in the dual form.
    n_weights, n_initial_weights : int
        Weights that are left, and before learning.
    chosen : dict
        Settings that were chosen from the training rows.
    fidelity : float or None
        Mean divergence from the teacher, in nats, where one was learned from.
    rows_from : {0, 1}
        How rows of relevance vectors are counted: from 1 as in the user's table, or from 0 among
        the training rows.
    """

    estimator: str
    form: str
    target: str | None
    classes: tuple[ClassDescription, ...]
    inputs: tuple[str, ...]
    unused: tuple[str, ...]
    features: tuple[FeatureDescription, ...]
    standardized: bool
    kernel: str | None
    vectors: tuple[VectorDescription, ...]
    n_weights: int
    n_initial_weights: int
    chosen: dict[str, Any]
    fidelity: float | None = None
    rows_from: int = 0

    @property
    def n_modes(self) -> int:
        """Number of modes of all classes."""
        return sum(len(each.modes) for each in self.classes)

    def as_dict(self) -> dict[str, Any]:
        """The same as dictionaries, lists, numbers and strings, ready for JSON."""
        plain: dict[str, Any] = json_value(asdict(self))
        return plain

    def text(self, width: int = 88, *, ascii: bool = False, most: int | None = 12) -> str:
        """The description as plain text, for a terminal of ``width`` columns.

        With ``ascii`` in ASCII only; tables and lists show the first ``most`` rows, or all for
        None. Control characters of names are shown as escapes, and long names are shortened.
        """
        from sdgm.description.layout import Layout

        return Layout(width, ascii, most).text(self)

    def __str__(self) -> str:
        return self.text()
