"""The columns that a classifier uses: monomials, or kernels at relevance vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sdgm._typing import IntArray
from sdgm.core.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.core.model.kernel_basis import KernelBasis, PrecomputedBasis
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.primal import SDGMClassifier
from sdgm.persistence.errors import Unsound
from sdgm.persistence.schema import INTEGER, Spec
from sdgm.persistence.values import Array, Fields, decoded, encoded

KERNELS: dict[str, type[Kernel]] = {
    "poly": PolynomialKernel,
    "rbf": RBFKernel,
    "linear": LinearKernel,
}
# of the columns that learning began with, those that are left; the constant, 0, is not counted
CANDIDATE = {"columns/candidate": Spec("n", INTEGER, least=1)}
RELEVANCE = {
    "relevance": Spec("n", INTEGER, least=0),
    # training rows as the columns count them, where that is another way
    "columns/rows": Spec("n", INTEGER, optional=True, least=0),
}
FORMS = {
    "monomials": {
        **CANDIDATE,
        "columns/first": Spec("n", INTEGER, least=SQUARED_NORM, below="D"),
        "columns/second": Spec("n", INTEGER, least=ABSENT, below="D"),
    },
    "kernel": {
        **CANDIDATE,
        **RELEVANCE,
        "relevance_vectors": Spec("nD"),
        # standardised, where they are not what the scaling makes of the above
        "columns/vectors": Spec("nD", optional=True),
    },
    "precomputed": {**CANDIDATE, **RELEVANCE},
}
# characters in the names of all terms together; one long name may be part of many
MAX_NAMES = 8 << 20


def form_of(model: BaseSDGM) -> str:
    """Which of the forms a fitted classifier has."""
    basis = model._basis
    if isinstance(basis, Monomials):
        return "monomials"
    return "kernel" if isinstance(basis, KernelBasis) else "precomputed"


# --- to a document and arrays ---


def add_columns(model: BaseSDGM, arrays: dict[str, Array]) -> None:
    """Add what the columns of a fitted classifier are to the arrays."""
    basis, column = model._basis, model._state.column
    survivors = np.unique(np.concatenate([[0], column]))
    arrays["columns/candidate"] = survivors[1:].astype(np.int64)
    arrays["weights/column"] = np.searchsorted(survivors, column).astype(np.int64)
    if isinstance(basis, Monomials):
        arrays["columns/first"] = np.asarray(basis.first, dtype=np.int64)
        arrays["columns/second"] = np.asarray(basis.second, dtype=np.int64)
        return
    assert isinstance(model, KernelSDGMClassifier)
    arrays["relevance"] = np.asarray(model.relevance_, dtype=np.int64)
    if not np.array_equal(basis.user_rows, model.relevance_):
        arrays["columns/rows"] = np.asarray(basis.user_rows, dtype=np.int64)
    if isinstance(basis, KernelBasis):
        arrays["relevance_vectors"] = model.relevance_vectors_
        again = model._standardized(model.relevance_vectors_)
        if again.tobytes() != basis.vectors.tobytes():
            arrays["columns/vectors"] = basis.vectors


def columns_document(model: BaseSDGM) -> dict[str, Any]:
    """The form of the columns, and the kernel."""
    form = form_of(model)
    document: dict[str, Any] = {"form": form}
    if isinstance(model, KernelSDGMClassifier):
        document["gamma"] = encoded(float(model.gamma_), "gamma_")
    if form == "kernel":
        kernel = model._basis.kernel
        name = next((name for name, known in KERNELS.items() if type(kernel) is known), None)
        if name is None:
            raise ValueError(
                "kernel is a function, which a model file does not hold; use kernel='poly', 'rbf' "
                "or 'linear'."
            )
        values = {key: encoded(value, key) for key, value in vars(kernel).items()}
        document["kernel"] = {"name": name, "values": values}
    return document


# --- and back ---


def read_columns(model: BaseSDGM, document: dict[str, Any], arrays: Mapping[str, Array]) -> None:
    """Give a classifier its columns."""
    fields = Fields(document, "the columns")
    form = fields.text("form")
    if (form == "monomials") != isinstance(model, SDGMClassifier):
        raise Unsound(f"is not sound: a {type(model).__name__} has no columns of form {form!r}")
    if isinstance(model, SDGMClassifier):
        read_monomials(model, arrays)
    elif isinstance(model, KernelSDGMClassifier):
        model.gamma_ = fields.number("gamma")
        model.relevance_ = arrays["relevance"].astype(np.intp)
        rows = arrays.get("columns/rows", arrays["relevance"]).astype(np.intp)
        if form == "kernel":
            kernel = read_kernel(fields.object("kernel"))
            model.relevance_vectors_ = arrays["relevance_vectors"]
            vectors = arrays.get("columns/vectors")
            if vectors is None:
                vectors = model._standardized(model.relevance_vectors_)
            if not np.isfinite(vectors).all():
                raise Unsound("is not sound: a relevance vector of it is not finite")
            model._basis = KernelBasis(kernel, vectors, rows)
        else:
            model.relevance_vectors_ = None
            if max(rows.max(initial=0), model.relevance_.max(initial=0)) >= model.n_features_in_:
                raise Unsound("is not sound: a relevance vector of it is none of its inputs")
            model._basis = PrecomputedBasis(rows)
    fields.done()


def read_kernel(document: dict[str, Any]) -> Kernel:
    """A kernel by name."""
    fields = Fields(document, "the kernel")
    name, values = fields.text("name"), fields.object("values")
    fields.done()
    if name not in KERNELS:
        raise Unsound(f"is not sound: it has no known kernel, {name!r:.60}")
    try:
        return KERNELS[name](**{key: decoded(value) for key, value in values.items()})
    except (TypeError, ValueError) as error:
        raise Unsound(f"is not sound: its kernel has wrong values, {values!r:.60}") from error


def read_monomials(model: SDGMClassifier, arrays: Mapping[str, Array]) -> None:
    """Monomials, and their names."""
    basis = Monomials(
        arrays["columns/first"].astype(np.intp), arrays["columns/second"].astype(np.intp)
    )
    D = model.n_features_in_
    candidate = arrays["columns/candidate"]
    if not any(np.array_equal(candidate, places(basis, D)) for places in PLACES):
        raise Unsound("is not sound: its terms are none that its columns can be")
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        lengths = np.array([*map(len, names), 0, 0])  # the last two for what is no input
        if int(lengths[basis.first].sum() + lengths[basis.second].sum()) > MAX_NAMES:
            raise Unsound("has names of inputs so long that its terms would fill the memory")
    model._basis = basis
    model.terms_ = model._names(basis)


def full_places(basis: Monomials, D: int) -> IntArray:
    """Where monomials stand among all of degree two; -1 for those that are not there: (n,)."""
    i, j = basis.first, basis.second
    quadratic = 1 + D + i * D - i * (i - 1) // 2 + j - i
    linear = (i >= 0) & (j == ABSENT)
    return np.where(linear, i + 1, np.where((i >= 0) & (j >= i), quadratic, -1))


def diagonal_places(basis: Monomials, D: int) -> IntArray:
    """The same among linear terms, squares and no products."""
    i, j = basis.first, basis.second
    linear = (i >= 0) & (j == ABSENT)
    return np.where(linear, i + 1, np.where((i >= 0) & (i == j), 1 + D + i, -1))


def spherical_places(basis: Monomials, D: int) -> IntArray:
    """The same among linear terms and the squared norm."""
    i, j = basis.first, basis.second
    linear = (i >= 0) & (j == ABSENT)
    norm = (i == SQUARED_NORM) & (j == ABSENT)
    return np.where(linear, i + 1, np.where(norm, 1 + D, -1))


PLACES: tuple[Callable[[Monomials, int], IntArray], ...] = (
    full_places,
    diagonal_places,
    spherical_places,
)
