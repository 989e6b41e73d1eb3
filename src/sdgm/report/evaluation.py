"""Sections on rows that the model has not seen: errors, calibration, and single rows."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from sdgm.report.charts import Chart, Scale
from sdgm.report.content import Content
from sdgm.report.markup import Html, fixed, number, percent, tag
from sdgm.report.parts import class_label, figure, section, table
from sdgm.tables.inputs import Number
from sdgm.text import counted, shown

MAX_CONFUSION = 16
MAX_ROW_COLUMNS = 6
# values of a row up to which two tables stand side by side
MAX_BESIDE = 3
SHADES = 9
# letters of a class name that head a column
LONGEST_HEAD = 18


def held_out_section(content: Content) -> Html | None:
    """Scores beside the baselines', confusion and reliability."""
    held_out = content.held_out
    if not held_out:
        return None
    figures = []
    if held_out.get("reliability"):
        figures.append(reliability_figure(held_out))
    confusion = held_out.get("confusion")
    if confusion and len(confusion) <= MAX_CONFUSION:
        figures.append(confusion_figure(content, confusion))
    introduction = (
        f"Measured on {counted(held_out['rows'], 'row')} that had no part in learning. Lower is "
        "better in every column; calibration is the mean gap between probability and frequency."
    )
    return section(
        "held-out",
        "How well it does",
        tag("p", introduction),
        scores_table(content, held_out),
        tag("div", figures, class_="pair") if figures else None,
    )


def scores_table(content: Content, held_out: dict[str, Any]) -> Html:
    """Error, log loss, Brier score and calibration of the model and of the baselines."""
    has_calibration = held_out.get("calibration_error") is not None
    rows = [
        [
            shown(each["name"]),
            percent(each.get("error")),
            fixed(each.get("log_loss"), 3),
            fixed(each.get("brier"), 3),
            *([fixed(each.get("calibration_error"), 3)] if has_calibration else []),
        ]
        for each in content.baselines
    ]
    own = [
        tag("strong", "this model"),
        percent(held_out.get("error")),
        fixed(held_out.get("log_loss"), 3),
        fixed(held_out.get("brier"), 3),
        *([fixed(held_out["calibration_error"], 3)] if has_calibration else []),
    ]
    head = ["", "error", "log loss", "Brier score"]
    head += ["calibration"] if has_calibration else []
    return table(head, [own, *rows], class_="small scores")


def reliability_figure(held_out: dict[str, Any]) -> Html:
    """How often predictions come true, by how sure they were."""
    bins = held_out["reliability"]
    lowest = min(min(b["confidence"], b["accuracy"]) for b in bins)
    low = math.floor(10.0 * min(lowest, 0.5)) / 10.0
    ticks = [(t, f"{100 * t:.0f} %") for t in Scale(low, 1.0).ticks(5)]
    chart = Chart(
        title="Reliability",
        description="Share of predictions that came true against their mean probability",
        x=Scale(low - 0.02, 1.02),
        y=Scale(low - 0.02, 1.02),
        width=360.0,
        height=320.0,
        x_label="probability that was given",
        y_label="share that came true",
        x_ticks=ticks,
        y_ticks=ticks,
        left=56.0,
    )
    chart.line([low, 1.0], [low, 1.0], "ideal")
    chart.line([b["confidence"] for b in bins], [b["accuracy"] for b in bins], "main thin")
    largest = max(b["count"] for b in bins)
    for b in bins:
        radius = 3.0 + 7.0 * math.sqrt(b["count"] / largest)
        told = f"{percent(b['accuracy'])} of {counted(b['count'], 'row')} came true, "
        told += f"{percent(b['confidence'])} was said"
        chart.circle(b["confidence"], b["accuracy"], radius, "ball", told)
    caption = (
        "Predictions in bins by the probability of their class: on the diagonal, probabilities "
        "mean what they say. The area of a disc is the number of rows."
    )
    return figure(chart.svg(), caption)


def confusion_figure(content: Content, confusion: list[list[int]]) -> Html:
    """Rows by true and predicted class."""
    counts = np.asarray(confusion)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True, dtype=float), 1.0)
    names = [shown(label, longest=LONGEST_HEAD) for label in content.classifier.classes_.tolist()]
    rows = []
    for c, row in enumerate(counts):
        cells = []
        for p, count in enumerate(row):
            shade = min(SHADES, math.ceil(SHADES * shares[c, p]))
            kind = "right" if c == p else "wrong"
            text = f"{int(count):,}" if count else "·"
            cells.append(tag("td", text, class_=f"{kind} shade{shade}"))
        rows.append(tag("tr", tag("th", class_label(c, names[c]), scope="row"), cells))
    head = tag(
        "tr",
        tag("th", tag("span", "true", class_="corner"), scope="col"),
        [tag("th", class_label(c, name), scope="col") for c, name in enumerate(names)],
    )
    body = tag("table", tag("thead", head), tag("tbody", rows), class_="confusion")
    caption = (
        "Rows by true class (lines) and predicted class (columns). The stronger the colour, the "
        "larger the share of the line."
    )
    return figure(tag("div", body, class_="scroll", tabindex="0", role="group"), caption)


def rows_section(content: Content) -> Html | None:
    """Rows that the model is least sure of, and those that surprise it most."""
    held_out = content.held_out or {}
    uncertain, surprising = held_out.get("uncertain") or [], held_out.get("surprising") or []
    if not [*uncertain, *surprising]:
        return None
    parts: list[Any] = []
    if uncertain:
        parts.append(
            rows_table(
                content,
                uncertain,
                "Least sure: rows whose predicted class has the least probability.",
            )
        )
    if surprising:
        parts.append(
            rows_table(
                content, surprising, "Most surprising: rows whose label has the least probability."
            )
        )
    narrow = len([*uncertain, *surprising][0]["values"]) <= MAX_BESIDE
    return section(
        "rows", "Rows worth a second look", tag("div", parts, class_="beside") if narrow else parts
    )


def rows_table(content: Content, rows: list[dict[str, Any]], caption: str) -> Html:
    """Rows with the values that decide."""
    used = [name for name in content.words.inputs if name in rows[0]["values"]]
    names = (used or list(rows[0]["values"]))[:MAX_ROW_COLUMNS]
    numbers = {each.name for each in content.inputs if isinstance(each, Number)}
    has_own = all("own_probability" in row for row in rows)
    index = {str(label): c for c, label in enumerate(content.classifier.classes_.tolist())}

    def label(text: Any) -> Any:
        c = index.get(str(text))
        return shown(text) if c is None else class_label(c, shown(text))

    made = [
        [
            f"{row['row']:,}",
            label(row["label"]),
            label(row["predicted"]),
            percent(row["probability"]),
            *([percent(row["own_probability"])] if has_own else []),
            *(_value(row["values"].get(name), name in numbers) for name in names),
        ]
        for row in rows
    ]
    head = ["row", "label", "predicted", "probability", *(["of label"] if has_own else [])]
    head += [shown(name, longest=24) for name in names]
    return table(head, made, caption=caption, text_columns=3, class_="rows")


def _value(value: Any, is_number: bool) -> str:
    """A value as it is shown: numbers need few digits here."""
    if value is None or value == "":
        return "missing"
    if is_number:
        with suppress(ValueError):
            return number(float(value), 4)
    return shown(value, longest=24)
