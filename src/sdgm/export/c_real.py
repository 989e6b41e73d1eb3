"""Floating-point arithmetic of a C header."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.kernels import KernelBasis, PolynomialKernel, RBFKernel
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
from sdgm.export.c_plan import Plan
from sdgm.export.c_tables import Tables
from sdgm.export.c_text import comment
from sdgm.tables.inputs import Category

# weights up to which the scores are written out as formulas with named terms: about two screens
MAX_WRITTEN_OUT = 128
# what rounding the center may take from a standardised input before the rest is kept too: about
# the rounding error of a float of size ten
NEGLIGIBLE_REST = 2.0**-20
# highest power that is written as a product; `pow` needs `math.h` but not one factor per degree
MAX_PRODUCT = 4


def real_arithmetic(plan: Plan, tables: Tables) -> Arithmetic:
    """Doubles or floats."""
    name, real, basis = tables.name, tables.real, plan.basis
    scaled = bool(np.any(plan.center != 0.0) or np.any(plan.inverse_scale != 1.0))
    helpers = list(_helpers(plan, tables, scaled))
    features, formulas = _features(plan, tables), None
    if isinstance(basis, Monomials) and np.count_nonzero(plan.coef) <= MAX_WRITTEN_OUT:
        formulas = _formulas(plan, basis, features, tables)
    return Arithmetic(
        value=real,
        wide=real,
        zero=tables.number(0.0),
        one=tables.number(1.0),
        helpers=helpers,
        multiply_adds=len(plan.used) * (scaled + has_norm(plan)),
        features=features,
        offset=plan.offset,
        weight=plan.coef,
        vectors=basis.vectors if isinstance(basis, KernelBasis) else None,
        monomial=f"sum += {name}_weight[i] * z[{{}}] * z[{{}}];".format,
        kernel_term=f"{name}_weight[i] * kernel",
        part=f"const {real} part = exp{_suffix(real)}(score[k] - most);",
        sums="p",
        share="p[c] / total",
        no_share=f"({real})NAN",
        by_class=plan.mixed,
        scores_are="Log of the unnormalised probability of every component",
        shares_are="Probabilities of the classes, and the index of the largest; NaN and -1 for "
        "invalid inputs.",
        formulas=formulas,
    )


def _suffix(real: str) -> str:
    return "f" if real == "float" else ""


def _helpers(plan: Plan, tables: Tables, scaled: bool) -> Iterator[str]:
    name, real, n_used = tables.name, tables.real, len(plan.used)
    if any(isinstance(column, Category) for column in plan.inputs):
        yield f"""\
/* Index of a level; n_levels if missing, -1 if unknown, -2 for an invalid code. */
static inline int {name}_level({real} code, int n_levels)
{{
    int level;
    if (isnan(code) != 0) {{
        return n_levels;
    }}
    if (!(code >= ({real})-1 && code <= ({real})n_levels)) {{
        return -2;
    }}
    level = (int)code;
    return ({real})level < code || ({real})level > code ? -2 : level;
}}"""
    yield accept_function(name, real, _accepts(plan, name))
    if n_used:
        yield _standardized(plan, tables, scaled)
    if has_norm(plan):
        yield f"""\
/* |z|^2 */
static inline {real} {name}_squared_norm(const {real} z[])
{{
    {real} sum = {tables.number(0.0)};
    size_t i;
{loop("i", n_used, "sum += z[i] * z[i];")}
    return sum;
}}"""
    if isinstance(plan.basis, KernelBasis):
        yield _kernel(plan.basis, tables)


def _accepts(plan: Plan, name: str) -> str:
    """Statements that refuse invalid inputs."""
    if plan.plain:
        return refuse_any(plan, "!isfinite(x[i])")
    refused = [
        f"{name}_level(x[{i}], {len(column.levels)}) < -1"
        if isinstance(column, Category)
        else f"{'!isfinite' if column.fill is None else 'isinf'}(x[{i}])"
        for i, column in enumerate(plan.inputs)
    ]
    return "    return !(" + " ||\n        ".join(refused) + ");"


def _standardized(plan: Plan, tables: Tables, scaled: bool) -> str:
    """The function that standardises one feature."""
    name, real, names, value = tables.name, tables.real, plan.feature_names, "value"
    if scaled:
        tables.array("center", plan.center, names)
        value = f"(value - {name}_center[i])"
        if np.any(np.abs(plan.center_rest * plan.inverse_scale) > NEGLIGIBLE_REST):
            tables.array("center_rest", plan.center_rest, names)
            value = f"({value} - {name}_center_rest[i])"
        tables.array("inverse_scale", plan.inverse_scale, names)
        value = f"{value} * {name}_inverse_scale[i]"
    unused = "" if scaled else "\n    (void)i;"
    return f"""\
