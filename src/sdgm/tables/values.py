"""Cells of a table as numbers, names or labels, and which of them count as missing."""

from __future__ import annotations

from typing import Any

from sdgm.tables.errors import polars

# texts that stand for a missing value, in any case and with spaces around them
MISSING_NAMES = ("", "na", "n/a", "#n/a", "nan", "null", "?")
# and which among numbers can mean nothing else
MISSING_NUMBERS = (*MISSING_NAMES, "none", "missing", "-", "--", ".")


def kind_of(series: Any) -> str:
    """What a column of a polars frame holds: numbers, texts, dates or something else."""
    pl = polars()
    dtype = series.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return "numbers"
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return "texts"
    return "dates" if dtype.is_temporal() else str(dtype).lower()


def nameless(series: Any) -> Any:
    """The column under a name of our own: polars takes names such as ^a.*$ for patterns."""
    return series.alias("values")


def as_texts(series: Any) -> Any:
    """Names without spaces around them, null where missing."""
    pl = polars()
    texts = nameless(series).cast(pl.String).str.strip_chars()
    return texts.set(texts.str.to_lowercase().is_in(MISSING_NAMES).fill_null(False), None)


def as_numbers(series: Any) -> tuple[Any, Any]:
    """Numbers, null where missing; and where a text is neither a number nor missing."""
    pl = polars()
    series = nameless(series)
    if series.dtype != pl.String:
        if kind_of(series) == "texts":
            return as_numbers(series.cast(pl.String))
        numbers = series.cast(pl.Float64)
        return numbers.fill_nan(None), pl.repeat(False, len(series), eager=True)
    texts = series.str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    odd = numbers.is_null() & texts.is_not_null()
    if odd.any():
        odd &= ~texts.str.to_lowercase().is_in(MISSING_NUMBERS).fill_null(True)
    return numbers.fill_nan(None), odd


def with_decimal_points(series: Any) -> Any:
    """Texts such as 1,5 as 1.5; others as they are."""
    pattern = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
    return nameless(series).str.replace(pattern, "$1.$2").alias(series.name)
