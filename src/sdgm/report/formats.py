"""Numbers as they are shown."""

from __future__ import annotations

import math

# as printed: a true minus sign, and a dash where there is no number
MINUS, NO_NUMBER = "\u2212", "\u2013"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """A number to a few significant digits.

    Examples
    --------
    >>> number(0.012345), number(123456.0), number(2.0), number(9.9999e9)
    ('0.0123', '123,456', '2', '1.00·10¹⁰')
    """
    if value is None or not math.isfinite(value):
        return NO_NUMBER
    if value == 0.0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")  # rounds before it counts digits
    size = int(exponent)
    if size >= 9 or size < -4:
        return f"{mantissa.replace('-', MINUS)}·{power_of_ten(size)}"
    text = fixed(value, max(digits - 1 - size, 0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def power_of_ten(exponent: int) -> str:
    """Such as 10⁻²."""
    return "10" + str(exponent).translate(SUPERSCRIPT)


def fixed(value: float | None, decimals: int) -> str:
    """A number with a fixed number of decimals, for columns of a table."""
    if value is None or not math.isfinite(value):
        return NO_NUMBER
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def percent(share: float | None) -> str:
    """A share with one decimal.

    Examples
    --------
    >>> percent(0.0912)
    '9.1%'
    """
    return NO_NUMBER if share is None or not math.isfinite(share) else f"{100.0 * share:.1f}%"


def plus_minus(weight: float, std: float | None) -> str:
    """A weight with its posterior standard deviation, rounded to two digits of the latter.

    Examples
    --------
    >>> plus_minus(2.0412, 0.2713)
    '2.04 ± 0.27'
    """
    if std is None or not math.isfinite(std) or std <= 0.0:
        return number(weight)
    decimals = max(1 - math.floor(math.log10(std)), 0)
    if decimals > 5 or abs(weight) >= 1e6:
        return f"{number(weight)} ± {number(std, 2)}"
    return f"{fixed(weight, decimals)} ± {fixed(std, decimals)}"


def short_count(n: int, separator: str = ",") -> str:
    """A count in at most five letters, as long as it is below a billion.

    Examples
    --------
    >>> short_count(9_999), short_count(12_345), short_count(1_234_567)
    ('9,999', '12k', '1.2M')
    """
    if n < 10_000:
        return f"{n:,}".replace(",", separator)
    if n < 999_500:
        return f"{n / 1e3:.0f}k"
    return f"{n / 1e6:.1f}M" if n < 9.95e6 else f"{n / 1e6:.0f}M"
