"""Curves of the learning by iteration."""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray
from sdgm.report.charts import Chart, Scale, Ticks, spanning
from sdgm.report.content import Content
from sdgm.report.formats import number, power_of_ten
from sdgm.report.templates import color
from sdgm.text import shown

# iterations above which their axis is logarithmic: most happens early
MANY_ITERATIONS = 120
# between the bands of two classes, of height one: seen as a gap, and little of the picture
GAP = 0.14


def iteration_scale(content: Content) -> Scale:
    """The axis that all curves share."""
    n = len(content.history["iteration"])
    if "iteration" in content.story:
        n = max(n, int(content.story["iteration"][-1]))
    return Scale(1.0, float(n), log=True) if n > MANY_ITERATIONS else Scale(1.0, float(n))


def history_charts(content: Content) -> list[Chart]:
    """Log evidence, weights and components by iteration."""
    history = {name: np.array(values) for name, values in content.history.items()}
    n_weights, n_components = history["n_weights"], history["n_components"]
    few_left = bool(n_weights.max() > 20 * n_weights.min() > 0)
    most = int(n_components.max())
    counts: Ticks = [(float(t), str(t)) for t in range(0, most + 1, max(1, most // 4))]
    curves: list[tuple[str, str, Scale, Ticks | None]] = [
        ("log_evidence", "log evidence", spanning(history["log_evidence"]), None),
        ("n_weights", "weights", spanning(n_weights, log=few_left), None),
    ]
    if n_components.min() < most:
        curves.append(("n_components", "components", Scale(0.0, most + 0.6), counts))
    charts = []
    for key, name, y, ticks in curves:
        values = history[key]
        chart = Chart(
            title=f"{name} by iteration",
            description=f"from {number(values[0])} to {number(values[-1])}",
            x=iteration_scale(content),
            y=y,
            left=74,
            x_label="iteration" if key == curves[-1][0] else "",
            y_label=name,
            y_ticks=ticks,
        )
        iteration = np.arange(1, len(values) + 1)
        chart.line(iteration, values, "main", steps=key != "log_evidence")
        charts.append(chart)
    return charts


def alpha_chart(content: Content) -> Chart | None:
    """Precisions of the weights; a line ends where its weight is removed."""
    story = content.story
    if "alpha" not in story or not story["alpha"].size:
        return None
    alpha, iteration = story["alpha"].astype(float), story["iteration"].astype(float)
    of_class = story["component_class"][story["alpha/component"]]
    y = spanning(alpha)
    chart = Chart(
        title="Precision alpha of every weight",
        description="Lines that end are removed weights; those that reach the right end are kept",
        x=iteration_scale(content),
        y=y,
        width=470,
        height=260,
        x_label="iteration",
        y_label="alpha",
        y_ticks=[(t, ten_to_the(t)) for t in y.ticks(5)],
    )
    kept = np.isfinite(alpha[-1])
    last = len(alpha) - 1 - np.isfinite(alpha)[::-1].argmax(axis=0)
    final = alpha[last, np.arange(alpha.shape[1])]
    for c in range(len(content.class_names)):
        for h in np.flatnonzero(~kept & (of_class == c)):
            chart.line(iteration, alpha[:, h], f"leaves {color(c)}")
        gone = ~kept & (of_class == c)
        chart.dots(iteration[last[gone]], final[gone], f"end {color(c)}")
    for h in np.flatnonzero(kept):
        chart.line(iteration, alpha[:, h], f"stays {color(int(of_class[h]))}")
    return chart


def ten_to_the(exponent: float) -> str:
    """A power of ten, as a number between whole powers."""
    whole = round(exponent)
    return power_of_ten(whole) if abs(exponent - whole) < 1e-9 else number(10.0**exponent, 2)


def shares_chart(content: Content) -> Chart | None:
    """Mixture weights, stacked within every class; None where every class has one component."""
    story, names = content.story, content.class_names
    if "pi" not in story or len(story["component_class"]) <= len(names):
        return None
    pi, iteration = story["pi"].astype(float), story["iteration"].astype(float)
    bands = [(1.0 + GAP) * (len(names) - 1 - c) for c in range(len(names))]
    chart = Chart(
        title="Shares of the components within their class",
        description="Stacked areas; one that ends is a removed component",
        x=iteration_scale(content),
        y=Scale(0.0, len(names) * (1.0 + GAP) - GAP),
        width=470,
        height=260,
        x_label="iteration",
        y_ticks=[(band + 0.5, shown(name, 12)) for band, name in zip(bands, names, strict=True)],
        left=84,
    )
    for c, band in enumerate(bands):
        shares = class_shares(pi[:, story["component_class"] == c])
        edges = band + np.concatenate([np.zeros((len(pi), 1)), np.cumsum(shares, axis=1)], axis=1)
        for m in range(shares.shape[1]):
            chart.area(iteration, edges[:, m], edges[:, m + 1], f"{color(c, 'f')} tone{m % 3}")
    return chart


def class_shares(pi: FloatArray) -> FloatArray:
    """Mixture weights that sum to one within a class; zero once a component is removed."""
    left = np.nan_to_num(pi, nan=0.0)
    total = left.sum(axis=1, keepdims=True)
    return left / np.where(total > 0.0, total, 1.0)
