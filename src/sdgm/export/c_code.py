"""The functions of a C header: from inputs to standardised features to scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.kernel_basis import KernelBasis
from sdgm.core.model.kernels import LinearKernel, PolynomialKernel, RBFKernel
from sdgm.export.c_plan import Plan
from sdgm.export.c_tables import Tables
from sdgm.export.c_text import comment
from sdgm.tables.inputs import Category, Number

# weights up to which the scores are written out as formulas, with the names of their terms
MAX_WRITTEN_OUT = 128
# what rounding the center may take from a standardised input before the rest is kept too
NEGLIGIBLE_REST = 2.0**-20

Code = tuple[str, int]  # and its multiply-adds


def accepting(plan: Plan, tables: Tables) -> str:
    """Whether the inputs are values that the model can be asked about."""
    name, real = tables.name, tables.real
    if plan.plain:
        return f"""\
/* Are all inputs finite numbers? */
static inline int {name}_accepts(const {real} x[{name.upper()}_N_INPUTS])
{{
    size_t i;
    for (i = 0; i < {name.upper()}_N_INPUTS; ++i) {{
        if (!isfinite(x[i])) {{
            return 0;
        }}
    }}
    return 1;
}}"""
    refused = " ||\n        ".join(_refused(plan, name))
    level = f"{_level(name, real)}\n\n" if _has_categories(plan) else ""
    return f"""\
{level}/* Are all inputs finite numbers, codes of levels, or missing where they may be? */
static inline int {name}_accepts(const {real} x[{name.upper()}_N_INPUTS])
{{
    return !({refused});
}}"""


def _has_categories(plan: Plan) -> bool:
    return any(isinstance(column, Category) for column in plan.inputs)


def _refused(plan: Plan, name: str) -> Iterator[str]:
    for i, column in enumerate(plan.inputs):
        if isinstance(column, Category):
            yield f"{name}_level(x[{i}], {len(column.levels)}) < -1"
        else:
            yield f"!isfinite(x[{i}])" if column.fill is None else f"isinf(x[{i}])"


def _level(name: str, real: str) -> str:
    return f"""\
/* Index of a level, n_levels where it is missing, -1 where it is unknown, -2 for no code at all. */
static inline int {name}_level({real} code, int n_levels)
{{
    int level;
    if (isnan(code)) {{
        return n_levels;
    }}
    if (!(code >= ({real})-1 && code <= ({real})n_levels)) {{
        return -2;
    }}
    level = (int)code;
    return ({real})level < code || ({real})level > code ? -2 : level;
}}"""


def standardizing(plan: Plan, tables: Tables) -> Code:
    """The function that standardises one feature, and its tables."""
    name, real = tables.name, tables.real
    names = plan.feature_names
    value, n_operations = "value", 0
    if not (np.all(plan.center == 0.0) and np.all(plan.inverse_scale == 1.0)):
        tables.reals("center", plan.center, names)
        value = f"(value - {name}_center[i])"
        if np.any(np.abs(plan.center_rest * plan.inverse_scale) > NEGLIGIBLE_REST):
            tables.reals("center_rest", plan.center_rest, names)
            value = f"({value} - {name}_center_rest[i])"
        tables.reals("inverse_scale", plan.inverse_scale, names)
        value = f"{value} * {name}_inverse_scale[i]"
        n_operations = len(names)
    unused = "" if "[i]" in value else "\n    (void)i;"
    code = f"""\
