"""The formula of a model as ONNX operators, for files of our own and for skl2onnx alike.

Only operators of ``ai.onnx`` that are the same from opset 13 on, in single or double precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.fitted_model import FAR_AWAY
from sdgm.core.model.kernels import KernelBasis, PolynomialKernel, RBFKernel
from sdgm.export.model import ExportModel

# from here on all operators that are used are the same
OLDEST_OPSET = 13
# the largest number that should occur in single precision, which ends at 3.4e38
LARGEST_FLOAT = 1e37

DType = type[np.float32] | type[np.float64]


class Graph(ABC):
    """What takes the operators in."""

    @abstractmethod
    def new_name(self, name: str) -> str:
        """A name that no other output or array has."""

    @abstractmethod
    def add(self, operator: str, inputs: Sequence[str], outputs: list[str], **options: Any) -> None:
        """Add an operator with names for its outputs."""

    @abstractmethod
    def constant(self, values: np.ndarray[Any, Any], name: str) -> str:
        """Add an array; its name, made unique."""

    def node(
        self, operator: str, *inputs: str, name: str, n_outputs: int = 1, **options: Any
    ) -> list[str]:
        """Add an operator; the names of its outputs, made unique."""
        outputs = [self.new_name(name) for _ in range(n_outputs)]
        self.add(operator, inputs, outputs, **options)
        return outputs


class Writer:
    """Operators of one model, in one precision."""

    def __init__(self, graph: Graph, model: ExportModel, dtype: DType) -> None:
        self.graph, self.model, self.dtype = graph, model, dtype
        self.reach = reach(model, dtype)

    def node(self, operator: str, *inputs: str, name: str, **attributes: Any) -> str:
        """An operator with one output."""
        return self.graph.node(operator, *inputs, name=name, **attributes)[0]

    def number(self, values: Any, name: str) -> str:
        """Numbers of the model in its precision."""
        rounded = self._rounded(np.asarray(values))
        if not np.isfinite(rounded).all():
            raise ValueError(
                f"{name} is up to {np.abs(values).max():.3g}, more than single precision can hold; "
                "use precision='float'."
            )
        return self.graph.constant(rounded, name)

    def _rounded(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with np.errstate(over="ignore", under="ignore"):
            return values.astype(self.dtype)

    def probabilities(self, features: str) -> str:
        """Class probabilities (N, C) of features (N, D), NaN in rows where a feature is NaN."""
        model, z = self.model, self._standardized(features)
        is_primal = isinstance(model.basis, Monomials)
        columns = self._monomials(z, model.basis) if is_primal else self._kernels(z, model.basis)
        coef = model.coef[:, _order(model.basis)].T
        if columns is None:  # all weights were removed: any column will do, times zero
            columns, coef = z, np.zeros((len(model.center), len(model.offset)))
        scores = self.node("MatMul", columns, self.number(coef, "weights"), name="weighted")
        scores = self.node("Add", scores, self.number(model.offset, "offsets"), name="scores")
        P = self.node("Softmax", scores, name="mode_probabilities", axis=1)
        membership = model.component_class[:, None] == np.arange(len(model.classes))
        if len(membership) > len(model.classes):
            P = self.node("MatMul", P, self.number(membership, "mode_class"), name="class_sums")
            # a sum of rounded probabilities may be just above one
            P = self.node("Min", P, self.number(1.0, "one"), name="class_probabilities")
        return self._without_missing(features, P)

    def outputs(
        self, P: str, label: str, probabilities: str, labels: np.ndarray[Any, Any], dtype: DType
    ) -> None:
        """Label and probabilities as outputs of these names, the latter of this type."""
        self.graph.add("Cast", [P], [probabilities], to=onnx_type(dtype))
        best = self.node("ArgMax", P, name="class_index", axis=1, keepdims=0)
        classes = self.graph.constant(labels, "classes")
        self.graph.add("Gather", [classes, best], [label], axis=0)

    def _standardized(self, features: str) -> str:
        center = self.model.center
        high = self._rounded(center)
        # what rounding the center leaves out is subtracted next: beside a large mean it matters
        low = np.where(np.isfinite(high), center - high.astype(np.float64), 0.0)
        z = self.node("Sub", features, self.number(center, "center"), name="offset")
        if low.any():
            z = self.node("Sub", z, self.number(low, "center_rest"), name="offset")
        inverse = self.model.inverse_scale
        read = inverse[inverse > 0.0]  # the others are left out
        if not self._rounded(read).all():
            raise ValueError(
                f"an input has a deviation of {1 / read.min():.3g}, too large for single "
                "precision; use precision='float'."
            )
        z = self.node("Mul", z, self.number(inverse, "inverse_scale"), name="scaled")
        ends = self.number(-self.reach, "low"), self.number(self.reach, "high")
        return self.node("Clip", z, *ends, name="standardized")

    def _without_missing(self, features: str, P: str) -> str:
        """NaN in the rows that have one: not all operators pass it on."""
        is_nan = self.node("IsNaN", features, name="is_nan")
        is_nan = self.node("Cast", is_nan, name="is_nan", to=onnx_type(self.dtype))
        ones = self.number(np.ones((len(self.model.center), 1)), "ones")
        count = self.node("MatMul", is_nan, ones, name="nan_count")
        missing = self.node("Greater", count, self.number(0.5, "half"), name="has_nan")
        nan = self.graph.constant(np.array(np.nan, dtype=self.dtype), "nan")
        return self.node("Where", missing, nan, P, name="checked_probabilities")

    def _monomials(self, z: str, basis: Monomials) -> str | None:
        """Linear terms, products and the squared norm, in this order: (N, n_columns)."""
        linear, products, norms = _kinds(basis)
        blocks = []
        if len(linear):
            blocks.append(self._columns(z, basis.first[linear], "linear_terms"))
        if len(products):
            first = self._columns(z, basis.first[products], "first_factors")
            second = self._columns(z, basis.second[products], "second_factors")
            blocks.append(self.node("Mul", first, second, name="products"))
        if len(norms):
            blocks.append(self._squared_norm(z))
        if len(blocks) > 1:
            return self.node("Concat", *blocks, name="columns", axis=1)
        return blocks[0] if blocks else None

    def _columns(self, z: str, indices: Any, name: str) -> str:
        chosen = self.graph.constant(np.asarray(indices, dtype=np.int64), f"{name}_index")
        return self.node("Gather", z, chosen, name=name, axis=1)

    def _squared_norm(self, z: str) -> str:
        squares = self.node("Mul", z, z, name="squares")
        ones = self.number(np.ones((len(self.model.center), 1)), "ones")
        return self.node("MatMul", squares, ones, name="squared_norm")

    def _kernels(self, z: str, basis: KernelBasis) -> str | None:
        """Kernel values at the relevance vectors: (N, n_vectors)."""
        kernel, V = basis.kernel, basis.vectors
        if not len(V):
            return None
        if isinstance(kernel, RBFKernel):
            near = self.dtype is np.float64
            distance = self._distances(z, V) if near else self._distances_by_input(z, V)
            rate = self.number(-kernel.gamma, "minus_gamma")
            exponent = self.node("Mul", distance, rate, name="exponent")
            return self.node("Exp", exponent, name="kernel")
        if isinstance(kernel, PolynomialKernel):
            inner = self.node("MatMul", z, self.number(kernel.gamma * V.T, "vectors"), name="inner")
            if kernel.coef0:
                inner = self.node("Add", inner, self.number(kernel.coef0, "coef0"), name="inner")
            return self._power(inner, int(kernel.degree))
        return self.node("MatMul", z, self.number(V.T, "vectors"), name="kernel")

    def _power(self, base: str, degree: int) -> str:
        """A whole power by squaring."""
        if degree == 1:
            return base
        half = self._power(base, degree // 2)
        power = self.node("Mul", half, half, name="power")
        return self.node("Mul", power, base, name="power") if degree % 2 else power

    def _distances(self, z: str, V: FloatArray) -> str:
        """Squared distances as |z|^2 - 2 z'v + |v|^2, about the middle of the vectors."""
        origin = V.mean(axis=0)
        v = V - origin
        x = self.node("Sub", z, self.number(origin, "origin"), name="about_origin")
        cross = self.node("MatMul", x, self.number(-2.0 * v.T, "vectors"), name="cross")
        squares = self.number((v * v).sum(axis=1), "vector_squares")
        distance = self.node("Add", self._squared_norm(x), cross, name="distance")
        distance = self.node("Add", distance, squares, name="distance")
        return self.node("Max", distance, self.number(0.0, "zero"), name="distance")

    def _distances_by_input(self, z: str, V: FloatArray) -> str:
        """Squared distances as sums of squared differences, which single precision needs."""
        D = V.shape[1]
        sizes = self.graph.constant(np.ones(D, dtype=np.int64), "sizes")
        parts = self.graph.node("Split", z, sizes, name="input", n_outputs=D, axis=1)
        total = ""
        for part, values in zip(parts, V.T, strict=True):
            apart = self.node("Sub", part, self.number(values, "vector_inputs"), name="apart")
            square = self.node("Mul", apart, apart, name="square")
            total = self.node("Add", total, square, name="distance") if total else square
        return total


