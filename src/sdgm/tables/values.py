"""Cells of a table as numbers, names or labels, and which of them are missing."""

from __future__ import annotations

from typing import Any

from sdgm.tables.errors import polars

# texts that stand for a missing value, in any case and with spaces around them
MISSING_NAMES = ("", "na", "n/a", "#n/a", "nan", "null", "?")
# further ones in columns of numbers
MISSING_NUMBERS = (*MISSING_NAMES, "none", "missing", "-", "--", ".")
DECIMAL_COMMA = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$"
BOOLEANS = ("true", "false")
# a date with the year first, and perhaps a time; with a zone it is refused
DAY, TIME = r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?"
DATE = rf"^{DAY}(?:[T ]+{TIME})?$"
ZONED = rf"^{DAY}[T ]+{TIME}\s?(?:Z|[A-Z]{{3,4}}|[+-]\d{{2}}:?(?:\d{{2}})?)$"
# day and month are ambiguous in all of these
OTHER_DATE = r"^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( .*)?$"
MICROSECONDS, SECONDS = 86_400e6, 86_400.0  # of a day
# formats of numbers that are not read: what is typical of each, and the pattern of a number in it
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
FORMATS = {
    "dots as thousands separators": (r"\d\.\d{3}[.,]", r"[+-]?\d{1,3}(\.\d{3})*(,\d+)?"),
    "commas as thousands separators": (r"\d,\d{3}", r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?"),
    "spaces as thousands separators": (
        r"\d[\s'\u2019]\d{3}",
        r"[+-]?\d{1,3}([\s'\u2019]\d{3})*([.,]\d+)?",
    ),
    "decimal commas": (r",", r"[+-]?\d*,\d+"),
    "a currency": (
        r"\p{Sc}|[A-Z]{3}\s",
        r"[+-]?(\p{Sc}|[A-Z]{3}\s)\s?[+-]?[\d.,]*\d|[+-]?[\d.,]*\d\s?\p{Sc}",
    ),
    "a unit": (r"[^\d\s.,;:/_-]", rf"{NUMBER}\s?[^\d\s.,;:/_-]{{1,6}}"),
}


def kind_of(series: Any) -> str:
    """Type of a column of a polars frame: numbers, texts, dates or the name of another."""
    pl = polars()
    dtype = series.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return "numbers"
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return "texts"
    if dtype in (pl.Date, pl.Datetime):
        return "dates"
    names = {pl.Duration: "durations", pl.Time: "times of day"}
    return names.get(dtype.base_type(), str(dtype).lower())


def is_categorical(series: Any) -> bool:
    """Whether the type of a column says that its values are names, even if they are digits."""
    pl = polars()
    return series.dtype in (pl.Categorical, pl.Enum)


def nameless(series: Any) -> Any:
    """The column under a fixed name: polars takes names such as ^a.*$ for patterns."""
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
    numbers = numbers.fill_nan(None)
    if are_booleans(texts.filter(odd)) and ((numbers == 0.0) | (numbers == 1.0)).all():
        is_true = texts.str.to_lowercase() == "true"
        numbers = numbers.set(odd & is_true, 1.0).set(odd & ~is_true, 0.0)
        odd = pl.repeat(False, len(series), eager=True)
    return numbers, odd


def as_days(series: Any) -> tuple[Any, Any]:
    """Dates as days since 1970-01-01, null where missing; and where a text is no date."""
    pl = polars()
    series = nameless(series)
    if kind_of(series) == "dates":
        days = series.cast(pl.Datetime("us")).dt.epoch("us") / MICROSECONDS
        return days, pl.repeat(False, len(series), eager=True)
    texts = as_texts(series)
    year, month, day, *time = (
        texts.str.extract(DATE, i).cast(pl.Float64, strict=False) for i in range(1, 7)
    )
    frame = pl.DataFrame([year.alias("y"), month.alias("m"), day.alias("d")])
    parts = [pl.col(name).cast(pl.Int32).cast(pl.String) for name in "ymd"]
    written = frame.select(pl.concat_str(parts, separator="-")).to_series()
    days = written.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    hour, minute, second = (each.fill_null(0.0) for each in time)
    days = days + (3600.0 * hour + 60.0 * minute + second) / SECONDS
    return days, days.is_null() & texts.is_not_null()


def time_zone(series: Any) -> str | None:
    """The time zone of a column, or a text with one; None if there is none."""
    if kind_of(series) == "dates":
        return getattr(series.dtype, "time_zone", None)
    if kind_of(series) != "texts":
        return None
    texts = as_texts(series).drop_nulls()
    zoned = texts.str.contains(ZONED)
    return texts.filter(zoned)[0] if len(texts) and zoned.mean() > 0.5 else None


def are_booleans(texts: Any) -> bool:
    """Whether all texts say true or false, in any case."""
    return bool(len(texts) and texts.str.to_lowercase().is_in(BOOLEANS).all())


def number_format(texts: Any, most: float) -> str | None:
    """The unusual format of texts of which a share above ``most`` are numbers, if there is one."""
    texts = nameless(texts).str.strip_chars()
    plain = texts.cast(polars().Float64, strict=False).is_not_null()
    for what, (sign, pattern) in FORMATS.items():
        written = texts.str.contains(f"^(?:{pattern})$")
        if (written | plain).mean() > most and texts.filter(written).str.contains(sign).any():
            return what
    return None


def with_decimal_points(series: Any) -> Any:
    """Texts such as 1,5 as 1.5; others as they are."""
    return nameless(series).str.replace(DECIMAL_COMMA, "$1.$2").alias(series.name)


def may_be_thousands(series: Any) -> bool:
    """Whether all commas could stand between thousands, as in 1,234."""
    texts = nameless(series).str.strip_chars()
    texts = texts.filter(texts.str.contains(",", literal=True).fill_null(False))
    return bool(len(texts) and texts.str.contains(THOUSANDS).all())
