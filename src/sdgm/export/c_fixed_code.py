"""The functions of a C header that computes with whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.kernel_basis import KernelBasis
from sdgm.core.model.kernels import RBFKernel
from sdgm.export.c_code import kernel_operations
from sdgm.export.c_fixed import BITS, SCORE_BITS, Fixed, term_shift
from sdgm.export.c_plan import Plan
from sdgm.export.c_tables import Tables
from sdgm.export.c_text import comment
from sdgm.tables.inputs import Category, Number

LARGEST_INT32 = 2**31 - 1
# 2^-f for f from 0 to 1: interpolated at Chebyshev nodes, in units of 2^-30
POWERS_OF_TWO = (1073741823, -744260973, 257938912, -59582935, 10286296, -1369601, 117391)


def fixed_functions(plan: Plan, fixed: Fixed, tables: Tables) -> tuple[list[str], int]:
    """All functions but the name of a class, and their multiply-adds."""
    name = tables.name
    functions = [_input(plan, fixed, tables), _accepts(plan, name), _SHIFT.format(name=name)]
    functions.append(_exp2(name))
    n_operations = 0
    if len(plan.used):
        functions.append(_standardized(plan, fixed, tables))
        n_operations = len(plan.used)
    if _has_norm(plan):
        functions.append(_squared_norm(plan, fixed, name))
    if isinstance(plan.basis, KernelBasis) and fixed.kernel is not None:
        functions.append(_kernel(plan.basis, fixed, tables))
    body, n_more = _scores(plan, fixed, tables)
    functions += [body, *_predicting(plan, tables)]
    return functions, n_operations + n_more


_SHIFT = """\
/* value / 2^bits, rounded. */
static inline int64_t {name}_shift(int64_t value, int bits)
{{
    const int64_t half = bits > 0 ? (int64_t)1 << (bits - 1) : 0;
    return value < 0 ? -((-value + half) >> bits) : (value + half) >> bits;
}}"""


def _input(plan: Plan, fixed: Fixed, tables: Tables) -> str:
    name, NAME = tables.name, tables.name.upper()
    tables.integers("input_bits", fixed.input_bits, 16)
    return f"""\
/* An input as x[i] holds it, for programs that have it as a floating-point number. */
static inline int32_t {name}_input(int i, double value)
{{
    const double units = floor(ldexp(value, {name}_input_bits[i]) + 0.5);
    if (isnan(value)) {{
        return {NAME}_MISSING;
    }}
    if (units >= {LARGEST_INT32}.0) {{
        return INT32_MAX;
    }}
    return units <= -{LARGEST_INT32}.0 ? -INT32_MAX : (int32_t)units;
}}"""


def _accepts(plan: Plan, name: str) -> str:
    refused = list(_refused(plan, name.upper()))
    body = "    (void)x;\n    return 1;"
    if refused:
        body = "    return !(" + " ||\n        ".join(refused) + ");"
    return f"""\
/* Are all inputs numbers or codes of levels, or missing where they may be? */
static inline int {name}_accepts(const int32_t x[{name.upper()}_N_INPUTS])
{{
{body}
}}"""


def _refused(plan: Plan, NAME: str) -> Iterator[str]:
    for i, column in enumerate(plan.inputs):
        if isinstance(column, Category):
            last = len(column.levels)
            yield f"(x[{i}] != {NAME}_MISSING && (x[{i}] < -1 || x[{i}] > {last}))"
        elif column.fill is None:
            yield f"x[{i}] == {NAME}_MISSING"


def _exp2(name: str) -> str:
    *lower, highest = POWERS_OF_TWO
    steps = "\n".join(f"    p = {c} + {name}_shift(p * f, {SCORE_BITS});" for c in reversed(lower))
    return f"""\
