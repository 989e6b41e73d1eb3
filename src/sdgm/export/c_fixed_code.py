"""Fixed-point arithmetic of a C header: whole numbers only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sdgm.core.model.kernels import KernelBasis, RBFKernel
from sdgm.export.c_code import (
    Arithmetic,
    accept_function,
    feature_statements,
    has_norm,
    kernel_function,
    loop,
    plain_features,
    refuse_any,
)
from sdgm.export.c_fixed import (
    BITS,
    FAR_EXPONENT,
    HALF_BITS,
    SCORE_BITS,
    Fixed,
    Scaled,
    sum_shift,
    term_shift,
)
from sdgm.export.c_plan import Plan
from sdgm.export.c_tables import Tables
from sdgm.tables.inputs import Category

LARGEST_INT32 = 2**31 - 1  # INT32_MAX of C
# 2^-f for f from 0 to 1: interpolated at Chebyshev nodes, in units of 2^-30
POWERS_OF_TWO = (1073741823, -744260973, 257938912, -59582935, 10286296, -1369601, 117391)
# turns exponents of e into exponents of 2, in units of 2^-BITS
LOG2_E = round(2**BITS / float(np.log(2.0)))


def rounded(product: str, bits: int) -> str:
    """C code of a 64-bit number divided by a power of two; halves go up."""
    return f"(({product} + {2 ** (bits - 1)}) >> {bits})" if bits else f"({product})"


def fixed_arithmetic(plan: Plan, fixed: Fixed, tables: Tables) -> Arithmetic:
    """Numbers of 32 bits and products of 64."""
    name, NAME, n_used = tables.name, tables.name.upper(), len(plan.used)
    helpers, scaled = list(_helpers(plan, fixed, tables)), fixed.scaled
    product = "(int64_t)z[{0}] * z[{1}]"
    monomial = f"sum += (int64_t)(int32_t)(({product}) >> {HALF_BITS}) * {name}_weight[i];"
    shift = 0
    if scaled is not None:
        shift = scaled.weight_bits + scaled.column_bits - SCORE_BITS
        monomial = f"""\
const int64_t column = {rounded(product, BITS)};
            sum += {rounded(f"column * {name}_weight[i]", shift)};"""
    far, lost = FAR_EXPONENT << SCORE_BITS, sum_shift(len(plan.offset))
    apart = rounded("(most - score[k])", fixed.score_bits - SCORE_BITS)
    return Arithmetic(
        value="int32_t",
        wide="int64_t",
        zero="0",
        one=str(fixed.one),
        helpers=helpers,
        multiply_adds=n_used * (1 + has_norm(plan)),
        features=_features(plan, fixed, tables),
        offset=fixed.offset,
        weight=fixed.weight,
        vectors=scaled.kernel.vectors if scaled and scaled.kernel else None,
        monomial=monomial.format,
        kernel_term=rounded(f"kernel * {name}_weight[i]", shift),
        part=f"const int64_t apart = {apart};\n"
        f"        const int64_t d = apart < {far} ? apart : {far};\n"
        f"        const int64_t part = {name}_exp2({rounded(f'd * {LOG2_E}', BITS)});",
        sums="sum",
        share=f"{name}_quotient((uint32_t)(sum[c] >> {lost}), (uint32_t)(total >> {lost}))",
        no_share="-1",
        by_class=True,
        scores_are=f"Scores of the components in units of 2^-{fixed.score_bits}",
        shares_are=f"Probabilities in units of 1 / {NAME}_ONE, and the index of the largest; -1 "
        "for invalid inputs.",
    )


def _helpers(plan: Plan, fixed: Fixed, tables: Tables) -> Iterator[str]:
    name, n_used = tables.name, len(plan.used)
    tables.array("input_bits", fixed.input_bits)
    yield f"""\
/* Converts a floating-point number to the integer in x[i]. */
static inline int32_t {name}_input(int i, double value)
{{
    const double units = floor(ldexp(value, {name}_input_bits[i]) + 0.5);
    if (isnan(value) != 0) {{
        return {name.upper()}_MISSING;
    }}
    if (units >= {LARGEST_INT32}.0) {{
        return INT32_MAX;
    }}
    return units <= -{LARGEST_INT32}.0 ? -INT32_MAX : (int32_t)units;
}}"""
    yield accept_function(name, "int32_t", _accepts(plan, name))
    yield f"""\
#if (-1 >> 1) != -1
#error "{name} needs a compiler with an arithmetic right shift"
#endif"""
    *lower, highest = POWERS_OF_TWO
    step = rounded("p * f", SCORE_BITS)
    tables.array("powers", np.array(lower[::-1], dtype=np.int32))
    yield f"""\
/* 2^-t in units of 2^-{BITS}, with t in units of 2^-{SCORE_BITS}. */
static inline int64_t {name}_exp2(int64_t t)
{{
    const int64_t f = t & {2**SCORE_BITS - 1};
    const int whole = (int)(t >> {SCORE_BITS});
    int64_t p = {highest};
    size_t i;
    if (t == 0) {{
        return {2**BITS};
    }}
    if (whole > {BITS}) {{
        return 0;
    }}
{loop("i", len(lower), f"p = {name}_powers[i] + {step};")}
    return p >> whole;
}}"""
    yield f"""\
/* a / b in units of 1 / {name.upper()}_ONE, for a up to b up to 2^31. */
static inline int32_t {name}_quotient(uint32_t a, uint32_t b)
{{
    uint32_t rest = a;
    int32_t quotient = 0;
    int i;
    for (i = 0; i <= {SCORE_BITS}; ++i) {{
        quotient *= 2;
        if (rest >= b) {{
            rest -= b;
            ++quotient;
        }}
        rest *= 2U;
    }}
    return rest >= b ? quotient + 1 : quotient;
}}"""
    if n_used:
        tables.array("center", fixed.center, plan.feature_names)
        yield _standardized(fixed, fixed.scaled, tables)
    if has_norm(plan):
        assert fixed.scaled is not None
        yield _squared_norm(n_used, fixed.scaled, name)
    if isinstance(plan.basis, KernelBasis):
        assert fixed.scaled is not None
        yield _kernel(plan.basis, fixed.scaled, name)


