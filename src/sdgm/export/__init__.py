"""Models for places without Python: C, ONNX and JSON.

`to_onnx` and `register_skl2onnx` need the extra ``export``; the others need nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdgm._lazy import attribute

if TYPE_CHECKING:
    from sdgm.export.c import CSource, to_c
    from sdgm.export.card import to_json

# loaded when they are wanted: some need onnx, and others describe a model, which needs `model`
_HOMES = {
    "CSource": "c",
    "to_c": "c",
    "to_json": "card",
    "to_onnx": "onnx_model",
    "register_skl2onnx": "onnx_sklearn",
}

__all__ = ["CSource", "register_skl2onnx", "to_c", "to_json", "to_onnx"]


def __getattr__(name: str) -> Any:
    """The public names, from their own modules."""
    return attribute(__name__, _HOMES, name)