/* 2^-t in units of 2^-{BITS}, with t in units of 2^-{SCORE_BITS}. */
static inline int64_t {name}_exp2(int64_t t)
{{
    const int64_t f = t & {2**SCORE_BITS - 1};
    int64_t p = {highest};
    if (t >> {SCORE_BITS} > {BITS}) {{
        return 0;
    }}
{steps}
    return {name}_shift(p, (int)(t >> {SCORE_BITS}));
}}"""


def _standardized(plan: Plan, fixed: Fixed, tables: Tables) -> str:
    name = tables.name
    tables.integers("center", fixed.center, 32)
    tables.integers("scale", fixed.scale, 32)
    tables.indices("scale_shift", fixed.shift)
    return f"""\
/* A feature, standardised, in units of 2^-{fixed.z_bits}; beyond {fixed.range:g} it is moved in. */
static inline int32_t {name}_standardized(int32_t value, size_t i)
{{
    const int64_t most = {2**BITS};
    const int64_t z = {name}_shift(
        ((int64_t)value - {name}_center[i]) * {name}_scale[i], {name}_scale_shift[i]);
    return (int32_t)(z < -most ? -most : z > most ? most : z);
}}"""


def _features(plan: Plan, fixed: Fixed, tables: Tables) -> str:
    """Statements that fill z."""
    name, NAME = tables.name, tables.name.upper()
    position = {feature: i for i, feature in enumerate(plan.used.tolist())}
    lines, feature = [], 0
    for i, column in enumerate(plan.inputs):
        missing = f"x[{i}] == {NAME}_MISSING"
        if isinstance(column, Number):
            values = [f"x[{i}]"]
            if column.fill is not None:
                units = np.ldexp(column.fill, fixed.input_bits[i])
                fill = int(np.clip(np.rint(units), -LARGEST_INT32, LARGEST_INT32))
                values = [f"{missing} ? {fill} : x[{i}]"]
            if column.indicator:
                values.append(f"{missing} ? ONE : 0")
        else:
            values = [f"x[{i}] == {k} ? ONE : 0" for k in range(len(column.features))]
            if column.missing:
                values[-1] = f"x[{i}] == {len(column.levels)} || {missing} ? ONE : 0"
        for k, value in enumerate(values):
            at = position.get(feature + k)
            if at is not None:
                one = 1 << int(fixed.feature_bits[at])
                code = f"z[{at}] = {name}_standardized({value.replace('ONE', str(one))}, {at});"
                lines.append(f"    {code}  /* {comment(plan.feature_names[at])} */")
        feature += len(values)
    return "\n".join(lines)


def _kernel(basis: KernelBasis, fixed: Fixed, tables: Tables) -> str:
    name, steps = tables.name, fixed.kernel
    assert steps is not None
    D = basis.vectors.shape[1]
    tables.integers("vectors", steps.vectors, 32)
    shift = 2 * fixed.z_bits - steps.term_shift - steps.sum_bits
    is_rbf = isinstance(basis.kernel, RBFKernel)
    term = "((int64_t)z[i] - v[i]) * ((int64_t)z[i] - v[i])" if is_rbf else "(int64_t)z[i] * v[i]"
    lines = [f"    sum = {name}_shift(sum, {shift});"]
    if is_rbf:
        shift = steps.sum_bits + steps.factor_bits - SCORE_BITS
        lines.append(f"    return {name}_exp2({name}_shift(sum * {steps.factor}, {shift}));")
    else:
        if steps.powers:
            shift = steps.factor_bits + steps.sum_bits - steps.powers[0]
            product = f"{name}_shift(sum * {steps.factor}, {shift})"
            lines.append(f"    sum = {product} + {steps.constant};")
        bits = steps.powers
        if len(bits) > 1:
            lines.append("    power = sum;")
        for before, after in pairwise(bits):
            lines.append(f"    power = {name}_shift(power * sum, {before + bits[0] - after});")
        lines.append(f"    return {'power' if len(bits) > 1 else 'sum'};")
    power = ", power" if len(steps.powers) > 1 else ""
    body = "\n".join(lines)
    return f"""\
