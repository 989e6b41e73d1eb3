"""The functions of a C header that its user calls: from scores to classes."""

from __future__ import annotations

from sdgm.export.c_plan import Plan
from sdgm.export.c_tables import Tables


def predicting(plan: Plan, tables: Tables) -> list[str]:
    """The most probable class, and the probabilities of all."""
    name, real, K = tables.name, tables.real, len(plan.offset)
    many = plan.mixed
    if many:
        tables.indices("component_class", plan.component_class)
    n_inputs, n_classes = f"{name.upper()}_N_INPUTS", f"{name.upper()}_N_CLASSES"
    own = f"{real} p[{n_classes}];\n    " if many else ""
    summed = f"{name}_sums(score, p);\n    " if many else ""
    of_class = "p" if many else "score"
    predict = f"""\
/* Index of the most probable class; -1 where the inputs are refused. */
static inline int {name}_predict(const {real} x[{n_inputs}])
{{
    {real} score[{K}];
    {own}if (!{name}_scores(x, score)) {{
        return -1;
    }}
    {"(void)" if many else ""}{summed}return {name}_largest({of_class}, {n_classes});
}}"""
    predict_proba = f"""\
/* Probabilities of the classes, and the index of the largest; NaN and -1 for refused inputs. */
static inline int {name}_predict_proba(const {real} x[{n_inputs}], {real} p[{n_classes}])
{{
    {real} score[{K}], total;
    int best, c;
    if (!{name}_scores(x, score)) {{
        for (c = 0; c < {n_classes}; ++c) {{
            p[c] = ({real})NAN;
        }}
        return -1;
    }}
    total = {name}_sums(score, p);
    best = {name}_largest({of_class}, {n_classes});
    for (c = 0; c < {n_classes}; ++c) {{
        p[c] /= total;
    }}
    return best;
}}"""
    return [_largest(tables), _sums(plan, tables), predict, predict_proba]


def _largest(tables: Tables) -> str:
    return f"""\
/* Index of the largest of n numbers, the first of them where there are several. */
static inline int {tables.name}_largest(const {tables.real} a[], int n)
{{
    int best = 0, i;
    for (i = 1; i < n; ++i) {{
        if (a[i] > a[best]) {{
            best = i;
        }}
    }}
    return best;
}}"""


def _sums(plan: Plan, tables: Tables) -> str:
    """Sums over the components of each class, relative to the largest, so that none overflows."""
    name, real, K = tables.name, tables.real, len(plan.offset)
    exp = "expf" if real == "float" else "exp"
    n_classes, zero = f"{name.upper()}_N_CLASSES", tables.number(0.0)
    clear, add = "", f"p[k] = {exp}(score[k] - most);\n        total += p[k];"
    if plan.mixed:
        clear = f"    for (k = 0; k < {n_classes}; ++k) {{\n        p[k] = {zero};\n    }}\n"
        add = (
            f"const {real} part = {exp}(score[k] - most);\n"
            f"        p[{name}_component_class[k]] += part;\n"
            "        total += part;"
        )
    return f"""\
/* Probabilities of the classes times a common factor, which is returned. */
static inline {real} {name}_sums(const {real} score[{K}], {real} p[{n_classes}])
{{
    const {real} most = score[{name}_largest(score, {K})];
    {real} total = {zero};
    int k;
{clear}    for (k = 0; k < {K}; ++k) {{
        {add}
    }}
    return total;
}}"""


def class_name(plan: Plan, tables: Tables) -> str:
    """The function that names a class, and the names."""
    tables.strings("class_names", plan.class_names)
    name = tables.name
    return f"""\
/* Name of a class in UTF-8; empty for an index that is none, such as -1. */
static inline const char *{name}_class_name(int c)
{{
    return c >= 0 && c < {name.upper()}_N_CLASSES ? {name}_class_names[c] : "";
}}"""
