"""The section on how the model was made: settings, data, versions."""

from __future__ import annotations

from typing import Any

from sdgm.report.content import Content
from sdgm.report.markup import Html, number, tag
from sdgm.report.parts import section, table
from sdgm.text import counted, shown

MAX_COLUMNS = 200


def making_section(content: Content) -> Html:
    """Settings, what was chosen, the table it came from, versions."""
    classifier, record = content.classifier, content.record
    parameters = record.get("parameters") or given_parameters(classifier)
    source = record.get("source") or {}
    versions = record.get("versions") or {}
    pairs: list[tuple[str, Any]] = [
        ("classifier", tag("code", type(classifier).__name__)),
        ("settings", written(parameters) or "all chosen from the training rows"),
        ("chosen", written(record.get("chosen") or classifier.chosen_)),
        ("ended", getattr(classifier, "stop_reason_", None)),
        ("table", shown(source["name"]) if source.get("name") else None),
        ("rows", rows_text(source)),
        ("time to fit", f"{number(record['seconds'])} s" if record.get("seconds") else None),
        ("made on", shown(record["created"]) if record.get("created") else None),
        ("versions", ", ".join(f"{shown(k)} {shown(v)}" for k, v in sorted(versions.items()))),
    ]
    rows = [tag("div", tag("dt", k), tag("dd", v)) for k, v in pairs if v]
    return section(
        "made",
        "How it was made",
        tag("dl", rows, class_="facts"),
        candidates_table(content),
        columns_details(source.get("columns") or []),
    )


def given_parameters(classifier: Any) -> dict[str, Any]:
    """Parameters that are not at their defaults."""
    defaults = type(classifier)().get_params()
    return {
        name: value
        for name, value in classifier.get_params().items()
        if name != "record_states" and repr(value) != repr(defaults[name])
    }


def written(parameters: dict[str, Any]) -> list[Any]:
    """Parameters as code, one after the other."""
    parts: list[Any] = []
    for name, value in sorted(parameters.items()):
        text = number(value, 4) if isinstance(value, float) else repr(value)
        parts += [tag("code", shown(f"{name}={text}")), " "]
    return parts[:-1]


def rows_text(source: dict[str, Any]) -> str | None:
    """How many rows there were, and of which class."""
    if not source.get("rows"):
        return None
    text = counted(int(source["rows"]), "row")
    if source.get("rows_used") and source["rows_used"] != source["rows"]:
        text += f", {int(source['rows_used']):,} used"
    counts = source.get("class_counts") or []
    if counts and len(counts) <= 20:
        text += ": " + ", ".join(f"{shown(label)} {int(n):,}" for label, n in counts)
    return text


def candidates_table(content: Content) -> Html | None:
    """Models that were tried when settings were chosen."""
    tried = getattr(content.classifier, "candidates_", None) or []
    if len(tried) < 2:
        return None
    rows = [
        [written(each.parameters), f"{each.n_weights:,}", number(each.divergence)] for each in tried
    ]
    caption = (
        "Settings that were tried, the chosen ones first; divergence, in nats, from a dense model "
        "of the rows."
    )
    return table(["settings", "weights", "divergence"], rows, caption=caption, class_="small")


def columns_details(columns: list[dict[str, Any]]) -> Html | None:
    """What became of every column of the user's table."""
    if not columns:
        return None
    rows = [
        [
            shown(each.get("name")),
            shown(each["kind"]) if each.get("kind") else "",
            shown(each["reason"], longest=120) if each.get("reason") else "",
            f"{int(each['missing']):,}" if each.get("missing") else "",
            level_text(each.get("levels")),
        ]
        for each in columns[:MAX_COLUMNS]
    ]
    head = ["column", "kind", "note", "missing", "levels"]
    return tag(
        "details",
        tag("summary", f"Columns of the table ({len(columns)})"),
        table(head, rows, text_columns=3),
    )


def level_text(levels: Any) -> str:
    """Number of levels of a category."""
    if levels is None:
        return ""
    return str(len(levels)) if isinstance(levels, list | tuple) else shown(levels)