/* Kernel of two standardised rows, in units of 2^{-fixed.column_bits}. */
static inline int64_t {name}_kernel(const int32_t z[{D}], const int32_t v[{D}])
{{
    int64_t sum = 0{power};
    size_t i;
    for (i = 0; i < {D}; ++i) {{
        sum += {name}_shift({term}, {steps.term_shift});
    }}
{body}
}}"""


def _scores(plan: Plan, fixed: Fixed, tables: Tables) -> tuple[str, int]:
    name, K, n_used = tables.name, len(plan.offset), len(plan.used)
    tables.integers("offset", fixed.offset, 64)
    declared, body, n_operations = "    size_t k;\n", "", 0
    start = f"    for (k = 0; k < {K}; ++k) {{\n        score[k] = {name}_offset[k];\n    }}"
    if n_used and isinstance(plan.basis, Monomials):
        declared = f"    int32_t z[{n_used + 1 + _has_norm(plan)}];\n    size_t i, k;\n"
        body, n_operations = _monomial_sums(plan, plan.basis, fixed, tables)
    elif n_used and isinstance(plan.basis, KernelBasis):
        declared = f"    int32_t z[{n_used}];\n    size_t i, j, k;\n"
        body, n_operations = _kernel_sums(plan, plan.basis, fixed, tables)
    code = f"""\
/* Scores of the components in units of 2^-{SCORE_BITS}; 0 where the inputs are refused. */
static inline int {name}_scores(const int32_t x[{name.upper()}_N_INPUTS], int64_t score[{K}])
{{
{declared}    if (!{name}_accepts(x)) {{
        return 0;
    }}
{start}
{body}    return 1;
}}"""
    return code, n_operations


def _monomial_sums(plan: Plan, basis: Monomials, fixed: Fixed, tables: Tables) -> tuple[str, int]:
    name, n_used, K = tables.name, len(plan.used), len(plan.offset)
    place = {ABSENT: n_used, SQUARED_NORM: n_used + 1}
    component, column = np.nonzero(plan.coef)
    tables.indices("start", np.searchsorted(component, np.arange(K + 1)))
    tables.indices("first", [place.get(i, i) for i in basis.first[column].tolist()])
    tables.indices("second", [place.get(j, j) for j in basis.second[column].tolist()])
    tables.integers("weight", fixed.weight[component, column], 32)
    has_norm = _has_norm(plan)
    norm = f"    z[{n_used + 1}] = {name}_squared_norm(z);\n" if has_norm else ""
    shift = fixed.weight_bits + fixed.column_bits - SCORE_BITS
    product = f"{name}_shift((int64_t)z[{name}_first[i]] * z[{name}_second[i]], {BITS})"
    body = f"""\
{_features(plan, fixed, tables)}
    z[{n_used}] = {2**fixed.z_bits};
{norm}    for (k = 0; k < {K}; ++k) {{
        for (i = {name}_start[k]; i < {name}_start[k + 1]; ++i) {{
            const int64_t column = {product};
            score[k] += {name}_shift(column * {name}_weight[i], {shift});
        }}
    }}
"""
    return body, 2 * len(column) + n_used * has_norm


def _has_norm(plan: Plan) -> bool:
    return isinstance(plan.basis, Monomials) and bool(np.any(plan.basis.first == SQUARED_NORM))


def _squared_norm(plan: Plan, fixed: Fixed, name: str) -> str:
    n_used, lost = len(plan.used), term_shift(len(plan.used))
    return f"""\
