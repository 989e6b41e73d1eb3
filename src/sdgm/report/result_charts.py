"""Pictures of the rows and of what is left of the model."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

from sdgm.report.charts import Chart, Scale, spanning
from sdgm.report.content import Content
from sdgm.report.formats import percent
from sdgm.report.story import is_binary
from sdgm.report.templates import color
from sdgm.text import counted, shown

NO_AND_YES = ((0.0, "no"), (1.0, "yes"))
# how far rows are moved that would lie on each other, and steps that fall evenly
SPREAD, GOLDEN = 0.5, 0.6180339887
# squares in the picture of all weights, 30 lines of COLUMNS; of more, a square stands for several
MAX_SQUARES = 2400
# 640 pixels with this step: the text has 46rem, 736 pixels
COLUMNS = 80
# pixels from a square to the next, and of its side: two are left between them
STEP, SIZE = 8, 6
# letters along an axis
LONGEST_LABEL = 28


def reliability_chart(bins: list[dict[str, Any]]) -> Chart:
    """Accuracy of predictions by their confidence."""
    lowest = min(min(b["confidence"], b["accuracy"]) for b in bins)
    low = math.floor(10.0 * min(lowest, 0.5)) / 10.0
    ticks = [(t, f"{100 * t:.0f}%") for t in Scale(low, 1.0).ticks(5)]
    chart = Chart(
        title="Reliability",
        description="Share of correct predictions against their mean probability",
        x=Scale(low - 0.02, 1.02),
        y=Scale(low - 0.02, 1.02),
        width=360,
        height=320,
        x_label="predicted probability",
        y_label="share of correct predictions",
        x_ticks=ticks,
        y_ticks=ticks,
        left=56,
    )
    chart.line([low, 1.0], [low, 1.0], "ideal")
    chart.line([b["confidence"] for b in bins], [b["accuracy"] for b in bins], "main thin")
    largest = max(b["count"] for b in bins)
    for b in bins:
        chart.circle(
            b["confidence"],
            b["accuracy"],
            3.0 + 7.0 * math.sqrt(b["count"] / largest),
            "ball",
            f"{percent(b['accuracy'])} of {counted(b['count'], 'row')} correct, predicted "
            f"probability {percent(b['confidence'])}",
        )
    return chart


def pair_charts(content: Content) -> list[Chart]:
    """Training rows by pairs of the weightiest features; none for two inputs: the film has them."""
    story = content.story
    features = story.get("rows/features")
    if features is None or len(features) < 2 or len(content.description.features) == 2:
        return []
    X, y = story["rows/x"].astype(float), story["rows/y"]
    names = [content.feature_names[int(i)] for i in features]
    binary = is_binary(X)  # their two lines are spread, and two such features show nothing
    X[:, binary] += (SPREAD * (GOLDEN * np.arange(len(X)) % 1.0 - 0.5))[:, None]
    charts = []
    for i, j in combinations(range(len(features)), 2):
        if binary[i] and binary[j]:
            continue
        chart = Chart(
            title=f"{names[j]} by {names[i]}",
            description="Training rows in the colours of their classes",
            x=spanning(X[:, i]),
            y=spanning(X[:, j]),
            width=250,
            height=210,
            x_label=shown(names[i], LONGEST_LABEL),
            y_label=shown(names[j], LONGEST_LABEL),
            x_ticks=NO_AND_YES if binary[i] else None,
            y_ticks=NO_AND_YES if binary[j] else None,
            left=52,
        )
        # classes on top of each other by turns, so that none hides another
        for part in range(2):
            for c in range(len(content.class_names)):
                own = np.flatnonzero(y == c)[part::2]
                chart.dots(X[own, i], X[own, j], color(c))
        charts.append(chart)
    return charts


def squares(content: Content) -> dict[str, Any]:
    """A square per initial weight, the remaining ones in the colour of their class."""
    description, classifier = content.description, content.classifier
    per_square = max(1, math.ceil(description.n_initial_weights / MAX_SQUARES))
    modes = [mode for each in description.classes for mode in each.modes]
    ends = np.cumsum([len(mode.all_terms) for mode in modes])
    if description.n_weights > MAX_SQUARES:  # too many for a square each
        ends = -(-ends // per_square)
    n_left = int(ends[-1])
    n = max(math.ceil(description.n_initial_weights / per_square), n_left, 1)
    columns = min(COLUMNS, n)

    def path(start: int, stop: int) -> str:
        return "".join(
            f"M{STEP * (i % columns) + 1} {STEP * (i // columns) + 1}h{SIZE}v{SIZE}h-{SIZE}z"
            for i in range(start, stop)
        )

    bands = zip(
        [0, *ends.tolist()], ends.tolist(), classifier.component_class_.tolist(), strict=False
    )
    return {
        "width": columns * STEP,
        "height": math.ceil(n / columns) * STEP,
        "few": columns < COLUMNS,
        "per_square": per_square,
        "removed": path(n_left, n),
        "left": [(path(start, end), color(c, "f")) for start, end, c in bands if end > start],
    }
