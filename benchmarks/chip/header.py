"""Headers of `to_c` on an emulated board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chip.board import HERE, Board, Run, run
from sdgm.export.c import to_c
from sdgm.export.c_fixed import SCORE_BITS, fixed_point
from sdgm.export.c_plan import Precision, make_plan
from sdgm.export.model import only_what_is_read

TYPES: dict[str, tuple[str, Any]] = {
    "double": ("double", np.float64),
    "float": ("float", np.float32),
    "fixed": ("int32_t", np.int32),
}


def as_numbers(model: Any, precision: str, X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Rows of numbers as the header takes them."""
    if precision == "fixed":
        bits = fixed_point(make_plan(only_what_is_read(model), Precision.FIXED)).input_bits
        units = np.rint(np.ldexp(X, bits.astype(np.intp)))
        X = np.clip(units, -(2.0**31) + 1.0, 2.0**31 - 1.0)
    return np.ascontiguousarray(X, dtype=TYPES[precision][1])


def ask_header(
    board: Board,
    folder: Path,
    model: Any,
    precision: str,
    X: np.ndarray[Any, Any],
    *flags: str,
    label: bool = False,
) -> tuple[Run, np.ndarray[Any, Any]]:
    """What the board answers and spends, and the probabilities, empty for the label alone."""
    to_c(model, precision=precision, name="model", path=folder / "model.h")
    ctype, dtype = TYPES[precision]
    n_classes = 0 if label else len(only_what_is_read(model).classes)
    answer = np.dtype([("c", np.int32), ("pad", np.int32), ("p", dtype, (n_classes,))])
    flags = (*flags, f"-DNUMBER={ctype}", *(["-DLABEL"] if label else []))
    done = run(board, folder, [HERE / "model.c"], as_numbers(model, precision, X), answer, *flags)
    P = done.answers["p"].astype(np.float64)
    return done, P / 2**SCORE_BITS if precision == "fixed" else P
