"""Models for other places: C, JavaScript, plain Python, ONNX and JSON.

`to_onnx` and `register_skl2onnx` need the extra ``export``; the others need nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdgm._lazy import attribute

if TYPE_CHECKING:
    from sdgm.export.c import CSource, to_c
    from sdgm.export.card import to_json
    from sdgm.export.javascript import to_javascript
    from sdgm.export.python import to_python
    from sdgm.export.rounding import rounded

# loaded when they are wanted: some need onnx, and others describe a model, which needs `model`
_HOMES = {
    "CSource": "c",
    "to_c": "c",
    "to_javascript": "javascript",
    "to_json": "card",
    "to_onnx": "onnx_model",
    "to_python": "python",
    "rounded": "rounding",
    "register_skl2onnx": "onnx_sklearn",
}

__all__ = [
    "CSource",
    "register_skl2onnx",
    "rounded",
    "to_c",
    "to_javascript",
    "to_json",
    "to_onnx",
    "to_python",
]


def __getattr__(name: str) -> Any:
    """The public names, from their own modules."""
    return attribute(__name__, _HOMES, name)
