"""A fitted model as one C99 header, for programs and devices that have no Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdgm._choice import choice
from sdgm.atomic import checked_path, replacing
from sdgm.core.model.kernels import KernelBasis, RBFKernel
from sdgm.description.from_model import table_rows
from sdgm.export.c_code import header_functions
from sdgm.export.c_fixed import fixed_point
from sdgm.export.c_fixed_code import fixed_arithmetic
from sdgm.export.c_header import constants, header
from sdgm.export.c_plan import Plan, Precision, make_plan
from sdgm.export.c_real import real_arithmetic
from sdgm.export.c_tables import Tables
from sdgm.export.c_text import checked_name
from sdgm.export.model import only_what_is_read


@dataclass(frozen=True)
class CSource:
    """A header, and what it costs.

    Attributes
    ----------
    name : str
        What all its identifiers begin with.
    text : str
        The header itself, in ASCII.
    flash_bytes : int
        Of its constants. Code comes on top, usually 1 to 2 kB. AVR compilers also copy constants
        to RAM by default.
    ram_bytes : int
        Of arrays on the stack during a prediction. There is no other memory.
    multiply_adds, exponentials : int
        Of a prediction, and of a call of ``predict_proba``.
    error_bound : float or None
        In fixed point, the most that a probability can differ from Python's.
    """

    name: str
    text: str
    flash_bytes: int
    ram_bytes: int
    multiply_adds: int
    exponentials: int
    error_bound: float | None = None

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the header to a file, such as ``model.h``, which is complete or as before."""
        path = checked_path(path)
        with replacing(path, text=True) as file:
            file.write(self.text)
        return path


def to_c(
    model: Any,
    *,
    precision: str = "double",
    name: str = "sdgm",
    path: str | os.PathLike[str] | None = None,
) -> CSource:
    """A fitted model as a C99 header: constant tables and inline functions, no memory of its own.

    The header needs ``math.h`` only and works in C++ as well. Several can be included in one
    program under different names. With ``name="iris"`` it offers:

        int iris_predict(const double x[IRIS_N_INPUTS]);
        int iris_predict_proba(const double x[IRIS_N_INPUTS], double p[IRIS_N_CLASSES]);
        const char *iris_class_name(int c);

    The first two return the index of the most probable class. Inputs are the columns of the table
    in order: numbers in their original units, and categories as indices, for which there are
    constants; -1 stands for any other category. A missing value is NaN. If there were none in
    training, a missing category is none of the levels, and a missing number is invalid. For invalid
    inputs, which include infinite numbers and unknown codes, the class is -1 and the probabilities
    are NaN.

    Probabilities use the MAP weights (``predictive="map"``). Features that ``max_features`` left
    out are not inputs.

    Parameters
    ----------
    model : fitted classifier, TableModel or ExportModel
        As in `sdgm.export.model.exportable`.
    precision : {"double", "float", "fixed"}, default="double"
        Number format. With float, inputs far from the training rows are clipped earlier, so that no
        score overflows; the header states the range. With fixed, inputs and probabilities are
        32-bit integers in units that the header states, a missing value is ``IRIS_MISSING``,
        ``iris_input`` converts numbers, and invalid inputs have probabilities of -1.
    name : str, default="sdgm"
        Prefix of all identifiers.
    path : path, optional
        File to write.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> data = load_iris()
    >>> model = SDGMClassifier(n_components=1).fit(data.data, data.target_names[data.target])
    >>> source = to_c(model, name="iris", precision="float")
    >>> source.flash_bytes < 200, source.ram_bytes < 100
    (True, True)
    """
    checked_name(name)
    numbers = only_what_is_read(model)
    plan = make_plan(numbers, choice("precision", precision, Precision), _rows_of_table(model))
    source = _source(plan, name)
    if path is not None:
        source.write(path)
    return source


def _rows_of_table(model: Any) -> Mapping[int, int]:
    """Rows of the user's table, from 1, by row of the training rows; empty where not known."""
    if not hasattr(model, "record") or not hasattr(model.classifier, "relevance_"):
        return {}
    return dict(zip(model.classifier.relevance_.tolist(), table_rows(model) or [], strict=False))


def _source(plan: Plan, name: str) -> CSource:
    """The header of a plan."""
    tables = Tables(name, str(plan.precision))
    K, C, n_used = len(plan.offset), len(plan.class_names), len(plan.used)
    fixed = fixed_point(plan) if plan.precision is Precision.FIXED else None
    arithmetic = fixed_arithmetic(plan, fixed, tables) if fixed else real_arithmetic(plan, tables)
    functions, multiply_adds, n_z = header_functions(plan, arithmetic, tables)
    ram_bytes = tables.real_bytes * (n_z + K + (C if plan.mixed else 0))
    if fixed:
        ram_bytes = 4 * (n_used + 2) + 8 * (K + C)
    basis, exponentials = plan.basis, K
    if isinstance(basis, KernelBasis) and isinstance(basis.kernel, RBFKernel):
        exponentials += len(basis.vectors)
    costs = [
        f"Constants take {tables.n_bytes} bytes, arrays on the stack {ram_bytes} bytes.",
        f"A prediction needs {multiply_adds} multiply-adds, probabilities {exponentials} "
        "exponentials.",
    ]
    if fixed:
        costs.append(
            f"Probabilities are off by at most {fixed.error:.2g} if no standardised input is "
            f"beyond {fixed.range:g}."
        )
    units = fixed.input_bits if fixed else None
    body = "\n\n".join([*constants(plan, name, units), tables.text, *functions])
    return CSource(
        name=name,
        text=header(plan, name, costs, body),
        flash_bytes=tables.n_bytes,
        ram_bytes=ram_bytes,
        multiply_adds=multiply_adds,
        exponentials=exponentials,
        error_bound=fixed.error if fixed else None,
    )
