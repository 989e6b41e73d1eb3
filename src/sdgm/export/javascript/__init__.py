"""A fitted model as one module of JavaScript, for browsers and Node."""

from __future__ import annotations

import json
import math
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import sdgm
from sdgm.atomic import checked_path, replacing
from sdgm.core.model.features import Monomials
from sdgm.export.card import input_entry, kernel_entry, term_entries
from sdgm.export.model import ExportModel, only_what_is_read

# largest whole number up to which JavaScript has all
LARGEST_INTEGER = 2**53
# JSON in a script: neither tags nor comments of HTML end or begin in it
ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
DECLARATIONS = {".js": ".d.ts", ".mjs": ".d.mts"}


def to_javascript(model: Any, path: str | os.PathLike[str] | None = None) -> str:
    """A fitted model as an ES module without dependencies, for web pages and Node.

    The module exports ``predict(row)``, ``predictProba(row)``, ``classes`` and ``inputs``. A row is
    an array in the order of the inputs, or an object with their names as keys: numbers in their
    original units, categories as strings, and null, undefined or NaN for missing values. Invalid
    inputs throw an error. Probabilities use ``predictive="map"``. Features that ``max_features``
    left out are not inputs.

    Names of classes, inputs and categories are escaped, so the module may also be embedded in
    ``<script type="module">``.

    Parameters
    ----------
    model : fitted classifier, TableModel or ExportModel
        As in `sdgm.export.model.exportable`.
    path : path, optional
        File to write, ``.js`` or ``.mjs``; TypeScript declarations are written to a ``.d.ts`` or
        ``.d.mts`` file with the same name.

    Returns
    -------
    text : str
        The module, in ASCII.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> data = load_iris()
    >>> model = SDGMClassifier(n_components=1).fit(data.data, data.target_names[data.target])
    >>> "export function predictProba(row)" in to_javascript(model)
    True
    """
    numbers = only_what_is_read(model)
    data = {"classes": [_label(each) for each in numbers.classes.tolist()], **model_data(numbers)}
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).translate(ESCAPES)
    head = f"// A classifier made by sdgm {sdgm.__version__}.\nconst model = {text};\n\n"
    text = head + script("model.js") + script("module.js")
    if path is not None:
        _write(path, text)
    return text


def path_of_types(path: Path) -> Path:
    """Where the types of a module are written."""
    if path.suffix not in DECLARATIONS:
        raise ValueError(f"{path.name!r} does not end in .js or .mjs; a module of JavaScript does.")
    return path.with_suffix(DECLARATIONS[path.suffix])


def _write(path: str | os.PathLike[str], text: str) -> None:
    """The module, and its types beside it."""
    path = checked_path(path)
    for each, written in (path_of_types(path), script("module.d.ts")), (path, text):
        with replacing(each, text=True) as file:
            file.write(written)


def _label(label: Any) -> Any:
    """A label as JavaScript has it: strings, truth values and numbers that it holds, or words."""
    is_number = isinstance(label, int | float)
    held = abs(label) <= LARGEST_INTEGER and math.isfinite(label) if is_number else True
    return label if held and isinstance(label, str | int | float) else str(label)


def model_data(model: ExportModel) -> dict[str, Any]:
    """The numbers that `model.js` computes with; entries are those of the model card."""
    basis = model.basis
    columns = (
        {"terms": term_entries(basis)}
        if isinstance(basis, Monomials)
        else {"kernel": kernel_entry(basis.kernel), "vectors": basis.vectors.tolist()}
    )
    return {
        "inputs": [input_entry(each) for each in model.inputs],
        "n_classes": len(model.classes),
        "center": model.center.tolist(),
        "inverse_scale": model.inverse_scale.tolist(),
        "reach": float(model.reach),
        **columns,
        "coef": model.coef.tolist(),
        "offset": model.offset.tolist(),
        "component_class": np.asarray(model.component_class).tolist(),
    }


def script(name: str) -> str:
    """A script of this package; the page of a report computes with ``model.js`` too."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