def _standardized(fixed: Fixed, scaled: Scaled | None, tables: Tables) -> str:
    """The function that standardises one feature."""
    name = tables.name
    if scaled is not None:
        tables.array("scale", scaled.scale)
        tables.indices("scale_shift", scaled.shift)
        return f"""\
/* A feature, standardised, in units of 2^-{scaled.z_bits}; clipped at {fixed.range:g}. */
static inline int32_t {name}_standardized(int32_t value, size_t i)
{{
    const int64_t most = {2**BITS};
    const int bits = {name}_scale_shift[i];
    const int64_t half = ((int64_t)1 << bits) >> 1;
    const int64_t z = (((int64_t)value - {name}_center[i]) * {name}_scale[i] + half) >> bits;
    return (int32_t)(z < -most ? -most : z > most ? most : z);
}}"""
    if isinstance(fixed.shift, int):
        most, unit = str(LARGEST_INT32 >> fixed.shift), str(1 << fixed.shift)
        declared = ""
    else:
        tables.indices("shift", fixed.shift)
        most, unit = "(INT32_MAX / unit)", "unit"
        declared = f"    const int32_t unit = (int32_t)1 << {name}_shift[i];\n"
    return f"""\
/* A feature less its center, in a unit of its own; clipped beyond {fixed.range:g} deviations. */
static inline int32_t {name}_standardized(int32_t value, size_t i)
{{
    const int32_t center = {name}_center[i];
{declared}    const int32_t most = {most};
    const int32_t z = value < center - most ? -most : value > center + most ? most : value - center;
    return z * {unit};
}}"""


def _squared_norm(n_used: int, scaled: Scaled, name: str) -> str:
    """The squared norm of a standardised row."""
    lost = term_shift(n_used)
    return f"""\
/* |z|^2 / 2^{scaled.norm_shift}. */
static inline int32_t {name}_squared_norm(const int32_t z[])
{{
    int64_t sum = 0;
    size_t i;
{loop("i", n_used, f"sum += {rounded('(int64_t)z[i] * z[i]', lost)};")}
    return (int32_t)({rounded("sum", scaled.z_bits + scaled.norm_shift - lost)});
}}"""


def _accepts(plan: Plan, name: str) -> str:
    """Statements that refuse invalid inputs."""
    if plan.plain:
        return refuse_any(plan, f"x[i] == {name.upper()}_MISSING")
    refused = []
    for i, column in enumerate(plan.inputs):
        missing = f"{name.upper()}_MISSING"
        if isinstance(column, Category):
            outside = f"(x[{i}] < -1 || x[{i}] > {len(column.levels)})"
            refused.append(f"(x[{i}] != {missing} && {outside})")
        elif column.fill is None:
            refused.append(f"x[{i}] == {missing}")
    if not refused:
        return "    (void)x;\n    return 1;"
    return "    return !(" + " ||\n        ".join(refused) + ");"


def _features(plan: Plan, fixed: Fixed, tables: Tables) -> str:
    """Statements that fill z."""
    name = tables.name
    if plan.plain and len(plan.used):
        return plain_features(plan, tables)
    missing = f"x[{{0}}] == {name.upper()}_MISSING"

    def fill(i: int, value: float) -> str:
        units = np.rint(np.ldexp(value, fixed.input_bits[i]))
        return str(int(np.clip(units, -LARGEST_INT32, LARGEST_INT32)))

    return feature_statements(
        plan,
        name,
        zero="0",
        one=lambda at: str(1 << int(fixed.feature_bits[at])),
        missing=missing.format,
        level=(missing + " ? {1} : (int)x[{0}]").format,
        fill=fill,
    )


def _kernel(basis: KernelBasis, scaled: Scaled, name: str) -> str:
    """The kernel of two standardised rows."""
    steps = scaled.kernel
    assert steps is not None
    v = f"v[i] * {1 << steps.vector_shift}" if steps.vector_shift else "v[i]"
    bits, start, term = steps.powers, "0", f"(int64_t)z[i] * ({v})"
    lines = [f"sum = {rounded('sum', 2 * scaled.z_bits - steps.term_shift - steps.sum_bits)};"]
    if isinstance(basis.kernel, RBFKernel):
        apart = f"((int64_t)z[i] - {v})"
        term = f"{apart} * {apart}"
        shift = steps.sum_bits + steps.factor_bits - SCORE_BITS
        lines.append(f"return {name}_exp2({rounded(f'sum * {steps.factor}', shift)});")
    elif not bits:
        lines.append("return sum;")
    else:
        start = "0;\n    int64_t power"
        product = rounded(f"sum * {steps.factor}", steps.factor_bits + steps.sum_bits - bits[0])
        lines += [f"sum = {product} + {steps.constant};", "power = sum;"]
        for before, after in pairwise(bits):
            lines.append(f"power = {rounded('power * sum', before + bits[0] - after)};")
        lines.append("return power;")
    return kernel_function(
        name,
        "int32_t",
        "int64_t",
        f"{steps.vectors.dtype}_t",
        basis.vectors.shape[1],
        words=f"Kernel of two standardised rows, in units of 2^{-scaled.column_bits}.",
        start=start,
        term=rounded(term, steps.term_shift),
        end="\n".join(f"    {line}" for line in lines),
    )
