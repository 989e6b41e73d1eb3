"""Constant tables of a C header, and how many bytes they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.export.c_text import MAX_LITERAL, characters, comment, literal, number, utf8, wrapped


@dataclass
class Tables:
    """Definitions of ``static const`` arrays, in order.

    Attributes
    ----------
    name : str
        What every identifier begins with.
    real : {"double", "float"}
    n_bytes : int
        Of all constants so far.

    Examples
    --------
    >>> tables = Tables("iris", "float")
    >>> tables.reals("center", np.array([1.5, 2.0]), ["length", "width"])
    >>> print(tables.text)
    static const float iris_center[2] = {
        1.5f,  /* length */
        2.0f   /* width */
    };
    >>> tables.n_bytes
    8
    """

    name: str
    real: str
    n_bytes: int = 0
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All definitions."""
        return "\n\n".join(self.parts)

    @property
    def real_bytes(self) -> int:
        """Bytes of one number."""
        return 8 if self.real == "double" else 4

    def reals(self, table: str, values: FloatArray, comments: Sequence[str]) -> None:
        """One number per line with a comment, or a row of numbers per line."""
        rows = [self._row(row) for row in values]
        commas = [","] * (len(rows) - 1) + [""]
        width = max(map(len, rows)) + 1
        lines = [
            f"    {row + comma:{width}}  /* {comment(text)} */"
            if "\n" not in row
            else f"    /* {comment(text)} */\n    {row}{comma}"
            for row, comma, text in zip(rows, commas, comments, strict=True)
        ]
        self._add(self.real, table, values.shape, "\n".join(lines))
        self.n_bytes += values.size * self.real_bytes

    def packed(self, table: str, values: FloatArray) -> None:
        """Numbers without comments, many per line."""
        self._add(self.real, table, values.shape, wrapped([self.number(v) for v in values]))
        self.n_bytes += values.size * self.real_bytes

    def indices(self, table: str, values: Sequence[int] | IntArray) -> None:
        """Whole numbers that are not negative, in the smallest type that holds them."""
        array = np.asarray(values, dtype=np.int64)
        dtype = np.min_scalar_type(int(array.max()))
        self._add(f"{dtype}_t", table, array.shape, wrapped([str(v) for v in array.tolist()]))
        self.n_bytes += array.size * dtype.itemsize

    def integers(self, table: str, values: IntArray, bits: int) -> None:
        """Whole numbers of so many bits, with their sign."""
        if values.ndim == 1:
            body = wrapped([str(v) for v in values.tolist()])
        else:
            rows = [wrapped([str(v) for v in row], "        ") for row in values.tolist()]
            body = ",\n".join(f"    {{\n{row}\n    }}" for row in rows)
        self._add(f"int{bits}_t", table, values.shape, body)
        self.n_bytes += values.size * bits // 8

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

    def _row(self, values: FloatArray | float) -> str:
        if np.ndim(values) == 0:
            return self.number(float(values))
        shown = [self.number(v) for v in values]  # type: ignore[union-attr]
        line = "{" + ", ".join(shown) + "}"
        return line if len(line) <= 60 else "{\n" + wrapped(shown, "        ") + "\n    }"

    def _add(self, ctype: str, table: str, shape: tuple[int, ...], body: str) -> None:
        sizes = "".join(f"[{size}]" for size in shape)
        self.parts.append(f"static const {ctype} {self.name}_{table}{sizes} = {{\n{body}\n}};")
