"""Settings and data of a model, as texts."""

from __future__ import annotations

from typing import Any

from sdgm.report.content import Content
from sdgm.report.formats import number
from sdgm.text import shown

# of the user's table; a folded list of thousands would be most of the page
DESCRIBED_COLUMNS = 200


def provenance_view(content: Content) -> dict[str, Any]:
    """Settings, chosen values, candidates and the columns of the table."""
    classifier, record = content.classifier, content.record
    source = record.get("source") or {}
    candidates = getattr(classifier, "candidates_", None) or []
    return {
        "estimator": type(classifier).__name__,
        "settings": assignments(record.get("parameters") or changed_parameters(classifier)),
        "chosen": assignments(record.get("chosen") or classifier.chosen_),
        "stop_reason": getattr(classifier, "stop_reason_", None),
        "source": source,
        "candidates": [
            (assignments(each.parameters), f"{each.n_weights:,}", number(each.divergence))
            for each in (candidates if len(candidates) > 1 else [])
        ],
        "columns": [column_row(each) for each in (source.get("columns") or [])[:DESCRIBED_COLUMNS]],
    }


def changed_parameters(classifier: Any) -> dict[str, Any]:
    """Parameters that are not at their defaults."""
    defaults = type(classifier)().get_params()
    return {
        name: value
        for name, value in classifier.get_params(deep=False).items()
        if name != "record_states" and repr(value) != repr(defaults[name])
    }


def assignments(parameters: dict[str, Any]) -> list[str]:
    """Parameters as code."""
    return [
        shown(f"{name}={number(value, 4) if isinstance(value, float) else repr(value)}")
        for name, value in sorted(parameters.items())
    ]


def column_row(column: dict[str, Any]) -> list[str]:
    """Name, kind, note, missing values and levels of a column of the user's table."""
    levels = column.get("levels")
    if isinstance(levels, list | tuple):
        levels = len(levels)
    return [
        shown(column.get("name")),
        shown(column["kind"]) if column.get("kind") else "",
        shown(column["reason"], longest=120) if column.get("reason") else "",
        f"{int(column['missing']):,}" if column.get("missing") else "",
        "" if levels is None else shown(levels),
    ]
