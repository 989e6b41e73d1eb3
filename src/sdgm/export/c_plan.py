"""What a C header computes with: the inputs that matter, in the precision asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.fitted_model import FAR_AWAY
from sdgm.core.model.kernels import KernelBasis, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.export.model import ExportModel
from sdgm.tables.inputs import Input, Number

# scores stay this far below the largest number, so that differences of two are numbers too
HEADROOM = 1.0 / 16.0
# how many times further out than the training rows an input must be before it is moved in
MIN_MARGIN = 10.0


class Precision(StrEnum):
    """Type of the numbers in C."""

    DOUBLE = "double"
    FLOAT = "float"
    FIXED = "fixed"

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """The same type in numpy; of what whole numbers are made from, in fixed point."""
        return np.float32 if self is Precision.FLOAT else np.float64

    def rounded(self, values: FloatArray) -> FloatArray:
        """Numbers as constants of this type hold them; infinite where they do not."""
        with np.errstate(over="ignore", under="ignore"):
            return values.astype(self.dtype).astype(np.float64)


@dataclass(frozen=True)
class Plan:
    """The numbers of a header."""

    precision: Precision
    inputs: tuple[Input, ...]
    class_names: tuple[str, ...]
    used: IntArray  # features that some column needs; z has one entry for each
    feature_names: tuple[str, ...]  # of the used ones
    center: FloatArray  # (n_used,), as the type holds it
    center_rest: FloatArray  # what rounding took from the center
    inverse_scale: FloatArray
    model_reach: float  # furthest standardised input that is taken as it is, in Python
    reach: float  # and in C
    basis: Monomials | KernelBasis  # on z, with only those columns that have a weight
    coef: FloatArray  # (n_components, n_columns)
    offset: FloatArray  # (n_components,)
    component_class: IntArray
    vector_names: tuple[str, ...]  # where the vectors of a kernel come from

    @property
    def plain(self) -> bool:
        """Whether every input is a number that is never missing, and so a feature."""
        return all(isinstance(i, Number) and i.fill is None for i in self.inputs)

    @property
    def used_inputs(self) -> set[int]:
        """Inputs of which some feature is used."""
        owner = np.repeat(np.arange(len(self.inputs)), [len(i.features) for i in self.inputs])
        return set(owner[self.used].tolist())

    @property
    def mixed(self) -> bool:
        """Whether some class has several components."""
        return len(self.component_class) > len(self.class_names)


def make_plan(
    model: ExportModel, precision: Precision, rows: Mapping[int, int] | None = None
) -> Plan:
    """Leave out what does not matter, and round the rest, if it fits into the type.

    ``rows`` are rows of the user's table, from 1, by row of the training rows.
    """
    columns = np.flatnonzero((model.coef != 0.0).any(axis=0))
    coef = model.coef[:, columns]
    used = replace(model.model, basis=model.basis.take(columns)).inputs_read
    basis = model.basis.take(columns).only_inputs(used, len(model.center))
    offset = model.offset
    if not len(used):  # kernel values that do not depend on the inputs
        offset = offset + coef @ basis.transform(np.empty((1, 0)))[0]
        basis, coef = Monomials(*np.empty((2, 0), dtype=np.intp)), coef[:, :0]
    center, inverse_scale = model.center[used], model.inverse_scale[used]
    names = tuple(model.feature_names[i] for i in used)
    check_scales(names, center, inverse_scale, precision)
    rounded_center = precision.rounded(center)
    return Plan(
        precision=precision,
        inputs=model.inputs,
        class_names=tuple(str(label) for label in model.classes.tolist()),
        used=used,
        feature_names=names,
        center=rounded_center,
        center_rest=center - rounded_center,
        inverse_scale=inverse_scale,
        model_reach=model.reach,
        reach=safe_reach(basis, coef, offset, len(used), model.reach, precision),
        basis=basis,
        coef=coef,
        offset=offset,
        component_class=model.component_class,
        vector_names=vector_names(basis, rows or {}),
    )


def vector_names(basis: Monomials | KernelBasis, rows: Mapping[int, int]) -> tuple[str, ...]:
    """Where the vectors of a kernel come from: a row of the table, or else of the array."""
    if isinstance(basis, Monomials):
        return ()
    return tuple(
        f"row {rows[row]} of the table" if row in rows else f"X[{row}] of training"
        for row in basis.user_rows.tolist()
    )


def check_scales(
    names: tuple[str, ...], center: FloatArray, inverse_scale: FloatArray, precision: Precision
) -> None:
    """Refuse features whose standardisation needs numbers that the type does not have."""
    info = np.finfo(precision.dtype)
    normal = (inverse_scale >= info.tiny) & (inverse_scale <= info.max)
    fits = (np.abs(center) <= info.max) & (normal | (precision is not Precision.FLOAT))
    if not fits.all():
        i = int(np.flatnonzero(~fits)[0])
        raise ValueError(
            f"{names[i]!r} has mean {center[i]:.3g} and deviation {1.0 / inverse_scale[i]:.3g}, "
            f"which {precision} does not hold; use precision='double' or other units."
        )


def safe_reach(
    basis: Monomials | KernelBasis,
    coef: FloatArray,
    offset: FloatArray,
    n_used: int,
    reach: float,
    precision: Precision,
) -> float:
    """How far out standardised inputs may be taken as they are: no score overflows there.

    The model's own reach, or the largest power of ten up to which all is well.
    """
    limit = HEADROOM * float(np.finfo(precision.dtype).max)
    far = reach
    exponent = int(np.floor(np.log10(reach)))
    while not largest_value(basis, coef, offset, n_used, far) <= limit:
        far = 10.0**exponent
        exponent -= 1
        if far < MIN_MARGIN * reach / FAR_AWAY:
            is_float = precision is Precision.FLOAT
            wide = "precision='double'" if is_float else "a kernel of lower degree"
            raise ValueError(
                f"the scores are too large for {precision}: they overflow at standardised inputs "
                f"of {far:.3g}; use {wide}."
            )
    return far


def largest_value(
    basis: Monomials | KernelBasis, coef: FloatArray, offset: FloatArray, n_used: int, reach: float
) -> float:
    """Bound of everything that is computed for inputs up to the reach."""
    weights = np.abs(coef)
    with np.errstate(over="ignore", invalid="ignore"):
        columns, inside = largest_columns(basis, n_used, reach)
        scores = np.abs(offset) + (weights * np.maximum(columns, 1.0)).sum(axis=1)
        values = np.concatenate([columns, inside, scores, weights.ravel()])
    return float(values.max()) if np.isfinite(values).all() else np.inf


def largest_columns(
    basis: Monomials | KernelBasis, n_used: int, reach: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of every column, and of what it is computed from, for inputs up to the reach."""
    if isinstance(basis, Monomials):
        size = {ABSENT: 1.0, SQUARED_NORM: n_used * reach**2}
        factors = zip(basis.first.tolist(), basis.second.tolist(), strict=True)
        columns = np.array([size.get(i, reach) * size.get(j, reach) for i, j in factors])
        return columns, columns
    kernel, vectors = basis.kernel, np.abs(basis.vectors)
    if isinstance(kernel, RBFKernel):
        squares = ((reach + vectors) ** 2).sum(axis=1)
        return np.ones(len(vectors)), squares * max(1.0, kernel.gamma)
    products = reach * vectors.sum(axis=1)
    if isinstance(kernel, LinearKernel):
        return products, products
    assert isinstance(kernel, PolynomialKernel)
    inner = kernel.gamma * products + kernel.coef0
    return inner ** float(kernel.degree), np.maximum(products, inner)
