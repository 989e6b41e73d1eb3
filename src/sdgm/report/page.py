"""The page: sections, style and script in one file that needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sdgm.atomic import checked_path, replacing
from sdgm.export.javascript import script as script_of_model
from sdgm.report.content import Content, report_content
from sdgm.report.page_data import page_data
from sdgm.report.sections import report_sections
from sdgm.report.templates import asset, digest, rendered
from sdgm.tables.evaluation import evaluate_classifier, evaluate_table

SCRIPTS = ("trying.js", "film.js", "start.js")


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
        if not hasattr(model, "inputs"):
            raise TypeError(
                f"data needs a model fitted to a table, got a {type(model).__name__}; pass X_test "
                "and y_test."
            )
        held_out = evaluate_table(model, data).as_dict()
    if held_out is None and X_test is not None and y_test is not None:
        classifier = getattr(model, "classifier", model)
        held_out = evaluate_classifier(classifier, X_test, y_test).as_dict()
    return page(report_content(model, X=X, y=y, held_out=held_out, title=title))


def write_report(model: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the training story of a model to one HTML file, replaced as a whole if it exists.

    Parameters
    ----------
    model, **options :
        As in `report_html`.
    path : path

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
    path = checked_path(path)
    text = report_html(model, **options)
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
    return path


def page(content: Content) -> str:
    """The whole file."""
    style = asset("style.css")
    parts = [script_of_model("model.js"), *map(asset, SCRIPTS)]
    script = '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return rendered(
        "page.html.j2",
        content=content,
        sections=report_sections(content),
        data=page_data(content),
        policy=policy,
        style=style,
        script=script,
    )
