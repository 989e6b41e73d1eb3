"""The functions of a C header: from inputs to standardised features, scores and probabilities.

What all headers share is here. An `Arithmetic` has what depends on the numbers that they compute
with; `c_real` makes it for floating point and `c_fixed_code` for fixed point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.kernels import KernelBasis, PolynomialKernel, RBFKernel
from sdgm.export.c_plan import Plan
from sdgm.export.c_tables import Tables
from sdgm.export.c_text import comment
from sdgm.tables.inputs import Category

# two indices of z below this are one byte
MAX_PACKED = 16


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """Types, constants and pieces of code that depend on how a header computes."""

    value: str  # C type of inputs, features and probabilities
    wide: str  # C type of scores and sums
    zero: str  # the constants zero and one, the latter as a factor of monomials
    one: str
    helpers: list[str]  # functions: accepts, standardized, squared_norm, kernel, and what they need
    multiply_adds: int  # of the helpers, but the kernel, in a prediction
    features: str  # statements that fill z from the inputs
    offset: np.ndarray[Any, Any]  # of the model, in the type of the table; also the next two
    weight: np.ndarray[Any, Any]
    vectors: np.ndarray[Any, Any] | None
    monomial: Callable[[str, str], str]  # from indices of z: adds a weighted monomial to sum
    kernel_term: str  # a kernel value times its weight
    part: str  # statements that define part, the exponential of score[k] - most
    sums: str  # array that predict_proba adds up the classes in: "p" or "sum"
    share: str  # the probability of class c, and what it is for refused inputs
    no_share: str
    by_class: bool  # whether there is a table of the class of every component
    scores_are: str  # comments
    shares_are: str
    # instead of tables of factors and weights: statements, length of z, multiply-adds
    formulas: tuple[str, int, int] | None = None


def function(words: str, head: str, body: str) -> str:
    """A function with a comment above."""
    return f"/* {words} */\nstatic inline {head}\n{{\n{body}\n}}"


def loop(index: str, end: object, step: str, indent: str = "    ") -> str:
    """A loop from zero with one statement; a number is the end of an index without a sign."""
    last = f"{end}U" if isinstance(end, int) else end
    head = f"for ({index} = 0; {index} < {last}; ++{index})"
    return f"{indent}{head} {{\n{indent}    {step}\n{indent}}}"


def has_norm(plan: Plan) -> bool:
    """Whether some column is the squared norm."""
    return isinstance(plan.basis, Monomials) and bool(np.any(plan.basis.first == SQUARED_NORM))


def accept_function(name: str, value: str, body: str) -> str:
    """The function that says whether the model can be asked about the inputs."""
    words = "Are these inputs valid?"
    return function(words, f"int {name}_accepts(const {value} x[{name.upper()}_N_INPUTS])", body)


def kernel_function(
    name: str,
    value: str,
    wide: str,
    vector: str,
    D: int,
    *,
    words: str,
    start: str,
    term: str,
    end: str,
) -> str:
    """The kernel of two standardised rows: a sum over inputs, and statements that end it."""
    return function(
        words,
        f"{wide} {name}_kernel(const {value} z[{D}], const {vector} v[{D}])",
        f"    {wide} sum = {start};\n    size_t i;\n{loop('i', D, f'sum += {term};')}\n{end}",
    )


def refuse_any(plan: Plan, condition: str) -> str:
    """Statements that refuse inputs one of which, ``x[i]``, has a property."""
    refuse = f"if ({condition}) {{\n            return 0;\n        }}"
    return f"    size_t i;\n{loop('i', len(plan.inputs), refuse)}\n    return 1;"


def plain_features(plan: Plan, tables: Tables) -> str:
    """Statements that fill z, a loop, where every input is a feature."""
    name, n_used, source = tables.name, len(plan.used), "x[i]"
    if n_used < len(plan.inputs):
        tables.indices("used", plan.used)
        source = f"x[{name}_used[i]]"
    return loop("i", n_used, f"z[i] = {name}_standardized({source}, i);")


def feature_statements(
    plan: Plan,
    name: str,
    *,
    zero: str,
    one: Callable[[int], str],
    missing: Callable[[int], str],
    level: Callable[[int, int], str],
    fill: Callable[[int, float], str],
) -> str:
    """Statements that fill z with the standardised features, by `sdgm.tables.inputs`."""
    position = {feature: at for at, feature in enumerate(plan.used.tolist())}
    lines, feature = [], 0
    for i, column in enumerate(plan.inputs):
        values: list[str] = []
        if isinstance(column, Category):
            flags = [f"level == {k}" for k in range(len(column.features))]
        elif column.fill is None:
            values, flags = [f"x[{i}]"], []
        else:
            values = [f"{missing(i)} ? {fill(i, column.fill)} : x[{i}]"]
            flags = [missing(i)] * column.indicator
        n = len(values) + len(flags)
        used = [(position[feature + k], k) for k in range(n) if feature + k in position]
        feature += n
        if used and isinstance(column, Category):
            lines.append(f"    level = {level(i, len(column.levels))};")
        for at, k in used:
            is_value = k < len(values)
            value = values[k] if is_value else f"{flags[k - len(values)]} ? {one(at)} : {zero}"
            code = f"z[{at}] = {name}_standardized({value}, {at});"
            lines.append(f"    {code}  /* {comment(plan.feature_names[at])} */")
    return "\n".join(lines)


def header_functions(plan: Plan, a: Arithmetic, tables: Tables) -> tuple[list[str], int, int]:
    """All functions, the multiply-adds of a prediction, and the length of z."""
    scores, n_operations, n_z = score_function(plan, a, tables)
    if a.by_class:
        tables.indices("component_class", plan.component_class)
    functions = [*a.helpers, scores, *class_functions(plan, a, tables.name)]
    tables.strings("class_names", plan.class_names)
    name = tables.name
    class_name = function(
        "Name of a class in UTF-8; empty for an invalid index such as -1.",
        f"const char *{name}_class_name(int c)",
        f'    return c >= 0 && c < {name.upper()}_N_CLASSES ? {name}_class_names[c] : "";',
    )
    return [*functions, class_name], a.multiply_adds + n_operations, n_z


def score_function(plan: Plan, a: Arithmetic, tables: Tables) -> tuple[str, int, int]:
    """The function that scores the components, its multiply-adds, and the length of z."""
    name, K, n_used = tables.name, len(plan.offset), len(plan.used)
    start = loop("k", K, f"score[k] = {name}_offset[k];")
    body, indices, n_z, n_operations = start, "k", n_used, 0
    if a.formulas is not None:
        body, n_z, n_operations = a.formulas
        indices = "i" if plan.plain and n_used else ""  # of the loop over features
    else:
        tables.array("offset", a.offset)
        if isinstance(plan.basis, KernelBasis):
            sums, n_operations = _kernel_sums(plan, plan.basis, a, tables)
            body, indices = f"{a.features}\n{start}\n{sums}", "ijk"
        elif n_used:
            sums, n_operations = _monomial_sums(plan, plan.basis, a, tables)
            body, indices = f"{a.features}\n{sums}", "ik"
            n_z = n_used + 1 + has_norm(plan)
    declared = f"    {a.value} z[{n_z}];\n" if n_z else ""
    declared += "".join(f"    size_t {index};\n" for index in indices)
    if any(isinstance(plan.inputs[i], Category) for i in plan.used_inputs):
        declared += "    int level;\n"
    code = function(
        f"{a.scores_are}; 0 if the inputs are invalid.",
        f"int {name}_scores(const {a.value} x[{name.upper()}_N_INPUTS], {a.wide} score[{K}])",
        f"{declared}    if (!{name}_accepts(x)) {{\n        return 0;\n    }}\n"
        f"{body}\n    return 1;",
    )
    return code, n_operations, n_z


def _monomial_sums(plan: Plan, basis: Monomials, a: Arithmetic, tables: Tables) -> tuple[str, int]:
    """Statements that add the monomials, from tables of factors and weights."""
    name, n_used, K = tables.name, len(plan.used), len(plan.offset)
    place = {ABSENT: n_used, SQUARED_NORM: n_used + 1}
    component, column = np.nonzero(plan.coef)
    tables.indices("end", np.searchsorted(component, np.arange(K), side="right"))
    first, second = (
        np.array([place.get(i, i) for i in factors[column].tolist()])
        for factors in (basis.first, basis.second)
    )
    indices = f"{name}_first[i]", f"{name}_second[i]"
    if max(first.max(), second.max()) < MAX_PACKED:
        tables.indices("factors", MAX_PACKED * first + second)
        indices = f"{name}_factors[i] / {MAX_PACKED}U", f"{name}_factors[i] % {MAX_PACKED}U"
    else:
        tables.indices("first", first)
        tables.indices("second", second)
    tables.array("weight", a.weight[component, column])
    norm = f"    z[{n_used + 1}] = {name}_squared_norm(z);\n" if has_norm(plan) else ""
    code = f"""\
    z[{n_used}] = {a.one};
{norm}    i = 0;
    for (k = 0; k < {K}U; ++k) {{
        const size_t end = {name}_end[k];
        {a.wide} sum = {name}_offset[k];
        while (i < end) {{
            {a.monomial(*indices)}
            ++i;
        }}
        score[k] = sum;
    }}"""
    return code, 2 * len(column)


def _kernel_sums(plan: Plan, basis: KernelBasis, a: Arithmetic, tables: Tables) -> tuple[str, int]:
    """Statements that add the kernel values at the relevance vectors, each computed once."""
    name, kernel, (n_vectors, D) = tables.name, basis.kernel, basis.vectors.shape
    assert a.vectors is not None
    column, component = np.nonzero(plan.coef.T)
    tables.array("vectors", a.vectors, plan.vector_names)
    tables.indices("start", np.searchsorted(column, np.arange(n_vectors + 1)))
    tables.indices("component", component)
    tables.array("weight", a.weight[component, column])
    code = f"""\
    for (j = 0; j < {n_vectors}U; ++j) {{
        const {a.wide} kernel = {name}_kernel(z, {name}_vectors[j]);
        for (i = {name}_start[j]; i < {name}_start[j + 1U]; ++i) {{
            score[{name}_component[i]] += {a.kernel_term};
        }}
    }}"""
    after_sum = kernel.degree if isinstance(kernel, PolynomialKernel) else 0
    after_sum += isinstance(kernel, RBFKernel)
    return code, n_vectors * (D + after_sum) + len(column)


def class_functions(plan: Plan, a: Arithmetic, name: str) -> Iterator[str]:
    """From scores to the most probable class, and to the probabilities of all."""
    K, mixed, wide = len(plan.offset), plan.mixed, a.wide
    n_classes, x = f"{name.upper()}_N_CLASSES", f"const {a.value} x[{name.upper()}_N_INPUTS]"
    yield f"""\
