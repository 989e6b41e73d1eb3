"""The description of a model as plain text for a terminal.

Tables are laid out here and not by rich, which the description does not need otherwise.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from math import floor, log10
from typing import Any

from sdgm.description.values import (
    ClassDescription,
    Description,
    GaussianDescription,
    ModeDescription,
    TermDescription,
)
from sdgm.text import counted, shown

# digits after the point before a number is written with an exponent
MOST_DECIMALS = 5
# correlations below this are not worth words
SMALLEST_CORRELATION = 0.005
INDENT = "    "
# keeps the words of an item together; `shown` leaves none in a name
NO_BREAK = "\u00a0"


def text(description: Description, width: int, *, ascii: bool, most: int | None) -> str:
    """The whole description, in lines of at most ``width`` characters where names allow."""
    name = partial(shown, ascii=ascii)
    blocks = [
        _head(description, width, name),
        _formula(description, width),
        *(_class(each, width, name, ascii, most) for each in description.classes),
        _vectors(description, width, name, most),
        _scales(description, width, name, most),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _head(description: Description, width: int, name: Any) -> list[str]:
    form = "original form" if description.form == "primal" else "dual form"
    removed = description.n_initial_weights - description.n_weights
    modes = counted(description.n_modes, "mode")
    left = f"{counted(description.n_weights, 'weight')} in {modes}"
    if removed > 0:
        left += f": removed {removed:,} of {description.n_initial_weights:,} weights"
    labels = [name(each.label) for each in description.classes]
    of_target = "" if description.target is None else f" of {name(description.target)}"
    lines = [
        *_wrapped(
            f"Sparse discriminative Gaussian mixture, {form} ({description.estimator})", width
        ),
        *_filled(f"{len(labels)} classes{of_target}: ", labels, width),
        *_wrapped(f"{left}.", width),
    ]
    if description.chosen:
        chosen = [f"{key}={name(_number(value))}" for key, value in description.chosen.items()]
        lines += _filled("chosen from the training rows: ", chosen, width)
    if description.inputs:
        lines += _filled("used: ", [name(each) for each in description.inputs], width)
    if description.unused:
        lines += _filled("not used: ", [name(each) for each in description.unused], width)
    return lines


def _formula(description: Description, width: int) -> list[str]:
    """How the numbers below become probabilities."""
    of = "of standardised inputs" if description.standardized else "of the inputs as they are"
    lines = [
        f"The score of a mode is ln(share) plus its terms, {of}. The probability of a class is the "
        "sum of exp(score) over its modes, divided by the sum over all modes."
    ]
    if description.kernel is not None:
        lines.append(f"The terms are kernels at relevance vectors, {description.kernel}.")
    modes = [mode for each in description.classes for mode in each.modes]
    if any(term.std is not None for mode in modes for term in mode.terms):
        lines.append(
            "In brackets: posterior standard deviation. Terms are sorted by weight over deviation."
        )
    if any(mode.gaussian is not None for mode in modes):
        lines.append(
            "Gaussians are determined up to a quadratic form common to all modes, which cancels in "
            "the probabilities."
        )
    return [line for each in lines for line in _wrapped(each, width)]


def _class(
    each: ClassDescription, width: int, name: Any, ascii: bool, most: int | None
) -> list[str]:
    lines: list[str] = []
    for mode in each.modes:
        start = (
            f"class {name(each.label)}, mode {mode.number} (share {_share(mode.mixture_weight)}): "
        )
        lines += _sum(start, mode, width, name, ascii)
        if mode.gaussian is not None:
            lines += _gaussian(mode.gaussian, width, name, most)
    return lines


def _sum(start: str, mode: ModeDescription, width: int, name: Any, ascii: bool) -> list[str]:
    """The terms of a mode with their signs, the constant last."""
    if not mode.terms:
        level = "the same everywhere"
        if mode.constant is not None:
            level += ", " + _signed(mode.constant, name, ascii, first=True)
        return _wrapped(f"{start}{level}", width, INDENT)
    parts = [_signed(term, name, ascii, first=i == 0) for i, term in enumerate(mode.all_terms)]
    return _filled(start, parts, width, separator=" ")


def _signed(term: TermDescription, name: Any, ascii: bool, *, first: bool) -> str:
    """Sign, weight, deviation and name of a term, such as ``- 1.31(±0.20) age^2``."""
    weight, std = _with_digits(abs(term.weight), term.std)
    sign = "-" if term.weight < 0 else "+"
    sign = ("-" if sign == "-" else "") if first else f"{sign} "
    deviation = "" if std is None else f"({'+-' if ascii else '±'}{std})"
    factor = "" if term.name == "1" and not term.features else f" {name(term.name)}"
    return f"{sign}{weight}{deviation}{factor}"


def _with_digits(weight: float, std: float | None) -> tuple[str, str | None]:
    """A weight with as many digits as its deviation, which has two, can account for."""
    if not std:
        return f"{weight:.3g}", None
    decimals = max(0, 1 - floor(log10(std)))
    if decimals > MOST_DECIMALS or std >= 1e6:
        return f"{weight:.3g}", f"{std:.2g}"
    return f"{weight:.{decimals}f}", f"{std:.{decimals}f}"


def _gaussian(gaussian: GaussianDescription, width: int, name: Any, most: int | None) -> list[str]:
    names = [name(each) for each in gaussian.features]
    items = [
        f"{each} {mean:.4g} (deviation {std:.3g})"
        for each, mean, std in zip(names, gaussian.mean, gaussian.std, strict=True)
    ]
    pairs = [
        (abs(r), f"{names[i]} and {names[j]} {r:.2f}")
        for i, row in enumerate(gaussian.correlation)
        for j, r in enumerate(row[:i])
        if abs(r) >= SMALLEST_CORRELATION
    ]
    pairs.sort(key=lambda pair: -pair[0])
    lines = _filled(f"{INDENT}Gaussian with mean ", _first(items, most), width, deeper=True)
    if pairs:
        text = _first([pair[1] for pair in pairs], most)
        lines += _filled(f"{INDENT}correlation of ", text, width, deeper=True)
    return lines


def _vectors(description: Description, width: int, name: Any, most: int | None) -> list[str]:
    """A table of the relevance vectors, with as many columns as fit."""
    if not description.vectors:
        return []
    columns = list(description.vectors[0].values)
    shorter = partial(name, longest=14)
    header = ["", "row", *map(shorter, columns)]
    rows = [
        [
            each.name,
            f"{each.row:,}",
            *(shorter("-" if value is None else _number(value)) for value in each.values.values()),
        ]
        for each in description.vectors
    ]
    caption = "relevance vectors, in the units of the table; "
    caption += "rows of the table" if description.rows_from else "training rows"
    caption += f" are counted from {description.rows_from}"
    return [*_wrapped(caption, width), *_table([header, *rows], width, most)]


def _scales(description: Description, width: int, name: Any, most: int | None) -> list[str]:
    """What standardised means."""
    used = [each for each in description.features if each.used]
    if not description.standardized or not used:
        return []
    rows = [[name(each.name), f"{each.center:.5g}", f"{each.scale:.4g}"] for each in used]
    caption = _wrapped("standardised inputs are (x - center) / scale", width)
    return [*caption, *_table([["", "center", "scale"], *rows], width, most)]


def _table(rows: Sequence[Sequence[str]], width: int, most: int | None) -> list[str]:
    """Right-aligned columns after the first, as many as fit; what was left out is counted."""
    n_rows = len(rows) - 1
    n_kept = n_rows if most is None else min(most, n_rows)
    kept = list(rows[: n_kept + 1])
    widths = [max(len(row[i]) for row in kept) for i in range(len(kept[0]))]
    n_columns, total = 1, len(INDENT) + widths[0]
    while n_columns < len(widths) and total + 2 + widths[n_columns] <= width:
        total += 2 + widths[n_columns]
        n_columns += 1
    lines = []
    for row in kept:
        cells = [row[0].ljust(widths[0])]
        cells += [row[i].rjust(widths[i]) for i in range(1, n_columns)]
        lines.append((INDENT + "  ".join(cells)).rstrip())
    left_out = []
    if n_rows > n_kept:
        left_out.append(counted(n_rows - n_kept, "row"))
    if n_columns < len(widths):
        left_out.append(counted(len(widths) - n_columns, "column"))
    return lines + ([f"{INDENT}and {' and '.join(left_out)} more"] if left_out else [])


def _first(items: list[str], most: int | None) -> list[str]:
    """The first items, and how many there are more."""
    if most is None or len(items) <= most:
        return items
    return [*items[:most], f"and {len(items) - most} more"]


def _filled(
    start: str, items: Sequence[str], width: int, separator: str = ", ", deeper: bool = False
) -> list[str]:
    """Items one after the other, on as many lines as they need, none of them broken."""
    unbroken = separator.join(each.replace(" ", NO_BREAK) for each in items)
    indent = INDENT * (2 if deeper else 1)
    lines = _wrapped(start + unbroken, width, indent)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _wrapped(sentence: str, width: int, indent: str = "") -> list[str]:
    """A sentence on as many lines as it needs."""
    return textwrap.wrap(
        sentence,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _share(share: float) -> str:
    """Two decimals, so that shares line up; more where they would be zero."""
    return f"{share:.2f}" if share >= 0.005 or share == 0.0 else f"{share:.1g}"


def _number(value: Any) -> Any:
    """Four digits of a number that is not whole."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return value
