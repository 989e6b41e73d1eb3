"""The section that shows what is left of the weights, components and inputs."""

from __future__ import annotations

import math

import numpy as np

from sdgm.phrases import counted
from sdgm.report.charts import class_name
from sdgm.report.content import Content
from sdgm.report.markup import NO_NUMBER, Html, percent, tag
from sdgm.report.parts import figure, section, table

# squares in the picture of all weights; of more, a square stands for several
MAX_SQUARES = 2400
COLUMNS = 80
STEP, SIZE = 8.0, 6.0


def sparsity_section(content: Content) -> Html:
    """Before and after learning, as numbers and as a field of squares."""
    words = content.words
    rows: list[list[str]] = [
        before_after("weights", words.n_initial_weights, words.n_weights),
    ]
    initial = content.initial_components
    if initial is not None:
        rows.append(before_after("components", sum(initial), sum(content.n_components)))
    if words.vectors and content.n_rows:
        rows.append(before_after("rows remembered", content.n_rows, len(words.vectors)))
    n_features = len(words.features)
    used = sum(feature.used for feature in words.features)
    rows.append(before_after("features in use", n_features, used))
    n_numbers = stored_numbers(content)
    text = (
        f"The model as it is used consists of {counted(n_numbers, 'number')}: weights, mixture "
        "weights, the scaling of its inputs"
        + (" and its relevance vectors." if words.vectors else ".")
    )
    return section(
        "sparsity",
        "What is left",
        tag("p", text),
        table(["", "before", "after", "left"], rows, class_="small"),
        squares_figure(content),
    )


def before_after(name: str, before: int, after: int) -> list[str]:
    """A row of the table."""
    return [name, f"{before:,}", f"{after:,}", percent(after / before) if before else NO_NUMBER]


def stored_numbers(content: Content) -> int:
    """Numbers that prediction needs."""
    words = content.words
    used = sum(feature.used for feature in words.features)
    n_vectors = len(words.vectors) * len(words.features)
    return words.n_weights + sum(content.n_components) + 2 * used + n_vectors


def squares_figure(content: Content) -> Html:
    """One square per weight before learning; those left are filled in the colour of their class."""
    words, classifier = content.words, content.classifier
    per_square = max(1, math.ceil(words.n_initial_weights / MAX_SQUARES))
    n = max(math.ceil(words.n_initial_weights / per_square), words.n_weights, 1)
    columns = min(COLUMNS, n)
    lines = math.ceil(n / columns)
    left = classifier.model_.active.sum(axis=1)  # of every component
    ends = np.cumsum(left)
    empty = "".join(square(i, columns) for i in range(words.n_weights, n))
    filled = [
        tag(
            "path",
            d="".join(square(i, columns) for i in range(end - count, end)),
            class_=class_name(int(c), "f"),
        )
        for count, end, c in zip(left, ends, classifier.component_class_, strict=True)
        if count
    ]
    picture = tag(
        "svg",
        tag("title", f"{words.n_weights} of {words.n_initial_weights} weights are left"),
        tag("path", d=empty, class_="removed"),
        filled,
        viewBox=f"0 0 {columns * STEP:g} {lines * STEP:g}",
        role="img",
        aria_label=f"{words.n_weights} of {words.n_initial_weights} weights are left",
        class_="squares" if columns == COLUMNS else "squares few",
    )
    each = "weight" if per_square == 1 else f"group of {per_square} weights"
    caption = (
        f"A square per {each} before learning, the weights that are left in the colour of their "
        "class."
    )
    return figure(picture, caption)


def square(i: int, columns: int) -> str:
    """Path data of square i."""
    x, y = STEP * (i % columns) + 1.0, STEP * (i // columns) + 1.0
    return f"M{x:g} {y:g}h{SIZE:g}v{SIZE:g}h-{SIZE:g}z"