def onnx_type(dtype: DType) -> int:
    """Number of a type in ONNX."""
    return 11 if dtype is np.float64 else 1


def _kinds(basis: Monomials) -> tuple[Any, Any, Any]:
    """Indices of linear terms, of products and of the squared norm."""
    norm = basis.first == SQUARED_NORM
    linear = (basis.second == ABSENT) & ~norm
    return np.flatnonzero(linear), np.flatnonzero(~linear & ~norm), np.flatnonzero(norm)


def _order(basis: Monomials | KernelBasis) -> Any:
    """In which order the graph has the columns of the basis."""
    return np.concatenate(_kinds(basis)) if isinstance(basis, Monomials) else slice(None)


def reach(model: ExportModel, dtype: DType) -> float:
    """Furthest standardised input that is taken as it is.

    As in Python in double precision; in single precision no further than where nothing overflows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> from sdgm.export.model import exportable
    >>> model = exportable(SDGMClassifier(n_components=1).fit(*load_iris(return_X_y=True)))
    >>> reach(model, np.float64) > 1e30, 1e15 < reach(model, np.float32) < 1e20
    (True, True)
    """
    if dtype is np.float64:
        return float(model.reach)
    D, basis = len(model.center), model.basis
    weight = max(1.0, float(np.abs(model.coef).sum(axis=1).max(initial=0.0)))
    if isinstance(basis, Monomials):
        degree = 1 if np.all(basis.second == ABSENT) and np.all(basis.first >= 0) else 2
        largest = (LARGEST_FLOAT / (weight * D)) ** (1 / degree)
    else:
        largest = _kernel_reach(basis, D, weight)
    largest = min(largest, float(model.reach))
    if largest < float(model.reach) / FAR_AWAY:
        raise ValueError(
            "the scores of this model overflow in single precision at its training rows; "
            "use precision='float', which computes in double."
        )
    return largest


def _kernel_reach(basis: KernelBasis, D: int, weight: float) -> float:
    kernel, V = basis.kernel, np.abs(basis.vectors)
    if isinstance(kernel, RBFKernel):
        return sqrt(LARGEST_FLOAT / (D * max(1.0, kernel.gamma))) - float(V.max(initial=0.0))
    degree, gamma, coef0 = 1, 1.0, 0.0
    if isinstance(kernel, PolynomialKernel):
        degree, gamma, coef0 = kernel.degree, kernel.gamma, kernel.coef0
    size = gamma * float(V.sum(axis=1).max(initial=0.0))
    inner = (LARGEST_FLOAT / weight) ** (1 / degree) - coef0
    return inner / size if size else inf
