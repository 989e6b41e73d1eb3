"""What the script of a page reads: the model in numbers, and the frames of the film."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from sdgm.export.javascript import model_data
from sdgm.report.arrays import ARRAYS
from sdgm.report.content import Content
from sdgm.report.formats import number
from sdgm.report.templates import marker
from sdgm.tables.inputs import Number
from sdgm.text import counted, shown

# arrays of a story that the script does not need
NOT_DRAWN = {"n_rows", "rows/index", "rows/features", "rows/x", "pi"}
NOT_DRAWN |= {"alpha", "alpha/component", "alpha/count"}
# how the script reads them; others as the widest that it has
TYPES = {"uint8": "u1", "int32": "i4", "float32": "f4", "float64": "f8"}


def page_data(content: Content) -> dict[str, Any]:
    """All of it."""
    return {
        "classes": content.class_names,
        "markers": [marker(c) for c in range(len(content.class_names))],
        "model": try_data(content),
        "film": film_data(content),
    }


def try_data(content: Content) -> dict[str, Any] | None:
    """The numbers of the exported script, with inputs as they are shown and where they start."""
    model = content.export_model
    if model is None:
        return None
    data, used, first = model_data(model), set(content.description.inputs), 0
    for entry, each in zip(data["inputs"], model.inputs, strict=True):
        entry |= {"name": shown(each.name), "used": each.name in used}
        if isinstance(each, Number):
            start = model.center[first] if each.fill is None else each.fill
            entry["start"] = f"{start:.4g}"
        else:
            entry |= {"levels": [shown(level) for level in each.levels], "start": 0}
        first += len(each.features)
    return data


def film_data(content: Content) -> dict[str, Any] | None:
    """What the script needs to draw the frames; None without a film."""
    if not content.has_film:
        return None
    story = content.story
    drawn = story.keys() - NOT_DRAWN
    return {
        "plane": "grid" in story,
        "axes": content.feature_names[:2] if "limits" in story else axis_names(content),
        "captions": captions(content),
        "arrays": {name: packed(story[name]) for name in ARRAYS if name in drawn},
    }


def captions(content: Content) -> list[str]:
    """What is left after the iteration of every frame."""
    story, history = content.story, content.history
    last, n_iter = int(story["iteration"][-1]), len(history["iteration"])
    made = []
    for i, pi in zip(story["iteration"].tolist(), story["pi"], strict=True):
        k = min(i, n_iter) - 1
        of_class = story["component_class"][~np.isnan(pi)]
        n = np.bincount(of_class, minlength=len(content.class_names)).tolist()
        made.append(
            f"Iteration {i:,} of {last:,}: {counted(int(history['n_weights'][k]), 'weight')}, "
            f"{' + '.join(map(str, n)) if len(n) <= 8 else sum(n)} components, log evidence "
            + number(history["log_evidence"][k], 4)
        )
    if n_iter < last:
        made[-1] = f"Reduced to {counted(content.description.n_weights, 'weight')} at the end"
    return made


def axis_names(content: Content) -> list[str]:
    """What the axes of the projection are."""
    if len(content.class_names) == 2:
        return ["linear discriminant", "first principal component of the residuals"]
    return ["first linear discriminant", "second linear discriminant"]


def packed(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array as base64 of its bytes, lowest first."""
    kind = TYPES.get(array.dtype.name, "f8" if array.dtype.kind == "f" else "i4")
    data = np.ascontiguousarray(array, dtype=np.dtype(f"<{kind}"))
    text = base64.b64encode(data.tobytes()).decode("ascii")
    return {"type": kind, "shape": list(array.shape), "data": text}
