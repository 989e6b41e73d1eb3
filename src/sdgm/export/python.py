"""A fitted model as one function of Python, for MicroPython and wherever numpy is not."""

from __future__ import annotations

import os
from typing import Any

import sdgm
from sdgm._choice import choice
from sdgm.atomic import checked_path, replacing
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.kernels import PolynomialKernel, RBFKernel
from sdgm.export.c_plan import Plan, Precision, make_plan
from sdgm.export.model import ExportModel, only_what_is_read
from sdgm.tables.inputs import Category

TEXT = '''\
"""A classifier of {n_classes} classes, made by sdgm {version}."""
from math import exp, isinf

CLASSES = {classes}
# name of every input, and the fill value of a missing number (None: invalid) or all categories
INPUTS = {inputs}


def predict_proba(x):
    """Probabilities of the classes. x has a value for every input, None if it is missing."""
    if len(x) != len(INPUTS):
        raise ValueError("a row must have %d values, got %d" % (len(INPUTS), len(x)))
    features = []
    for (name, rest, extra), value in zip(INPUTS, x):
        missing = value is None or value != value
        if isinstance(rest, tuple):
            if not (missing or isinstance(value, str)):
                raise ValueError("%s must be a string" % name)
            features += [float(value == level) for level in rest]
        else:
            try:
                invalid = rest is None if missing else isinf(value)
            except (TypeError, OverflowError):
                invalid = True
            if invalid:
                raise ValueError("%s must be a finite number" % name)
            features.append(rest if missing else value)
        if extra:
            features.append(float(missing))
    z = [(features[i] - center) * scale for i, center, scale in {scaler}]
    z = [max(-{reach}, min({reach}, value)) for value in z]
{columns}
    score = [offset + sum([w * phi[j] for j, w in terms]) for offset, terms in {components}]
    top = max(score)
    p = [0.0] * len(CLASSES)
    for c, value in zip({component_class}, score):
        p[c] += exp(value - top)
    total = sum(p)
    return [value / total for value in p]
'''


def to_python(
    model: Any, *, precision: str = "double", path: str | os.PathLike[str] | None = None
) -> str:
    """A fitted model as a Python file with one function, ``predict_proba(x)``.

    It imports only ``math`` and runs in MicroPython. ``x`` has a value for every column of the
    table: numbers in their original units, categories as strings, None for missing values; other
    values raise ValueError. The most probable class of probabilities ``p`` is
    ``CLASSES[p.index(max(p))]``, a label as it was in training.

    Parameters
    ----------
    model : fitted classifier, TableModel or ExportModel
        As in `sdgm.export.model.exportable`.
    precision : {"double", "float"}, default="double"
        Floating-point type of the interpreter; MicroPython often has float. With float, inputs far
        from the training rows are clipped earlier, so that no score overflows.
    path : path, optional
        File to write.

    Returns
    -------
    text : str
        In ASCII.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> namespace = {}
    >>> exec(to_python(SDGMClassifier(n_components=1).fit(X, y)), namespace)
    >>> [round(p, 3) for p in namespace["predict_proba"]([5.1, 3.5, 1.4, 0.2])]
    [1.0, 0.0, 0.0]
    """
    kind = choice("precision", precision, Precision)
    if kind is Precision.FIXED:
        raise ValueError("precision must be 'double' or 'float' in Python, got 'fixed'.")
    own = only_what_is_read(model)
    plan = make_plan(own, kind)
    text = _text(plan, own)
    if path is not None:
        with replacing(checked_path(path), text=True) as file:
            file.write(text)
    return text


def _text(plan: Plan, own: ExportModel) -> str:
    center = (plan.center + plan.center_rest).tolist()
    scaler = list(zip(plan.used.tolist(), center, plan.inverse_scale.tolist(), strict=True))
    components = [
        (offset, [(j, w) for j, w in enumerate(weights) if w])
        for offset, weights in zip(plan.offset.tolist(), plan.coef.tolist(), strict=True)
    ]
    return TEXT.format(
        n_classes=len(plan.class_names),
        version=sdgm.__version__,
        classes=ascii(tuple(_label(each) for each in own.classes.tolist())),
        inputs=ascii(
            tuple(
                (each.name, tuple(each.levels), each.missing)
                if isinstance(each, Category)
                else (each.name, None if each.fill is None else float(each.fill), each.indicator)
                for each in plan.inputs
            )
        ),
        scaler=scaler,
        reach=float(plan.reach),
        columns=_columns(plan),
        components=components,
        component_class=plan.component_class.tolist(),
    )


def _label(label: Any) -> Any:
    """A label as Python writes it without imports, or else as words."""
    return label if isinstance(label, str | int | float) else str(label)


def _columns(plan: Plan) -> str:
    """Statements that define phi from z."""
    basis = plan.basis
    if isinstance(basis, Monomials):
        words = {ABSENT: "", SQUARED_NORM: "norm"}
        factors = zip(basis.first.tolist(), basis.second.tolist(), strict=True)
        terms = [
            " * ".join(filter(None, (words.get(i, f"z[{i}]") for i in pair))) for pair in factors
        ]
        norm = "    norm = sum([value * value for value in z])\n" if "norm" in terms else ""
        return f"{norm}    phi = [{', '.join(terms)}]"
    kernel = basis.kernel
    if isinstance(kernel, RBFKernel):
        each = f"exp(-{float(kernel.gamma)!r} * sum([(a - b) * (a - b) for a, b in zip(z, v)]))"
    else:
        each = "sum([a * b for a, b in zip(z, v)])"
        if isinstance(kernel, PolynomialKernel):
            gamma, coef0 = float(kernel.gamma), float(kernel.coef0)
            each = f"({gamma!r} * {each} + {coef0!r}) ** {kernel.degree}"
    return f"    phi = [{each} for v in {basis.vectors.tolist()}]"
