"""Models for places without Python: C, ONNX and JSON.

`to_onnx` and `register_skl2onnx` need the extra ``export``; the others need nothing.
"""

from __future__ import annotations

from typing import Any

from sdgm.export.c import CSource, to_c
from sdgm.export.card import to_json

__all__ = ["CSource", "register_skl2onnx", "to_c", "to_json", "to_onnx"]


def __getattr__(name: str) -> Any:
    """Names that need onnx, which is not imported before they are wanted."""
    if name == "to_onnx":
        from sdgm.export.onnx_model import to_onnx

        return to_onnx
    if name == "register_skl2onnx":
        from sdgm.export.onnx_sklearn import register_skl2onnx

        return register_skl2onnx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