/* A feature, standardised, and moved in where it is so far out that scores could overflow. */
static inline {real} {name}_standardized({real} value, size_t i)
{{
    const {real} reach = {tables.number(plan.reach)};
    const {real} z = {value};{unused}
    return z < -reach ? -reach : z > reach ? reach : z;
}}"""
    return code, n_operations


def features(plan: Plan, tables: Tables) -> str:
    """Statements that fill z with the standardised features."""
    name, n_used = tables.name, len(plan.used)
    if plan.plain:
        source = "x[i]"
        if n_used < len(plan.inputs):
            tables.indices("used", plan.used)
            source = f"x[{name}_used[i]]"
    else:
        source = "z[i]"
    encoded = "" if plan.plain else _encoded(plan, tables)
    return f"""\
{encoded}    for (i = 0; i < {n_used}; ++i) {{
        z[i] = {name}_standardized({source}, i);
    }}"""


def _encoded(plan: Plan, tables: Tables) -> str:
    """Features as the classifier saw them, by the rules of `sdgm.tables.inputs`."""
    position = {feature: i for i, feature in enumerate(plan.used.tolist())}
    one, zero = tables.number(1.0), tables.number(0.0)
    lines, feature = [], 0
    for i, column in enumerate(plan.inputs):
        values = []
        if isinstance(column, Number):
            fill = f"isnan(x[{i}]) ? {{}} : " if column.fill is not None else ""
            values.append(fill.format(tables.number(column.fill or 0.0)) + f"x[{i}]")
            if column.indicator:
                values.append(f"isnan(x[{i}]) ? {one} : {zero}")
        else:
            values = [f"level == {k} ? {one} : {zero}" for k in range(len(column.features))]
        wanted = [(position.get(feature + k), value) for k, value in enumerate(values)]
        feature += len(values)
        written = [(at, value) for at, value in wanted if at is not None]
        if isinstance(column, Category) and written:
            lines.append(f"    level = {tables.name}_level(x[{i}], {len(column.levels)});")
        lines += [
            f"    z[{at}] = {value};  /* {comment(plan.feature_names[at])} */"
            for at, value in written
        ]
    return "\n".join(lines) + "\n"


def scores(plan: Plan, tables: Tables) -> tuple[str, int, int]:
    """The function that scores the components, its multiply-adds, and the size of z."""
    if not len(plan.used):
        indices, body, n_operations, n_extra = "", _constant(plan, tables), 0, 0
    elif isinstance(plan.basis, KernelBasis):
        indices = "i, j, k"
        body, n_operations, n_extra = *_kernel_sums(plan, tables, plan.basis), 0
    elif np.count_nonzero(plan.coef) <= MAX_WRITTEN_OUT:
        indices = "i"
        body, n_operations, n_extra = _formulas(plan, tables, plan.basis)
    else:
        indices = "i, k"
        body, n_operations, n_extra = _weighted_sums(plan, tables, plan.basis)
    n_z = len(plan.used) + n_extra
    name, real = tables.name, tables.real
    declared = f"    {real} z[{n_z}];\n    size_t {indices};\n" if n_z else ""
    if any(isinstance(plan.inputs[i], Category) for i in plan.used_inputs):
        declared += "    int level;\n"
    code = f"""\