/* |z|^2 / 2^{fixed.norm_shift}. */
static inline int32_t {name}_squared_norm(const int32_t z[])
{{
    int64_t sum = 0;
    size_t i;
    for (i = 0; i < {n_used}; ++i) {{
        sum += {name}_shift((int64_t)z[i] * z[i], {lost});
    }}
    return (int32_t){name}_shift(sum, {fixed.z_bits + fixed.norm_shift - lost});
}}"""


def _kernel_sums(plan: Plan, basis: KernelBasis, fixed: Fixed, tables: Tables) -> tuple[str, int]:
    name = tables.name
    n_vectors, D = basis.vectors.shape
    column, component = np.nonzero(plan.coef.T)
    tables.indices("start", np.searchsorted(column, np.arange(n_vectors + 1)))
    tables.indices("component", component)
    tables.integers("weight", fixed.weight[component, column], 32)
    shift = fixed.weight_bits + fixed.column_bits - SCORE_BITS
    body = f"""\
{_features(plan, fixed, tables)}
    for (j = 0; j < {n_vectors}; ++j) {{
        const int64_t kernel = {name}_kernel(z, {name}_vectors[j]);
        for (i = {name}_start[j]; i < {name}_start[j + 1]; ++i) {{
            score[{name}_component[i]] += {name}_shift(kernel * {name}_weight[i], {shift});
        }}
    }}
"""
    return body, n_vectors * (D + kernel_operations(basis)) + len(column)


def _predicting(plan: Plan, tables: Tables) -> list[str]:
    name, NAME, K = tables.name, tables.name.upper(), len(plan.offset)
    tables.indices("component_class", plan.component_class)
    log2e = round(2**BITS / float(np.log(2.0)))
    largest = f"""\
/* Index of the largest of n numbers, the first of them where there are several. */
static inline int {name}_largest(const int64_t a[], int n)
{{
    int best = 0, i;
    for (i = 1; i < n; ++i) {{
        if (a[i] > a[best]) {{
            best = i;
        }}
    }}
    return best;
}}"""
    sums = f"""\
/* Probabilities of the classes times a common factor, which is returned. */
static inline int64_t {name}_sums(const int64_t score[{K}], int64_t sum[{NAME}_N_CLASSES])
{{
    const int64_t most = score[{name}_largest(score, {K})], far = {32 << SCORE_BITS};
    int64_t total = 0;
    int k;
    for (k = 0; k < {NAME}_N_CLASSES; ++k) {{
        sum[k] = 0;
    }}
    for (k = 0; k < {K}; ++k) {{
        const int64_t d = most - score[k] < far ? most - score[k] : far;
        const int64_t part = {name}_exp2({name}_shift(d * {log2e}, {BITS}));
        sum[{name}_component_class[k]] += part;
        total += part;
    }}
    return total;
}}"""
    of_class = "sum" if plan.mixed else "score"
    own = f"int64_t score[{K}]" + (f", sum[{NAME}_N_CLASSES]" if plan.mixed else "")
    summed = f"    (void){name}_sums(score, sum);\n" if plan.mixed else ""
    predict = f"""\
/* Index of the most probable class; -1 where the inputs are refused. */
static inline int {name}_predict(const int32_t x[{NAME}_N_INPUTS])
{{
    {own};
    if (!{name}_scores(x, score)) {{
        return -1;
    }}
{summed}    return {name}_largest({of_class}, {NAME}_N_CLASSES);
}}"""
    predict_proba = f"""\
/* Probabilities in units of 1 / {NAME}_ONE, and the index of the largest; -1 for refused inputs. */
static inline int {name}_predict_proba(const int32_t x[{NAME}_N_INPUTS], \
int32_t p[{NAME}_N_CLASSES])
{{
    int64_t score[{K}], sum[{NAME}_N_CLASSES], total;
    int c;
    if (!{name}_scores(x, score)) {{
        for (c = 0; c < {NAME}_N_CLASSES; ++c) {{
            p[c] = -1;
        }}
        return -1;
    }}
    total = {name}_sums(score, sum);
    for (c = 0; c < {NAME}_N_CLASSES; ++c) {{
        p[c] = (int32_t)(sum[c] * {NAME}_ONE / total);
    }}
    return {name}_largest({of_class}, {NAME}_N_CLASSES);
}}"""
    return [largest, sums, predict, predict_proba]
