"""What a C header says about itself: to its reader, and to the compiler."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterator, Sequence

import numpy as np

import sdgm
from sdgm._typing import IntArray
from sdgm.export.c_fixed import SCORE_BITS
from sdgm.export.c_plan import Plan, Precision
from sdgm.export.c_text import LINE, comment, identifiers
from sdgm.tables.inputs import Category, Input
from sdgm.text import listed

# characters of an identifier for all levels of a column, which leaves some for the level
MAX_PREFIX = 44


def constants(plan: Plan, name: str, units: IntArray | None) -> Iterator[str]:
    """Sizes, indices of inputs and classes, codes of levels.

    In fixed point, ``units`` are the bits behind the point of every input.
    """
    NAME = name.upper()
    yield (
        f"#define {NAME}_N_INPUTS {len(plan.inputs)}\n"
        f"#define {NAME}_N_CLASSES {len(plan.class_names)}"
    )
    if units is not None:
        yield (
            f"/* A probability of one, and an input without a value. */\n"
            f"#define {NAME}_ONE {2**SCORE_BITS}\n#define {NAME}_MISSING INT32_MIN"
        )
    taken: set[str] = set()
    inputs = identifiers(f"{NAME}_INPUT_", [column.name for column in plan.inputs], taken)
    used = plan.used_inputs
    bits = [None] * len(inputs) if units is None else units.tolist()
    notes = [
        f"{comment(column.name)}: {_kind(column, bits[i], NAME)}"
        + ("" if i in used else ", not used by the model")
        for i, column in enumerate(plan.inputs)
    ]
    yield _enum("Meaning of x[i].", inputs, notes)
    for column, identifier in zip(plan.inputs, inputs, strict=True):
        if isinstance(column, Category):
            prefix = identifier.replace("_INPUT_", "_LEVEL_", 1)[:MAX_PREFIX] + "_"
            levels = identifiers(prefix, [*column.levels, "missing"], taken)
            absent = "no value" if column.missing else "no value, none of them"
            notes = [*map(comment, column.levels), absent]
            yield _enum(f"Levels of {comment(column.name)}; -1 for any other.", levels, notes)
    classes = identifiers(f"{NAME}_CLASS_", plan.class_names, taken)
    yield _enum("The classes.", classes, [comment(label) for label in plan.class_names])


def _enum(title: str, names: list[str], notes: list[str]) -> str:
    codes = [f"{name} = {i}," for i, name in enumerate(names)]
    codes[-1] = codes[-1].rstrip(",")
    width = max(map(len, codes))
    lines = zip(codes, notes, strict=True)
    body = "\n".join(f"    {code:{width}}  /* {note} */" for code, note in lines)
    return f"/* {title} */\nenum {{\n{body}\n}};"


def _kind(column: Input, bits: int | None, NAME: str) -> str:
    """What an input is, with its unit in fixed point, and whether it may be missing."""
    missing = "NaN" if bits is None else f"{NAME}_MISSING"
    if isinstance(column, Category):
        if not column.missing:
            return f"index of a level; {missing} is none of them"
        return f"index of a level, or {missing} if missing"
    kind = "number" if bits is None else f"number in units of 2^{-bits}"
    if column.fill is None:
        return f"{kind}, never missing"
    return f"{kind}, or {missing} if missing"


def header(plan: Plan, name: str, costs: Sequence[str], body: str) -> str:
    """The body, with a comment for readers above and guards for the compiler around it."""
    NAME, n_weights = name.upper(), int(np.count_nonzero(plan.coef))
    digest = hashlib.sha256(body.encode()).hexdigest()[:8].upper()
    usage = textwrap.wrap(" ".join(_usage(plan, name)), LINE - len(" * "))
    lines = [*_functions(plan, name), "", *usage, "", *costs]
    said = "\n".join(f" * {line}".rstrip() for line in lines)
    return f"""\
/*
 * {name}: a classifier of {len(plan.class_names)} classes, {len(plan.offset)} components and \
{n_weights} weights
 * (without constants), made by sdgm {sdgm.__version__}.
 *
{said}
 * No memory is allocated, and there is no state between calls.
 */
#ifndef {NAME}_MODEL
#define {NAME}_MODEL 0x{digest}

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "{name} needs NaN for missing values: compile without -ffast-math and -ffinite-math-only"
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{body}

#ifdef __cplusplus
}}
#endif

#elif {NAME}_MODEL != 0x{digest}
#error "two different models are called {name}: export one of them with another name"
#endif
"""


def _functions(plan: Plan, name: str) -> list[str]:
    """Declarations of what a user calls."""
    NAME, fixed = name.upper(), plan.precision is Precision.FIXED
    real = "int32_t" if fixed else str(plan.precision)
    lines = [
        f"  int {name}_predict(const {real} x[{NAME}_N_INPUTS]);",
        f"  int {name}_predict_proba(const {real} x[{NAME}_N_INPUTS], {real} p[{NAME}_N_CLASSES]);",
        f"  const char *{name}_class_name(int c);",
    ]
    return [*lines, f"  int32_t {name}_input(int i, double value);"] if fixed else lines


def _usage(plan: Plan, name: str) -> Iterator[str]:
    """Inputs in words."""
    NAME, fixed = name.upper(), plan.precision is Precision.FIXED
    yield "x holds the columns of the table that the model was trained on, in the order and units"
    if fixed:
        yield f"below, as integers; {name}_input converts floating-point numbers and"
        yield f"need not be used. Probabilities are in units of 1 / {NAME}_ONE."
    else:
        yield "below."
    shares = "so are the probabilities" if fixed else "the probabilities are NaN"
    outcome = f"the class is -1 and {shares}."
    if plan.plain:
        yield f"If an input is {f'{NAME}_MISSING' if fixed else 'NaN or infinite'}, {outcome}"
        return
    yield f"A missing value is {f'{NAME}_MISSING' if fixed else 'NaN'}."
    categories = [column for column in plan.inputs if isinstance(column, Category)]
    if not all(column.missing for column in categories):
        yield "For a category without missing values in training it is none of the levels."
    refused = list(_refused(plan))
    if refused:
        yield f"Invalid are {listed(refused)}: {outcome}"


def _refused(plan: Plan) -> Iterator[str]:
    """Invalid inputs, in words."""
    numbers = [column for column in plan.inputs if not isinstance(column, Category)]
    if any(column.fill is None for column in numbers):
        yield "missing values of a number without missing values in training"
    if numbers and plan.precision is not Precision.FIXED:
        yield "infinite numbers"
    if len(numbers) < len(plan.inputs):
        yield "codes of unknown levels"