/* A standardised feature, clipped so that scores cannot overflow. */
static inline {real} {name}_standardized({real} value, size_t i)
{{
    const {real} reach = {tables.number(plan.reach)};
    const {real} z = {value};{unused}
    return z < -reach ? -reach : z > reach ? reach : z;
}}"""


def _features(plan: Plan, tables: Tables) -> str:
    """Statements that fill z."""
    name = tables.name
    if plan.plain and len(plan.used):
        return plain_features(plan, tables)
    return feature_statements(
        plan,
        name,
        zero=tables.number(0.0),
        one=lambda at: tables.number(1.0),
        missing="isnan(x[{}])".format,
        level=f"{name}_level(x[{{}}], {{}})".format,
        fill=lambda i, value: tables.number(value),
    )


def _kernel(basis: KernelBasis, tables: Tables) -> str:
    """The kernel of two standardised rows."""
    real, kernel, number = tables.real, basis.kernel, tables.number
    words, term, end = "z'v", "z[i] * v[i]", "    return sum;"
    if isinstance(kernel, RBFKernel):
        gamma = number(kernel.gamma)
        words, term = f"exp(-{gamma} |z - v|^2)", "(z[i] - v[i]) * (z[i] - v[i])"
        end = f"    return exp{_suffix(real)}(-{gamma} * sum);"
    elif isinstance(kernel, PolynomialKernel):
        gamma, coef0, degree = number(kernel.gamma), number(kernel.coef0), kernel.degree
        words, power = f"({gamma} z'v + {coef0})^{degree}", " * ".join(["sum"] * degree)
        if degree > MAX_PRODUCT:
            power = f"pow{_suffix(real)}(sum, {float(degree)}{_suffix(real)})"
        end = f"    sum = {gamma} * sum + {coef0};\n    return {power};"
    pieces = {"words": f"k(z, v) = {words}", "start": number(0.0), "term": term, "end": end}
    return kernel_function(tables.name, real, real, real, basis.vectors.shape[1], **pieces)


def _formulas(plan: Plan, basis: Monomials, features: str, tables: Tables) -> tuple[str, int, int]:
    """The scores of few monomials, written out; the length of z; the multiply-adds."""
    n_used, norm = len(plan.used), has_norm(plan)
    parts = [features] if n_used else []
    if norm:
        parts.append(f"    z[{n_used}] = {tables.name}_squared_norm(z);")
    names = basis.names(plan.feature_names)
    terms = list(zip(basis.first.tolist(), basis.second.tolist(), names, strict=True))
    n_operations = 0
    for k, weights in enumerate(plan.coef):
        codes = [f"score[{k}] = {tables.number(plan.offset[k])}"]
        words = [_component(plan, k)]
        for (i, j, name), weight in zip(terms, weights, strict=True):
            if weight != 0.0:
                factors = f"z[{n_used if i == SQUARED_NORM else i}]"
                factors += "" if j == ABSENT else f" * z[{j}]"
                sign = "-" if weight < 0.0 else "+"
                codes.append(f"    {sign} {tables.number(abs(weight))} * {factors}")
                words.append(comment(name))
                n_operations += 1 if j == ABSENT else 2
        tables.n_bytes += len(codes) * tables.real_bytes
        codes[-1] += ";"
        width = max(map(len, codes))
        lines = zip(codes, words, strict=True)
        parts += [f"    {code:{width}}  /* {text} */" for code, text in lines]
    return "\n".join(parts), n_used + norm, n_operations


def _component(plan: Plan, k: int) -> str:
    """A component in words, inside a comment."""
    c = plan.component_class[k]
    own = np.flatnonzero(plan.component_class == c)
    mode = f", mode {k - own[0] + 1} of {len(own)}" if len(own) > 1 else ""
    return f"class {comment(plan.class_names[c])}{mode}"
