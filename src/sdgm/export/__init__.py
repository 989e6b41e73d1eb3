"""Models for places without Python: C, ONNX and JSON.

`to_onnx` and `register_skl2onnx` need the extra ``export``; the others need nothing.
"""

from __future__ import annotations

from typing import Any

from sdgm._lazy import attribute
from sdgm.export.c import CSource, to_c
from sdgm.export.card import to_json

# these need onnx, which is not imported before they are wanted
_HOMES = {"to_onnx": "onnx_model", "register_skl2onnx": "onnx_sklearn"}

__all__ = ["CSource", "register_skl2onnx", "to_c", "to_json", "to_onnx"]


def __getattr__(name: str) -> Any:
    """The names that need onnx, from their own modules."""
    return attribute(__name__, _HOMES, name)
