"""Rows of Markdown, and medians of records."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.records import Record


def header(*titles: str) -> list[str]:
    return [row(*titles), "|---" * len(titles) + "|"]


def row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def found(records: list[Record], **values: Any) -> list[Record]:
    """The records with these values."""
    return [r for r in records if all(r.get(key) == value for key, value in values.items())]


def seconds_of(records: list[Record]) -> float:
    """Median over rounds; zero if there are none."""
    return median(record["seconds"] for record in records) if records else 0.0


def verdict(good: bool, what: str, target: str, *, full_size: bool = True) -> str:
    """A line about a target, which says nothing about smaller problems than its own."""
    word = ("Met" if good else "Not met") if full_size else "Smaller than the target's problem"
    return f"**{word}**: {what}; the target is {target}."