/* Log of the unnormalised probability of every component; 0 where the inputs are refused. */
static inline int {name}_scores(const {real} x[{name.upper()}_N_INPUTS], \
{real} score[{len(plan.offset)}])
{{
{declared}    if (!{name}_accepts(x)) {{
        return 0;
    }}
{body}
    return 1;
}}"""
    return code, n_operations, n_z


def _constant(plan: Plan, tables: Tables) -> str:
    """Scores that do not depend on the inputs."""
    tables.n_bytes += plan.offset.size * tables.real_bytes
    return "\n".join(
        f"    score[{k}] = {tables.number(value)};  /* {_component(plan, k)} */"
        for k, value in enumerate(plan.offset)
    )


def _component(plan: Plan, k: int) -> str:
    """A component in words, inside a comment."""
    c = plan.component_class[k]
    own = np.flatnonzero(plan.component_class == c)
    mode = f", mode {k - own[0] + 1} of {len(own)}" if len(own) > 1 else ""
    return f"class {comment(plan.class_names[c])}{mode}"


def _formulas(plan: Plan, tables: Tables, basis: Monomials) -> tuple[str, int, int]:
    """The scores of few monomials, written out."""
    n_used, has_norm = len(plan.used), bool(np.any(basis.first == SQUARED_NORM))
    names = basis.names(plan.feature_names)
    terms = list(zip(basis.first.tolist(), basis.second.tolist(), names, strict=True))
    parts, n_operations = [features(plan, tables)], 0
    if has_norm:
        parts.append(_squared_norm(n_used, n_used, tables))
        n_operations += n_used
    for k, weights in enumerate(plan.coef):
        lines = [(f"score[{k}] = {tables.number(plan.offset[k])}", _component(plan, k))]
        for (i, j, name), weight in zip(terms, weights, strict=True):
            if weight == 0.0:
                continue
            factors = f"z[{n_used if i == SQUARED_NORM else i}]"
            if j != ABSENT:
                factors += f" * z[{j}]"
            sign = "-" if weight < 0.0 else "+"
            lines.append((f"    {sign} {tables.number(abs(weight))} * {factors}", comment(name)))
            n_operations += 1 if j == ABSENT else 2
        parts.append(_commented(lines))
        tables.n_bytes += len(lines) * tables.real_bytes
    return "\n".join(parts), n_operations, int(has_norm)


def _commented(lines: list[tuple[str, str]]) -> str:
    """An expression over several lines with a comment on each."""
    codes = [code for code, _ in lines]
    codes[-1] += ";"
    width = max(map(len, codes))
    return "\n".join(
        f"    {code:{width}}  /* {text} */" for code, (_, text) in zip(codes, lines, strict=True)
    )


def _squared_norm(n_used: int, at: int, tables: Tables) -> str:
    return f"""\
    z[{at}] = {tables.number(0.0)};  /* |x|^2 */
    for (i = 0; i < {n_used}; ++i) {{
        z[{at}] += z[i] * z[i];
    }}"""


def _weighted_sums(plan: Plan, tables: Tables, basis: Monomials) -> tuple[str, int, int]:
    """The scores of many monomials, from tables of factors and weights."""
    n_used, name = len(plan.used), tables.name
    has_norm = bool(np.any(basis.first == SQUARED_NORM))
    place = {ABSENT: n_used, SQUARED_NORM: n_used + 1}
    component, column = np.nonzero(plan.coef)
    K = len(plan.offset)
    tables.packed("offset", plan.offset)
    tables.indices("start", np.searchsorted(component, np.arange(K + 1)))
    tables.indices("first", [place.get(i, i) for i in basis.first[column].tolist()])
    tables.indices("second", [place.get(j, j) for j in basis.second[column].tolist()])
    tables.packed("weight", plan.coef[component, column])
    norm = f"{_squared_norm(n_used, n_used + 1, tables)}\n" if has_norm else ""
    body = f"""\
{features(plan, tables)}
{norm}    z[{n_used}] = {tables.number(1.0)};
    for (k = 0; k < {K}; ++k) {{
        score[k] = {name}_offset[k];
        for (i = {name}_start[k]; i < {name}_start[k + 1]; ++i) {{
            score[k] += {name}_weight[i] * z[{name}_first[i]] * z[{name}_second[i]];
        }}
    }}"""
    return body, 2 * len(column) + n_used * has_norm, 1 + has_norm


def _kernel_sums(plan: Plan, tables: Tables, basis: KernelBasis) -> Code:
    """The scores from kernel values at the relevance vectors, each of which is computed once."""
    name, real = tables.name, tables.real
    n_vectors, D = basis.vectors.shape
    column, component = np.nonzero(plan.coef.T)
    tables.packed("offset", plan.offset)
    tables.reals("vectors", basis.vectors, plan.vector_names)
    tables.indices("start", np.searchsorted(column, np.arange(n_vectors + 1)))
    tables.indices("component", component)
    tables.packed("weight", plan.coef[component, column])
    body = f"""\
{features(plan, tables)}
    for (k = 0; k < {len(plan.offset)}; ++k) {{
        score[k] = {name}_offset[k];
    }}
    for (j = 0; j < {n_vectors}; ++j) {{
        const {real} kernel = {name}_kernel(z, {name}_vectors[j]);
        for (i = {name}_start[j]; i < {name}_start[j + 1]; ++i) {{
            score[{name}_component[i]] += {name}_weight[i] * kernel;
        }}
    }}"""
    return body, n_vectors * (D + kernel_operations(basis)) + len(column)


def kernel_operations(basis: KernelBasis) -> int:
    """Multiply-adds of a kernel value beside the sum over inputs."""
    kernel = basis.kernel
    if isinstance(kernel, PolynomialKernel):
        return kernel.degree
    return int(isinstance(kernel, RBFKernel))


def kernel_function(basis: KernelBasis, tables: Tables) -> str:
    """The kernel of two standardised rows."""
    name, real, kernel = tables.name, tables.real, basis.kernel
    D = basis.vectors.shape[1]
    step, end, words = "sum += z[i] * v[i];", "    return sum;", "z'v"
    if isinstance(kernel, RBFKernel):
        gamma = tables.number(kernel.gamma)
        step = "sum += (z[i] - v[i]) * (z[i] - v[i]);"
        end = f"    return exp{_suffix(real)}(-{gamma} * sum);"
        words = f"exp(-{gamma} |z - v|^2)"
    elif isinstance(kernel, PolynomialKernel):
        gamma, coef0 = tables.number(kernel.gamma), tables.number(kernel.coef0)
        end = f"    sum = {gamma} * sum + {coef0};\n" + _power(kernel.degree, real)
        words = f"({gamma} z'v + {coef0})^{kernel.degree}"
    else:
        assert isinstance(kernel, LinearKernel)
    return f"""\
/* k(z, v) = {words} */
static inline {real} {name}_kernel(const {real} z[{D}], const {real} v[{D}])
{{
    {real} sum = {tables.number(0.0)};
    size_t i;
    for (i = 0; i < {D}; ++i) {{
        {step}
    }}
{end}
}}"""


def _power(degree: int, real: str) -> str:
    """Statements that return ``sum`` to a power."""
    if degree <= 4:
        return f"    return {' * '.join(['sum'] * degree)};"
    return f"    return pow{_suffix(real)}(sum, {float(degree)}{_suffix(real)});"


def _suffix(real: str) -> str:
    return "f" if real == "float" else ""
