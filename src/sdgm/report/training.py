"""The section with the film: a picture per frame, and curves beside it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.report.charts import Chart, Scale, class_name, spanning
from sdgm.report.content import Content
from sdgm.report.markup import Html, number, tag
from sdgm.report.parts import figure, legend, section
from sdgm.text import counted

# iterations above which their axis is logarithmic: most happens early
LONG = 120
GAP = 0.14
# arrays of a story that the script draws from
DRAWN = (
    "iteration",
    "view",
    "rows/y",
    "rows/class",
    "rows/confidence",
    "rows/vector",
    "limits",
    "grid",
    "mean",
    "covariance",
    "component_class",
)
TYPES = {"uint8": "u1", "int32": "i4", "float32": "f4", "float64": "f8"}


def training_section(content: Content) -> Html | None:
    """Learning, from the first iteration to the last."""
    history = content.history
    if len(history["iteration"]) < 2:
        return None
    curves = tag(
        "div",
        [chart.svg(cursor=True) for chart in history_charts(content)],
        class_="curves",
    )
    parts: list[Any] = [tag("p", introduction(content))]
    if content.has_film:
        parts.append(tag("div", film_figure(content), curves, class_="film"))
    else:
        parts.append(figure(curves, "Log evidence, weights and components by iteration.", "plain"))
    details = []
    if "alpha" in content.story:
        details.append(alpha_figure(content))
    if "pi" in content.story and len(content.story["component_class"]) > len(content.class_names):
        details.append(shares_figure(content))
    if details:
        parts.append(tag("div", details, class_="pair"))
    return section("training", "How it was learned", *parts)


def introduction(content: Content) -> str:
    """What learning did, in words."""
    classifier, n = content.classifier, len(content.history["iteration"])
    reason = getattr(classifier, "stop_reason_", "converged")
    end = "until nothing changed any more" if reason == "converged" else f"({reason})"
    first, initial = int(content.history["n_weights"][0]), content.words.n_initial_weights
    start = ""
    if first < initial:
        start = (
            f" The curves begin after the first iteration, which left {first:,} of the "
            f"{counted(initial, 'weight')}."
        )
    return (
        f"Learning went through {counted(n, 'iteration')} {end}. Every weight has a precision of "
        "its own, alpha, that pulls it towards zero. Where the rows do not support a weight its "
        "alpha grows without bound, and the weight leaves; components without support leave too."
        + start
    )


def film_figure(content: Content) -> Html:
    """The picture with its slider."""
    story, plane = content.story, "grid" in content.story
    boxes = [("rows", "rows")]
    if "mean" in story:
        boxes.append(("ellipses", "components"))
    if "rows/vector" in story:
        boxes.append(("vectors", "relevance vectors"))
    toggles = [
        tag("label", tag("input", type="checkbox", data_layer=key, checked=True), " ", name)
        for key, name in boxes
    ]
    last = len(story["iteration"]) - 1
    alternative = (
        "Regions of the classes in the plane of the two inputs, with the training rows"
        if plane
        else "Training rows in the plane of two discriminants, coloured by predicted class"
    )
    controls = tag(
        "div",
        tag("button", "Play", type="button", id="film-play", aria_label="Play the film"),
        tag(
            "input",
            type="range",
            id="film-slider",
            min=0,
            max=last,
            value=last,
            step=1,
            aria_label="Iteration of the film",
            aria_describedby="film-caption",
        ),
        class_="controls",
    )
    return tag(
        "figure",
        tag("canvas", id="film-canvas", role="img", aria_label=alternative, width=640, height=520),
        controls,
        tag("output", id="film-caption", for_="film-slider", aria_live="polite"),
        tag("div", toggles, class_="toggles") if len(boxes) > 1 else None,
        legend(content.class_names),
        tag("figcaption", film_caption(content)),
        class_="screen",
    )


def film_caption(content: Content) -> str:
    """How to read the picture."""
    story = content.story
    n_kept, n_rows = len(story["rows/index"]), content.n_rows or 0
    some = f" {n_kept} of {n_rows:,} rows are shown." if n_rows > n_kept else ""
    if "grid" in story:
        text = (
            "The colour is that of the most probable class, the paler the less sure; lines are "
            "where two classes are equally probable."
        )
        if "mean" in story:
            text += (
                " Ellipses are the components as Gaussians, one and two standard deviations, for "
                "the shared quadratic form that gives the mixture the mean and covariance of the "
                "rows; the classifier itself leaves that form open."
            )
        if "rows/vector" in story:
            text += " Rings mark relevance vectors."
        return f"{text} Click into the picture to try a row there.{some}"
    names = "Rows in the plane of their first two linear discriminants"
    if len(content.class_names) == 2:
        names = "Rows along their linear discriminant and the main direction of what it leaves"
    return (
        f"{names}: a fixed view, found from the standardised rows and their labels, not by the "
        "model. Fill: the class that the model predicts, the paler the less sure; outline and "
        f"shape: the true class.{some}"
    )


def iteration_scale(content: Content) -> Scale:
    """The axis that all curves share."""
    n = len(content.history["iteration"])
    if "iteration" in content.story:
        n = max(n, int(content.story["iteration"][-1]))
    return Scale(1.0, float(n), log=True) if n > LONG else Scale(1.0, float(n))


def history_charts(content: Content) -> list[Chart]:
    """Log evidence, weights and components by iteration."""
    history = content.history
    iteration = np.arange(1, len(history["iteration"]) + 1)
    x = iteration_scale(content)
    n_weights = np.array(history["n_weights"])
    charts = []
    few_left = bool(n_weights.max() > 20 * n_weights.min() > 0)
    curves = [("log_evidence", "log evidence"), ("n_weights", "weights")]
    if len(set(history["n_components"])) > 1:
        curves.append(("n_components", "components"))
    for key, name in curves:
        values, log = np.array(history[key]), few_left and key == "n_weights"
        y = spanning(values, log=log)
        if key == "n_components":
            y = Scale(0.0, float(values.max()) + 0.6)
        ticks = None
        if key == "n_components":
            step = max(1, int(values.max()) // 4)
            ticks = [(float(t), str(t)) for t in range(0, int(values.max()) + 1, step)]
        chart = Chart(
            title=f"{name} by iteration",
            description=f"from {number(values[0])} to {number(values[-1])}",
            x=x,
            y=y,
            height=190.0,
            left=74.0,
            x_label="iteration" if key == curves[-1][0] else "",
            y_label=name,
            y_ticks=ticks,
        )
        chart.line(iteration, values, "main", steps=key != "log_evidence")
        charts.append(chart)
    return charts


def alpha_figure(content: Content) -> Html:
    """Precisions of the weights; a line ends where its weight leaves."""
    story = content.story
    alpha, iteration = story["alpha"].astype(float), story["iteration"].astype(float)
    of_class = story["component_class"][story["alpha/component"]]
    low, high = float(np.nanmin(alpha)), float(np.nanmax(alpha))
    ticks = Scale(low, high if high > low else low + 1.0).ticks(5)
    chart = Chart(
        title="Precision alpha of every weight",
        description="Lines that end are weights that leave; those that reach the right end stay",
        x=iteration_scale(content),
        y=spanning(alpha),
        width=470.0,
        height=260.0,
        x_label="iteration",
        y_label="alpha",
        y_ticks=[(t, power_of_ten(t)) for t in ticks],
    )
    stays = np.isfinite(alpha[-1])
    for c in range(len(content.class_names)):
        for line in alpha[:, ~stays & (of_class == c)].T:
            chart.line(iteration, line, f"leaves {class_name(c)}")
        gone = alpha[:, ~stays & (of_class == c)]
        if gone.shape[1]:
            last = len(gone) - 1 - np.isfinite(gone)[::-1].argmax(axis=0)
            chart.dots(
                iteration[last], gone[last, np.arange(gone.shape[1])], f"end {class_name(c)}"
            )
    for c in range(len(content.class_names)):
        for line in alpha[:, stays & (of_class == c)].T:
            chart.line(iteration, line, f"stays {class_name(c)}")
    n, total = alpha.shape[1], int(story["alpha/count"][0])
    which = f"{n} of {total:,} weights" if total > n else counted(n, "weight")
    caption = (
        f"Precisions of {which}, on a logarithmic scale, in the colour of their class. Thin lines "
        "end where their weight leaves; thick ones are the weights that stay."
    )
    return figure(chart.svg(cursor=True), caption)


def power_of_ten(exponent: float) -> str:
    """Such as 10⁻², or the number itself between powers."""
    if abs(exponent - round(exponent)) > 1e-9:
        return number(10.0**exponent, 2)
    text = str(round(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{text}"


def shares_figure(content: Content) -> Html:
    """Mixture weights, stacked within every class."""
    story = content.story
    pi, iteration = story["pi"].astype(float), story["iteration"].astype(float)
    of_class = story["component_class"]
    n_classes = len(content.class_names)
    bands = [(1.0 + GAP) * (n_classes - 1 - c) for c in range(n_classes)]
    chart = Chart(
        title="Shares of the components within their class",
        description="Stacked areas; one that ends is a component that leaves",
        x=iteration_scale(content),
        y=Scale(0.0, n_classes * (1.0 + GAP) - GAP),
        width=470.0,
        height=260.0,
        x_label="iteration",
        y_ticks=[
            (band + 0.5, name if len(name) < 12 else name[:10] + "…")
            for band, name in zip(bands, content.class_names, strict=True)
        ],
        left=84.0,
    )
    for c, band in enumerate(bands):
        shares = class_shares(pi[:, of_class == c])
        edges = band + np.concatenate([np.zeros((len(pi), 1)), np.cumsum(shares, axis=1)], axis=1)
        for m in range(shares.shape[1]):
            shade = f"{class_name(c, 'f')} tone{m % 3}"
            chart.area(iteration, edges[:, m], edges[:, m + 1], shade)
    caption = (
        "Share of every component within its class. An area that thins out to nothing is a "
        "component that leaves."
    )
    return figure(chart.svg(cursor=True), caption)


def class_shares(pi: FloatArray) -> FloatArray:
    """Mixture weights that sum to one within a class; zero once a component has left."""
    alive = np.nan_to_num(pi, nan=0.0)
    total = alive.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, alive / np.where(total > 0.0, total, 1.0), 0.0)


def film_data(content: Content) -> dict[str, Any] | None:
    """What the script needs to draw the frames; None without a film."""
    if not content.has_film:
        return None
    story, history = content.story, content.history
    arrays = {name: packed(story[name]) for name in DRAWN if name in story}
    at = np.minimum(story["iteration"] - 1, len(history["iteration"]) - 1)
    state_components = (~np.isnan(story["pi"])).astype(int)
    per_class = [
        [int(n) for n in np.bincount(story["component_class"], row, len(content.class_names))]
        for row in state_components
    ]
    names = content.feature_names
    captions = [
        f"Iteration {int(i):,} of {int(story['iteration'][-1]):,}: "
        + counted(int(history["n_weights"][k]), "weight")
        + f", {' + '.join(map(str, n)) if len(n) <= 8 else sum(n)} components, log evidence "
        + number(history["log_evidence"][k], 4)
        for i, k, n in zip(story["iteration"], at, per_class, strict=True)
    ]
    if len(history["iteration"]) < int(story["iteration"][-1]):
        captions[-1] = f"Cut down to {counted(content.words.n_weights, 'weight')} at the end"
    return {
        "plane": "grid" in story,
        "axes": names[:2] if "limits" in story else axis_names(content),
        "captions": captions,
        "arrays": arrays,
    }


def axis_names(content: Content) -> list[str]:
    """What the axes of the projection are."""
    if len(content.class_names) == 2:
        return ["linear discriminant", "main direction of the rest"]
    return ["first linear discriminant", "second linear discriminant"]


def packed(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array as base64 of its bytes, lowest first."""
    kind = TYPES[array.dtype.name]
    data = np.ascontiguousarray(array, dtype=np.dtype(f"<{kind}"))
    return {
        "type": kind,
        "shape": list(array.shape),
        "data": base64.b64encode(data.tobytes()).decode("ascii"),
    }
