"""The sections of a report: what each of them shows, or None where there is nothing to show."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from sdgm.report.content import Content
from sdgm.report.formats import NO_NUMBER, number, percent
from sdgm.report.learning_charts import alpha_chart, history_charts, shares_chart
from sdgm.report.provenance import provenance_view
from sdgm.report.result_charts import pair_charts, reliability_chart, squares
from sdgm.tables.inputs import Number
from sdgm.text import shown

View = dict[str, Any]

# classes up to which the confusion matrix fits on a page of 1,100 pixels with its counts readable
MAX_CONFUSION = 30
# letters of all class names up to which the matrix stands beside the reliability diagram, and
# classes from which on its cells are small
MAX_HEADS, MANY_CLASSES = 40, 9
# values of a row that do beside its label, prediction and probabilities
MAX_ROW_COLUMNS = 6
# values of a row up to which two tables stand side by side
MAX_BESIDE = 3
# of cells of the confusion matrix that are not zero, shade1 to shade9 in assets/style.css
SHADES = 9
# letters of a class name that head a column
LONGEST_HEAD = 22
# relevance vectors in the table, two screens of it
SHOWN_VECTORS = 60
# their values that fit beside the weights
MAX_VECTOR_COLUMNS = 8


class Section(NamedTuple):
    """A section, rendered by the template that its key names."""

    key: str
    title: str
    view: View


def report_sections(content: Content) -> list[Section]:
    """The sections that have something to show, in their order."""
    is_primal = content.description.form == "primal"
    deciding = "Features" if is_primal else "Features and relevance vectors"
    views = [
        ("learned", "The model", learned_view(content)),
        ("training", "The fit", training_view(content)),
        ("sparsity", "Sparsity", sparsity_view(content)),
        ("held-out", "Held-out results", held_out_view(content)),
        ("deciding", deciding, deciding_view(content)),
        ("rows", "Uncertain and surprising rows", rows_view(content)),
        ("try", "Try a prediction", None if content.export_model is None else {}),
        ("made", "Provenance", provenance_view(content)),
    ]
    return [Section(key, title, view) for key, title, view in views if view is not None]


def learned_view(content: Content) -> View:
    """The length of the longest bar."""
    sizes = [
        abs(term.weight) + (term.std or 0.0)
        for each in content.description.classes
        for mode in each.modes
        for term in mode.all_terms
    ]
    return {"largest": max(sizes, default=0.0) or 1.0}


def training_view(content: Content) -> View | None:
    """Curves of the learning."""
    if len(content.history["iteration"]) < 2:
        return None
    return {
        "charts": history_charts(content),
        "alpha": alpha_chart(content),
        "shares": shares_chart(content),
    }


def sparsity_view(content: Content) -> View:
    """Before and after learning, as numbers and as a field of squares."""
    description = content.description
    n_features, n_vectors = len(description.features), len(description.vectors)
    n_components = sum(content.n_components)
    used = sum(feature.used for feature in description.features)
    counts = [("weights", description.n_initial_weights, description.n_weights)]
    if content.initial_components is not None:
        counts.append(("components", sum(content.initial_components), n_components))
    if n_vectors and content.n_rows:
        counts.append(("training rows stored", content.n_rows, n_vectors))
    counts.append(("features used", n_features, used))
    return {
        "n_numbers": description.n_weights + n_components + 2 * used + n_vectors * n_features,
        "rows": [
            [name, f"{before:,}", f"{after:,}", percent(after / before) if before else NO_NUMBER]
            for name, before, after in counts
        ],
        "squares": squares(content),
    }


def held_out_view(content: Content) -> View | None:
    """Scores beside those of the baselines, confusion and reliability."""
    held_out = content.held_out
    if not held_out:
        return None
    bins, counts = held_out.get("reliability"), held_out.get("confusion") or []
    labels = content.classifier.classes_.tolist()
    names = [shown(label, longest=LONGEST_HEAD) for label in labels]
    return {
        "scores": [{"name": None, **held_out}, *content.baselines],
        "reliability": reliability_chart(bins) if bins else None,
        "confusion": confusion_cells(counts) if 0 < len(counts) <= MAX_CONFUSION else None,
        "names": names,
        "titles": [shown(label) for label in labels],
        "is_wide": sum(map(len, names)) > MAX_HEADS or len(names) >= MANY_CLASSES,
        "is_many": len(names) >= MANY_CLASSES,
    }


def confusion_cells(confusion: list[list[int]]) -> list[list[tuple[int, str]]]:
    """Count and style of every cell; the stronger the colour, the larger the share of the row."""
    counts = np.asarray(confusion)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True, dtype=float), 1.0)
    return [
        [
            (int(n), f"{'right' if c == p else 'wrong'} shade{math.ceil(SHADES * share)}")
            for p, (n, share) in enumerate(zip(row, of_class, strict=True))
        ]
        for c, (row, of_class) in enumerate(zip(counts, shares, strict=True))
    ]


def deciding_view(content: Content) -> View | None:
    """Pairs of the inputs in use; relevance vectors of the dual form with values and weights."""
    vectors = content.description.vectors
    pairs = pair_charts(content)
    if not pairs and not vectors:
        return None
    columns = list(vectors[0].values) if vectors else []
    kept = columns[:MAX_VECTOR_COLUMNS]
    return {
        "pairs": pairs,
        "n_vectors": len(vectors),
        "columns": [shown(column, longest=24) for column in kept],
        "n_left_out": len(columns) - len(kept),
        "vectors": [
            [
                f"{each.name} (row {each.row:,})",
                *(value_text(v, isinstance(v, float)) for v in map(each.values.get, kept)),
                *(number(weight) if weight else "·" for weight in each.weights),
            ]
            for each in vectors[:SHOWN_VECTORS]
        ],
    }


def rows_view(content: Content) -> View | None:
    """Rows that the model is least sure of, and those that surprise it most."""
    held_out = content.held_out or {}
    tables = [
        (caption, held_out[kind])
        for kind, caption in (
            ("uncertain", "Least certain: lowest probability of the predicted class."),
            ("surprising", "Most surprising: lowest probability of the label."),
        )
        if held_out.get(kind)
    ]
    if not tables:
        return None
    values = list(tables[0][1][0]["values"])
    used = [name for name in content.description.inputs if name in values]
    names = (used or values)[:MAX_ROW_COLUMNS]
    numeric = {each.name: each for each in content.inputs if isinstance(each, Number)}
    return {
        "columns": [shown(name, longest=24) for name in names],
        "index": {str(label): c for c, label in enumerate(content.classifier.classes_.tolist())},
        "is_narrow": len(values) <= MAX_BESIDE,
        "tables": [
            {
                "caption": caption,
                "has_own": all("own_probability" in row for row in rows),
                "rows": [
                    row
                    | {"cells": [cell_text(row["values"].get(n), numeric.get(n)) for n in names]}
                    for row in rows
                ],
            }
            for caption, rows in tables
        ],
    }


def cell_text(value: Any, column: Number | None) -> str:
    """A value of an input; days of a column of dates as a date."""
    if column is not None and column.is_date:
        with suppress(ValueError, TypeError, OverflowError):
            return str(date(1970, 1, 1) + timedelta(days=float(value)))
    return value_text(value, column is not None)


def value_text(value: Any, is_number: bool) -> str:
    """A value of an input: numbers need few digits here."""
    if value is None or value == "":
        return "missing"
    if is_number:
        with suppress(ValueError):
            return number(float(value), 4)
    return shown(value, longest=24)
