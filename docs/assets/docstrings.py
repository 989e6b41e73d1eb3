"""Stars in docstrings mark settings; they are not emphasis."""

from __future__ import annotations

from typing import Any

import griffe


class PlainStars(griffe.Extension):
    """Write (*) so that Markdown leaves it alone."""

    def on_instance(self, *, obj: griffe.Object, **settings: Any) -> None:
        if obj.docstring:
            obj.docstring.value = obj.docstring.value.replace("(*)", r"(\*)")
