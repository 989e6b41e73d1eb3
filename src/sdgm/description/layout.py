"""The description of a model as plain text for a terminal.

Tables are laid out here and not by rich, which the description does not need otherwise.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import floor, log10
from typing import Any

from sdgm.description.values import (
    ClassDescription,
    Description,
    GaussianDescription,
    ModeDescription,
    TermDescription,
)
from sdgm.text import LONGEST_NAME, counted, shown

# digits after the point before a number is written with an exponent
MOST_DECIMALS = 5
# smaller correlations are left out
SMALLEST_CORRELATION = 0.005
INDENT = "    "
# terms of a mode that are shown where not all are: columns that many classes share are thousands
MOST_TERMS = 100
# keeps the words of an item together; `shown` leaves none in a name
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Layout:
    """Text in lines of at most ``width`` characters, where names allow."""

    width: int
    ascii: bool
    most: int | None  # rows of tables and items of lists, None for all

    def text(self, description: Description) -> str:
        """The whole description."""
        blocks = [
            self.head(description),
            self.formula(description),
            *(self.modes(each) for each in description.classes),
            self.vectors(description),
            self.scales(description),
        ]
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def head(self, description: Description) -> list[str]:
        """Form, classes, weights, settings and inputs."""
        form = "original form" if description.form == "primal" else "dual form"
        initial, target = description.n_initial_weights, description.target
        removed = initial - description.n_weights
        weights = f"{counted(description.n_weights, 'weight')} in "
        weights += counted(description.n_modes, "mode")
        weights += f": removed {removed:,} of {initial:,} weights." if removed > 0 else "."
        classes = f"{len(description.classes)} classes"
        classes += ": " if target is None else f" of {self.name(target)}: "
        title = f"Sparse discriminative Gaussian mixture, {form} ({description.estimator})"
        lines = [
            *self.wrapped(title),
            *self.items(classes, [self.name(each.label) for each in description.classes]),
            *self.wrapped(weights),
        ]
        chosen = [f"{key}={self.name(_number(each))}" for key, each in description.chosen.items()]
        if chosen:
            lines += self.items("chosen from the training rows: ", chosen)
        if description.fidelity is not None:
            lost = f"{_number(description.fidelity)} nats at held-out synthetic rows"
            lines += self.wrapped(f"divergence from the teacher: {lost}")
        for start, names in (("used: ", description.inputs), ("not used: ", description.unused)):
            if names:
                lines += self.items(start, [self.name(each) for each in names])
        return lines

    def formula(self, description: Description) -> list[str]:
        """How the numbers below become probabilities."""
        of = "of standardised features" if description.standardized else "of unscaled features"
        modes = [mode for each in description.classes for mode in each.modes]
        sentences = [
            f"The score of a mode is ln(share) plus its terms {of}. The probability of a class is "
            "the sum of exp(score) over its modes, divided by the sum over all modes."
        ]
        if description.kernel is not None:
            sentences.append(f"The terms are kernels at relevance vectors, {description.kernel}.")
        if any(term.std is not None for mode in modes for term in mode.terms):
            sentences.append(
                "Posterior standard deviations are in brackets. Terms are sorted by weight over "
                "standard deviation."
            )
        if any(mode.gaussian is not None for mode in modes):
            sentences.append(
                "Gaussians are determined up to a quadratic form common to all modes, which "
                "cancels in the probabilities."
            )
        return [line for each in sentences for line in self.wrapped(each)]

    def modes(self, each: ClassDescription) -> list[str]:
        """Terms and Gaussians of the modes of a class."""
        lines = []
        for mode in each.modes:
            share = _share(mode.mixture_weight)
            start = f"class {self.name(each.label)}, mode {mode.number} (share {share}): "
            lines += self.terms(start, mode)
            if mode.gaussian is not None:
                lines += self.gaussian(mode.gaussian)
        return lines

    def terms(self, start: str, mode: ModeDescription) -> list[str]:
        """The terms of a mode with their signs, the constant last."""
        if self.most is not None and len(mode.terms) > MOST_TERMS:
            left_out = f"and {len(mode.terms) - MOST_TERMS:,} more"
            mode = replace(mode, terms=mode.terms[:MOST_TERMS])
        else:
            left_out = None
        parts = [self.signed(term, first=i == 0) for i, term in enumerate(mode.all_terms)]
        if not mode.terms:
            return self.wrapped(start + ", ".join(["constant", *parts]), INDENT)
        if left_out is not None:
            parts.insert(len(mode.terms), left_out)
        return self.items(start, parts, separator=" ")

    def signed(self, term: TermDescription, *, first: bool) -> str:
        """Sign, weight, deviation and name of a term, such as ``- 1.31(±0.20) age^2``."""
        weight, std = _with_digits(abs(term.weight), term.std)
        sign = "-" if term.weight < 0 else "" if first else "+"
        sign += "" if first else " "
        deviation = "" if std is None else f"({'+-' if self.ascii else '±'}{std})"
        factor = "" if term.column is None else f" {self.name(term.name)}"
        return f"{sign}{weight}{deviation}{factor}"

    def gaussian(self, gaussian: GaussianDescription) -> list[str]:
        """Mean, deviations, and correlations by their size."""
        names = [self.name(each) for each in gaussian.features]
        means = [
            f"{each} {mean:.4g} (std {std:.3g})"
            for each, mean, std in zip(names, gaussian.mean, gaussian.std, strict=True)
        ]
        pairs = [
            (abs(r), f"{names[i]} and {names[j]} {r:.2f}")
            for i, row in enumerate(gaussian.correlation)
            for j, r in enumerate(row[:i])
            if abs(r) >= SMALLEST_CORRELATION
        ]
        correlations = [text for _, text in sorted(pairs, key=lambda pair: -pair[0])]
        lines = self.items(f"{INDENT}Gaussian with mean ", self.first(means))
        if correlations:
            lines += self.items(f"{INDENT}correlation of ", self.first(correlations))
        return lines

    def vectors(self, description: Description) -> list[str]:
        """A table of the relevance vectors."""
        if not description.vectors:
            return []
        rows = [["", "row", *(self.name(each, 14) for each in description.vectors[0].values)]]
        for each in description.vectors:
            values = ("-" if value is None else _number(value) for value in each.values.values())
            rows.append([each.name, f"{each.row:,}", *(self.name(value, 14) for value in values)])
        which = "rows of the table" if description.rows_from else "training rows"
        caption = f"relevance vectors, in the units of the table; {which} are counted from "
        return [*self.wrapped(f"{caption}{description.rows_from}"), *self.table(rows)]

    def scales(self, description: Description) -> list[str]:
        """What standardised means."""
        used = [each for each in description.features if each.used]
        if not description.standardized or not used:
            return []
        rows = [[self.name(each.name), f"{each.center:.5g}", f"{each.scale:.4g}"] for each in used]
        caption = self.wrapped("standardised features are (x - center) / scale")
        return [*caption, *self.table([["", "center", "scale"], *rows])]

    # --- names, lines and tables ---

    def name(self, value: object, longest: int = LONGEST_NAME) -> str:
        """A name or value on one line."""
        return shown(value, longest, ascii=self.ascii)

    def first(self, items: list[str]) -> list[str]:
        """The first items, and the number of the others."""
        if self.most is None or len(items) <= self.most:
            return items
        return [*items[: self.most], f"and {len(items) - self.most} more"]

    def items(self, start: str, items: Sequence[str], separator: str = ", ") -> list[str]:
        """Items one after the other, none of them broken; indented after the first line."""
        unbroken = separator.join(each.replace(" ", NO_BREAK) for each in items)
        indent = INDENT + start[: len(start) - len(start.lstrip())]
        lines = self.wrapped(start + unbroken, indent)
        return [line.replace(NO_BREAK, " ") for line in lines]

    def wrapped(self, sentence: str, indent: str = "") -> list[str]:
        """A sentence on as many lines as it needs, none of its words broken."""
        return textwrap.wrap(
            sentence,
            self.width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def table(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """Right-aligned columns after the first, as many as fit; the others are counted."""
        kept = rows if self.most is None else rows[: self.most + 1]
        widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
        ends = accumulate(widths, lambda end, width: end + 2 + width, initial=len(INDENT) - 2)
        n_columns = max(sum(end <= self.width for end in ends) - 1, 1)
        lines = []
        for row in kept:
            cells = [cell.rjust(n) for cell, n in zip(row, widths, strict=True)][:n_columns]
            cells[0] = row[0].ljust(widths[0])
            lines.append((INDENT + "  ".join(cells)).rstrip())
        counts = {"row": len(rows) - len(kept), "column": len(widths) - n_columns}
        left_out = [counted(n, noun) for noun, n in counts.items() if n]
        return lines + ([f"{INDENT}and {' and '.join(left_out)} more"] if left_out else [])


def _with_digits(weight: float, std: float | None) -> tuple[str, str | None]:
    """A weight with as many digits as its deviation, which has two, can account for."""
    if not std:
        return f"{weight:.3g}", None
    decimals = max(0, 1 - floor(log10(std)))
    if decimals > MOST_DECIMALS or std >= 1e6:
        return f"{weight:.3g}", f"{std:.2g}"
    return f"{weight:.{decimals}f}", f"{std:.{decimals}f}"


def _share(share: float) -> str:
    """Two decimals, so that shares line up; more where they would be zero."""
    return f"{share:.2f}" if share >= 0.005 or share == 0.0 else f"{share:.1g}"


def _number(value: Any) -> Any:
    """Four digits of a number that is not whole."""
    return f"{value:.4g}" if isinstance(value, float) else value
