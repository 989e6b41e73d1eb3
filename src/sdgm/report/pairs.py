"""The section on the deciding inputs: rows by pairs of them, and relevance vectors."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sdgm.report.charts import Chart, class_name, spanning
from sdgm.report.content import Content
from sdgm.report.learned import vectors_table
from sdgm.report.markup import Html, tag
from sdgm.report.parts import figure, legend, section
from sdgm.report.story import says_whether

NO_AND_YES = ((0.0, "no"), (1.0, "yes"))
# how far rows are moved that would lie on each other, and steps that fall evenly
SPREAD, GOLDEN = 0.5, 0.6180339887


def deciding_section(content: Content) -> Html | None:
    """Pair plots of the inputs in use, relevance vectors of the dual form."""
    parts = [pairs_figure(content), vectors_table(content)]
    if not any(parts):
        return None
    name = "What decides" if content.words.form == "primal" else "Inputs and relevance vectors"
    return section("deciding", name, *parts)


def pairs_figure(content: Content) -> Html | None:
    """Training rows by pairs of the weightiest features; None for two inputs: the film has them."""
    story = content.story
    features = story.get("rows/features")
    if features is None or len(features) < 2 or len(content.words.features) == 2:
        return None
    X, y = story["rows/x"].astype(float), story["rows/y"]
    names = [content.feature_names[int(i)] for i in features]
    # features that say whether: their two lines are spread, and two of them show nothing
    either = says_whether(X)
    X[:, either] += (SPREAD * (GOLDEN * np.arange(len(X)) % 1.0 - 0.5))[:, None]
    charts = []
    for i, j in combinations(range(len(features)), 2):
        if either[i] and either[j]:
            continue
        chart = Chart(
            title=f"{names[j]} by {names[i]}",
            description="Training rows in the colours of their classes",
            x=spanning(X[:, i]),
            y=spanning(X[:, j]),
            width=250.0,
            height=210.0,
            x_label=short(names[i]),
            y_label=short(names[j]),
            x_ticks=NO_AND_YES if either[i] else None,
            y_ticks=NO_AND_YES if either[j] else None,
            left=52.0,
        )
        # classes on top of each other by turns, so that none hides another
        for part in range(2):
            for c in range(len(content.class_names)):
                own = np.flatnonzero(y == c)[part::2]
                chart.dots(X[own, i], X[own, j], class_name(c))
        charts.append(chart.svg())
    if not charts:
        return None
    used = sum(feature.used for feature in content.words.features)
    which = "all features" if used == len(features) else f"the {len(features)} weightiest features"
    return figure(
        [legend(content.class_names), tag("div", charts, class_="pairs")],
        f"Training rows by pairs of {which} in use.",
        "plain",
    )


def short(name: str) -> str:
    """A name that fits along an axis."""
    return name if len(name) <= 28 else name[:26] + "…"