/* Index of the largest of n numbers; the first one if there are several. */
static inline int {name}_largest(const {wide} a[], int n)
{{
    int best = 0;
    int i;
    for (i = 1; i < n; ++i) {{
        if (a[i] > a[best]) {{
            best = i;
        }}
    }}
    return best;
}}"""
    # relative to the largest score, so that no exponential overflows
    clear, add = "", "sum[k] = part;"
    if a.by_class:
        clear = loop("k", n_classes, f"sum[k] = {a.zero};") + "\n"
        add = f"sum[{name}_component_class[k]] += part;"
    yield f"""\
/* Probabilities of the classes times a common factor, which is returned. */
static inline {wide} {name}_sums(const {wide} score[{K}], {wide} sum[{n_classes}])
{{
    const {wide} most = score[{name}_largest(score, {K})];
    {wide} total = {a.zero};
    int k;
{clear}    for (k = 0; k < {K}; ++k) {{
        {a.part}
        {add}
        total += part;
    }}
    return total;
}}"""
    yield f"""\
/* Index of the most probable class; -1 if the inputs are invalid. */
static inline int {name}_predict({x})
{{
    {wide} score[{K}];
{f"    {wide} sum[{n_classes}];{chr(10)}" if mixed else ""}\
    if (!{name}_scores(x, score)) {{
        return -1;
    }}
{f"    (void){name}_sums(score, sum);{chr(10)}" if mixed else ""}\
    return {name}_largest({"sum" if mixed else "score"}, {n_classes});
}}"""
    yield f"""\
/* {a.shares_are} */
static inline int {name}_predict_proba({x}, {a.value} p[{n_classes}])
{{
    {wide} score[{K}];
{"" if a.sums == "p" else f"    {wide} sum[{n_classes}];{chr(10)}"}\
    {wide} total;
    int best;
    int c;
    if (!{name}_scores(x, score)) {{
{loop("c", n_classes, f"p[c] = {a.no_share};", "        ")}
        return -1;
    }}
    total = {name}_sums(score, {a.sums});
    best = {name}_largest({a.sums if mixed else "score"}, {n_classes});
{loop("c", n_classes, f"p[c] = {a.share};")}
    return best;
}}"""
