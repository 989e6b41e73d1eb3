"""The model card: a fitted model as JSON that people can read and programs can compute with."""

from __future__ import annotations

import json
from dataclasses import asdict
from numbers import Integral
from os import PathLike
from typing import Any

from sdgm.atomic import replacing
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.kernels import KernelBasis, name_of
from sdgm.description import Description, ModeDescription, describe
from sdgm.environment import versions
from sdgm.export.model import ExportModel, classifier_and_inputs, exportable
from sdgm.json_values import json_value
from sdgm.tables.inputs import Category, Input

# raised when programs that read cards would read a new one wrongly
CARD_FORMAT = 1
FORMULA = (
    "Inputs become features: a number x is itself, or its fill where it is missing, and a feature "
    "that is one where it was missing follows if there is an indicator; a category has one feature "
    "per level, one where the row has it and zero elsewhere, and one for missing if it says so.",
    "z_i = (feature_i - center_i) * inverse_scale_i, clipped to [-reach, reach].",
)
FORMULA_OF_TERMS = (
    "term_j(z) is the product of the z_i of its features, or the sum of all z_i^2 (squared_norm).",
    "score of a mode = ln(mixture_weight) + constant + sum of weight * term_j(z).",
)
FORMULA_OF_KERNELS = (
    "v_j is the relevance vector j, its features standardised in the same way; k(z, v) is "
    "(gamma z'v + coef0)^degree (poly), exp(-gamma |z - v|^2) (rbf) or z'v (linear).",
    "score of a mode = ln(mixture_weight) + constant + sum of weight * k(z, v_j).",
)
FORMULA_OF_CLASSES = (
    "P(class) = sum of exp(score) over the modes of the class / sum over all modes.",
    "These are the probabilities of the most probable weights, predictive='map'.",
)


def to_json(model: Any, path: str | PathLike[str] | None = None) -> str:
    """A model card: what the model is, and every number that its predictions need.

    Parameters
    ----------
    model : fitted classifier of this package, or TableModel
    path : path, optional
        Where to write it as well.

    Returns
    -------
    text : str
        JSON without NaN or infinity; numbers have the digits to be read back as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> card = json.loads(to_json(SDGMClassifier(n_components=1).fit(X, y)))
    >>> card["classes"], card["inputs"][0]["name"]
    ([0, 1, 2], 'sepal length (cm)')
    """
    text = json.dumps(_card(model), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # a lone half of a surrogate pair has no place in a file
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if path is not None:
        with replacing(path) as file:
            file.write(text.encode("utf-8"))
    return text


def _card(model: Any) -> dict[str, Any]:
    plain, description = exportable(model), describe(model)
    classifier, _ = classifier_and_inputs(model)
    is_dual = isinstance(plain.basis, KernelBasis)
    formula = FORMULA + (FORMULA_OF_KERNELS if is_dual else FORMULA_OF_TERMS) + FORMULA_OF_CLASSES
    form = "kernels at relevance vectors (dual form)" if is_dual else "quadratic terms"
    return {
        "what": f"Sparse discriminative Gaussian mixture classifier on {form}",
        "card_format": CARD_FORMAT,
        "target": description.target,
        "classes": plain.classes.tolist(),
        "inputs": [input_entry(each) for each in plain.inputs],
        "description": description.text(100).splitlines(),
        "formula": list(formula),
        "features": [
            {"name": each.name, "center": each.center, "inverse_scale": inverse, "used": each.used}
            for each, inverse in zip(
                description.features, plain.inverse_scale.tolist(), strict=True
            )
        ],
        "reach": float(plain.reach),
        **_columns(classifier, plain, description),
        "modes": [_mode(each.label, mode) for each in description.classes for mode in each.modes],
        "weights": {
            "left": description.n_weights,
            "before_learning": description.n_initial_weights,
        },
        "settings": {
            "estimator": description.estimator,
            "parameters": json_value(classifier.get_params(deep=False)),
            "chosen": description.chosen,
        },
        "learning": _learning(classifier),
        "training": json_value(getattr(model, "record", {})),
        "versions": versions(),
    }


def input_entry(each: Input) -> dict[str, Any]:
    """A column of the user's table, and how it becomes features."""
    rest: dict[str, Any]
    if isinstance(each, Category):
        rest = {"kind": "category", "levels": list(each.levels), "missing": each.missing}
    else:
        rest = {"kind": "number", "fill": each.fill, "indicator": each.indicator}
        rest |= {"unit": "days since 1970-01-01"} if each.is_date else {}
    return {"name": each.name, **rest, "features": list(each.features)}


def _columns(classifier: Any, plain: ExportModel, description: Description) -> dict[str, Any]:
    """The terms, or the kernel and its relevance vectors."""
    basis = plain.basis
    if isinstance(basis, Monomials):
        names = basis.names(plain.feature_names)
        terms = zip(names, term_entries(basis), strict=True)
        return {"terms": [{"name": name, **entry} for name, entry in terms]}
    return {
        "kernel": kernel_entry(basis.kernel),
        "training_rows_counted_from": description.rows_from,
        "relevance_vectors": [
            {"name": each.name, "training_row": each.row, "values": each.values, "features": row}
            for each, row in zip(
                description.vectors, classifier.relevance_vectors_.tolist(), strict=True
            )
        ],
    }


def term_entries(basis: Monomials) -> list[dict[str, Any]]:
    """Every monomial as the features whose product it is, or as the squared norm."""
    pairs = zip(basis.first.tolist(), basis.second.tolist(), strict=True)
    return [
        {"squared_norm": True}
        if i == SQUARED_NORM
        else {"features": [p for p in (i, j) if p != ABSENT]}
        for i, j in pairs
    ]


def kernel_entry(kernel: Any) -> dict[str, Any]:
    """A kernel by its name and parameters."""
    name = name_of(kernel)
    if name is None:
        raise TypeError(f"{type(kernel).__name__} is not a kernel that can be exported.")
    values = {k: int(v) if isinstance(v, Integral) else float(v) for k, v in vars(kernel).items()}
    return {"name": name.value, **values}


def _mode(label: Any, mode: ModeDescription) -> dict[str, Any]:
    constant = mode.constant
    return {
        "class": label,
        "mode": mode.number,
        "mixture_weight": mode.mixture_weight,
        "constant": 0.0 if constant is None else constant.weight,
        "constant_std": None if constant is None else constant.std,
        "weights": [
            {"term": term.column, "name": term.name, "weight": term.weight, "std": term.std}
            for term in mode.terms
        ],
        "gaussian": None if mode.gaussian is None else asdict(mode.gaussian),
    }


def _learning(classifier: Any) -> dict[str, Any]:
    names = ("n_iter_", "converged_", "stop_reason_", "log_evidence_")
    return {name[:-1]: json_value(getattr(classifier, name, None)) for name in names}
