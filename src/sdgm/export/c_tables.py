"""Constant tables of a C header, and how many bytes they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgm._typing import IntArray
from sdgm.export.c_text import MAX_LITERAL, characters, comment, literal, number, utf8, wrapped

# a row of a matrix up to this length has its comment on the same line
SHORT_ROW = 60


@dataclass
class Tables:
    """Definitions of ``static const`` arrays, in order.

    Examples
    --------
    >>> tables = Tables("iris", "float")
    >>> tables.array("center", np.array([1.5, 2.0]), ["length", "width"])
    >>> print(tables.text)
    static const float iris_center[2] = {
        1.5f,  /* length */
        2.0f   /* width */
    };
    >>> tables.n_bytes
    8
    """

    name: str  # what every identifier begins with
    real: str  # "double" or "float"
    n_bytes: int = 0  # of all constants so far
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All definitions."""
        return "\n\n".join(self.parts)

    @property
    def real_bytes(self) -> int:
        """Bytes of one number."""
        return 8 if self.real == "double" else 4

    def array(
        self, table: str, values: np.ndarray[Any, Any], comments: Sequence[str] | None = None
    ) -> None:
        """Numbers of the header's type, or whole numbers of the array's type.

        With a comment for each, one number or one row of a matrix per line; else many per line.
        """
        shown: Callable[[Any], str] = str
        ctype, n_bytes = f"{values.dtype}_t", values.dtype.itemsize
        if values.dtype.kind == "f":
            ctype, n_bytes, shown = self.real, self.real_bytes, self.number
        if comments is None:
            body = wrapped([shown(value) for value in values.tolist()])
        else:
            rows = [self._row(row, shown) for row in values.tolist()]
            rows = [*(f"{row}," for row in rows[:-1]), rows[-1]]
            width = max(map(len, rows))
            body = "\n".join(
                f"    {row:{width}}  /* {comment(text)} */"
                if "\n" not in row
                else f"    /* {comment(text)} */\n    {row}"
                for row, text in zip(rows, comments, strict=True)
            )
        sizes = "".join(f"[{size}]" for size in values.shape)
        self.parts.append(f"static const {ctype} {self.name}_{table}{sizes} = {{\n{body}\n}};")
        self.n_bytes += values.size * n_bytes

    def _row(self, values: Any, shown: Callable[[Any], str]) -> str:
        if not isinstance(values, list):
            return shown(values)
        items = [shown(value) for value in values]
        line = "{" + ", ".join(items) + "}"
        return line if len(line) <= SHORT_ROW else "{\n" + wrapped(items, "        ") + "\n    }"

    def indices(self, table: str, values: Sequence[int] | IntArray) -> None:
        """Whole numbers that are not negative, in the smallest type that holds them."""
        array = np.asarray(values, dtype=np.int64)
        self.array(table, array.astype(np.min_scalar_type(int(array.max()))))

    def strings(self, table: str, values: Sequence[str]) -> None:
        """Names; those too long for a literal become arrays of their own."""
        entries = []
        for i, value in enumerate(values):
            length = len(utf8(value))
            self.n_bytes += length + 1
            if length <= MAX_LITERAL:
                entries.append(literal(value))
                continue
            own = f"{self.name}_{table}_{i}"
            self.parts.append(f"static const char {own}[] = {characters(value)};")
            entries.append(own)
        lines = ",\n".join(f"    {entry}" for entry in entries)
        head = f"static const char *const {self.name}_{table}[{len(values)}]"
        self.parts.append(f"{head} = {{\n{lines}\n}};")

    def number(self, value: float) -> str:
        """A constant of the header's type."""
        return number(value, self.real)
