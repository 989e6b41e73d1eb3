"""The page: sections, style and script in one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from sdgm.atomic import replacing
from sdgm.core.features import Monomials
from sdgm.core.kernels import LinearKernel, PolynomialKernel, RBFKernel
from sdgm.report.content import Content, gathered
from sdgm.report.evaluation import held_out_section, rows_section
from sdgm.report.learned import header, learned_section, title
from sdgm.report.making import making_section
from sdgm.report.markup import Html, joined, script_json, tag
from sdgm.report.pairs import deciding_section
from sdgm.report.parts import MARKERS, marker_index, section
from sdgm.report.sparsity import sparsity_section
from sdgm.report.training import film_data, training_section
from sdgm.tables.evaluation import evaluate_classifier, evaluate_table
from sdgm.tables.inputs import Number
from sdgm.text import shown

SCRIPTS = ("model.js", "trying.js", "film.js", "start.js")


def report_html(
    model: Any,
    *,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    data: Any = None,
    held_out: dict[str, Any] | None = None,
    title: str | None = None,
) -> str:
    """The training story of a model, as the text of one HTML file.

    Parameters
    ----------
    model : TableModel, or a fitted SDGMClassifier, KernelSDGMClassifier or one of their relatives
    X, y : arrays, optional
        The rows that a classifier was fitted to, for pictures of them; with
        ``record_states=True`` there is a film. A TableModel has its own.
    X_test, y_test : arrays, optional
        Rows that a classifier has not seen, to measure it.
    data : path or polars frame, optional
        The same for a TableModel, with its columns and labels.
    held_out : dict, optional
        What was measured, as under ``held_out`` in the record of a TableModel; in place of
        measuring, and of what the record says.
    title : str, optional

    Returns
    -------
    html : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(n_components=1, record_states=True).fit(X, y)
    >>> report_html(model, X=X, y=y).startswith("<!doctype html>")
    True
    """
    if held_out is None and data is not None:
        held_out = evaluated(model, data)
    if held_out is None and X_test is not None and y_test is not None:
        classifier = getattr(model, "classifier", model)
        held_out = evaluate_classifier(classifier, X_test, y_test).as_dict()
    return page(gathered(model, X=X, y=y, held_out=held_out, title=title))


def write_report(model: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the training story of a model to one HTML file.

    Parameters
    ----------
    model : as in `report_html`
    path : path
        The file to write, replaced as a whole if it exists.
    **options :
        As in `report_html`.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> model = SDGMClassifier(n_components=1).fit(*load_iris(return_X_y=True))
    >>> with TemporaryDirectory() as folder:
    ...     write_report(model, Path(folder) / "iris.html").name
    'iris.html'
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
    text = report_html(model, **options)
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
    return path


def evaluated(model: Any, data: Any) -> dict[str, Any]:
    """What a TableModel does on a table with labels."""
    if not hasattr(model, "inputs"):
        raise TypeError(
            f"data is for a model of a table, not for a {type(model).__name__}; pass X_test and "
            "y_test."
        )
    return evaluate_table(model, data).as_dict()


def page(content: Content) -> str:
    """The whole file."""
    sections = [
        learned_section(content),
        training_section(content),
        sparsity_section(content),
        held_out_section(content),
        deciding_section(content),
        rows_section(content),
        trying_section(content),
        making_section(content),
    ]
    kept = [each for each in sections if each]
    style = asset("style.css")
    script = '(() => {\n"use strict";\n' + "\n".join(map(asset, SCRIPTS)) + "})();\n"
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return Template(asset("template.html")).substitute(
        policy=policy,
        title=joined(title(content)),
        style=style,
        body=joined([header(content), contents(kept), *kept]),
        data=script_json(page_data(content)),
        script=script,
    )


def asset(name: str) -> str:
    """A file of the package."""
    return files("sdgm.report").joinpath("assets", name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """What a content security policy calls an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def contents(sections: list[Html]) -> Html:
    """Links to the sections."""
    items = []
    for each in sections:
        key = each.split('id="', 1)[1].split('"', 1)[0]
        name = each.split("<h2", 1)[1].split(">", 1)[1].split("</h2>", 1)[0]
        items.append(tag("li", tag("a", Html(name), href=f"#{key}")))
    return tag("nav", tag("ol", items), aria_label="Sections")


def trying_section(content: Content) -> Html | None:
    """Fields to try a row; the script makes them."""
    if content.portable is None:
        return None
    text = (
        "The page computes the probabilities itself, in double precision and with the same numbers "
        "as the model in Python."
    )
    return section(
        "try",
        "Try a row",
        tag("p", text),
        tag("noscript", tag("p", "This needs JavaScript.")),
        tag("div", id="try-panel", class_="try"),
    )


def page_data(content: Content) -> dict[str, Any]:
    """What the script reads."""
    return {
        "classes": content.class_names,
        "markers": [MARKERS[marker_index(c)] for c in range(len(content.class_names))],
        "model": model_data(content),
        "film": film_data(content),
    }


def model_data(content: Content) -> dict[str, Any] | None:
    """The numbers of `sdgm.portable.PortableModel`, as the script calls them."""
    model = content.portable
    if model is None:
        return None
    used = set(content.words.inputs)
    inputs, first = [], 0
    for each in model.inputs:
        shared = {"name": shown(each.name), "used": each.name in used}
        if isinstance(each, Number):
            start = model.center[first] if each.fill is None else each.fill
            inputs.append(
                shared
                | {
                    "kind": "number",
                    "fill": each.fill,
                    "indicator": each.indicator,
                    "start": f"{start:.4g}",
                }
            )
        else:
            levels = [shown(level) for level in each.levels]
            inputs.append(
                shared | {"kind": "category", "levels": levels, "missing": each.missing, "start": 0}
            )
        first += len(each.features)
    return {
        "inputs": inputs,
        "n_classes": len(model.classes),
        "center": model.center.tolist(),
        "inverse_scale": model.inverse_scale.tolist(),
        "reach": float(model.reach),
        "basis": basis_data(model.basis),
        "coef": model.coef.tolist(),
        "offset": model.offset.tolist(),
        "component_class": np.asarray(model.component_class).tolist(),
    }


def basis_data(basis: Any) -> dict[str, Any]:
    """The columns of the model."""
    if isinstance(basis, Monomials):
        return {
            "kind": "monomials",
            "first": basis.first.tolist(),
            "second": basis.second.tolist(),
        }
    made = {"kind": "kernels", "vectors": basis.vectors.tolist()}
    match basis.kernel:
        case PolynomialKernel(degree, gamma, coef0):
            return made | {
                "kernel": "poly",
                "degree": int(degree),
                "gamma": float(gamma),
                "coef0": float(coef0),
            }
        case RBFKernel(gamma):
            return made | {"kernel": "rbf", "gamma": float(gamma)}
        case LinearKernel():
            return made | {"kernel": "linear"}
        case other:
            raise TypeError(f"the kernel {other!r} cannot be written into a page.")
