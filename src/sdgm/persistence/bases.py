"""The basis of a fitted model as a record, and back: monomials, or kernels at training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.fitted_model import FittedModel, Scaler
from sdgm.core.model.kernels import KERNELS, KernelBasis, KernelName, PrecomputedBasis, name_of
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.primal import SDGMClassifier
from sdgm.persistence import documents
from sdgm.persistence.errors import InvalidModelFile

Form = documents.Monomials | documents.Kernels | documents.Precomputed

# characters in the names of all terms together; one long name may be part of many
MAX_NAMES = 8 << 20


def to_document(model: FittedModel) -> Form:
    """The record of the columns of a model."""
    basis: Any = model.basis
    if isinstance(basis, Monomials):
        return documents.Monomials(basis.first, basis.second)
    if isinstance(basis, PrecomputedBasis):
        return documents.Precomputed(basis.user_rows)
    name = name_of(basis.kernel)
    if name is None:
        raise ValueError(
            "kernel is a function, which cannot be saved; use kernel='poly', 'rbf' or 'linear'."
        )
    again = model.scaler.standardized(basis.user_vectors)
    return documents.Kernels(
        kernel=name.value,
        values=vars(basis.kernel),
        gamma=basis.gamma,
        user_rows=basis.user_rows,
        user_vectors=basis.user_vectors,
        vectors=None if again.tobytes() == basis.vectors.tobytes() else basis.vectors,
    )


def from_document(record: Form, scaler: Scaler) -> Monomials | KernelBasis | PrecomputedBasis:
    """The columns of a record."""
    if isinstance(record, documents.Monomials):
        return checked_monomials(Monomials(record.first, record.second))
    if isinstance(record, documents.Precomputed):
        return PrecomputedBasis(record.user_rows)
    vectors = record.vectors
    if vectors is None:
        vectors = scaler.standardized(record.user_vectors)
    if not np.isfinite(vectors).all():
        raise InvalidModelFile("is invalid: a relevance vector of it is not finite")
    try:
        kernel = KERNELS[KernelName(record.kernel)](**record.values)
    except (TypeError, ValueError) as error:
        values = ascii(record.values)
        raise InvalidModelFile(f"is invalid: its kernel has wrong values, {values:.60}") from error
    return KernelBasis(kernel, vectors, record.user_rows, record.user_vectors, record.gamma)


def checked_monomials(basis: Monomials) -> Monomials:
    """Monomials of which none is there twice and none is the constant."""
    i, j = basis.first, basis.second
    is_term = (i >= 0) & ((j == ABSENT) | (j >= i)) | (i == SQUARED_NORM) & (j == ABSENT)
    if not is_term.all() or len(set(basis.column_keys())) < len(basis):
        raise InvalidModelFile("is invalid: its terms do not match its columns")
    return basis


def check_form(classifier: BaseSDGM, basis: Any, names: Sequence[str] | None) -> None:
    """Whether a classifier can have such columns, and their names fit into memory."""
    if isinstance(basis, Monomials) != isinstance(classifier, SDGMClassifier):
        raise InvalidModelFile(f"is invalid: a {type(classifier).__name__} has no such columns")
    if isinstance(basis, Monomials) and names is not None:
        lengths = np.array([*map(len, names), 0, 0])  # the last two for what is no input
        if int(lengths[basis.first].sum() + lengths[basis.second].sum()) > MAX_NAMES:
            raise InvalidModelFile(
                "has feature names so long that its terms would exhaust the memory"
            )
