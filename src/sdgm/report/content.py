"""What a report is about: a model, how it was learned, and its errors on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sdgm.description import Description, describe
from sdgm.estimators.base import BaseSDGM
from sdgm.export.model import ExportModel, classifier_and_inputs, exportable
from sdgm.report.arrays import Story, is_consistent
from sdgm.report.story import film
from sdgm.tables.inputs import Input, feature_names
from sdgm.text import shown

CURVES = ("iteration", "log_evidence", "log_likelihood", "n_weights", "n_components")


@dataclass(frozen=True)
class Content:
    """What the sections of a report show."""

    model: Any  # TableModel or fitted classifier
    classifier: BaseSDGM
    record: dict[str, Any]  # of a TableModel
    story: Story
    held_out: dict[str, Any] | None  # as in the record of a TableModel
    title: str | None

    @cached_property
    def description(self) -> Description:
        """What the model has learned."""
        return describe(self.model)

    @cached_property
    def export_model(self) -> ExportModel | None:
        """Plain numbers, or None for a model that cannot be exported."""
        try:
            return exportable(self.model)
        except ValueError:
            return None

    @cached_property
    def class_names(self) -> list[str]:
        """Labels, as they are shown."""
        return [shown(label) for label in self.classifier.classes_.tolist()]

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """Columns of the user's table."""
        return classifier_and_inputs(self.model)[1]

    @cached_property
    def feature_names(self) -> list[str]:
        """Names of the features, as they are shown."""
        return [shown(name) for name in feature_names(self.inputs)]

    @property
    def target(self) -> str | None:
        """Name of the column with the labels, as it is shown."""
        return shown(self.model.target) if hasattr(self.model, "target") else None

    @cached_property
    def history(self) -> dict[str, list[float]]:
        """Curves by iteration; empty lists when none are known."""
        records = getattr(self.classifier, "history_", None) or []
        if records:
            return {name: [float(getattr(each, name)) for each in records] for name in CURVES}
        stored = self.record.get("history") or {}
        n = len(stored.get("iteration") or [])
        curves = {name: stored.get(name) or [] for name in CURVES}
        if any(len(each) != n for each in curves.values()):
            return {name: [] for name in CURVES}
        return {
            name: [np.nan if value is None else float(value) for value in each]
            for name, each in curves.items()
        }

    @property
    def has_film(self) -> bool:
        """Whether there are frames of the learning, and curves beside them."""
        has_pictures = {"view", "rows/class"} <= self.story.keys()
        return has_pictures and len(self.history["iteration"]) > 1

    @property
    def baselines(self) -> list[dict[str, Any]]:
        """Simple models, where they were measured on the same rows."""
        same = self.held_out is not None and self.held_out is self.record.get("held_out")
        return list(self.record.get("baselines") or []) if same else []

    @property
    def n_components(self) -> list[int]:
        """Components left in each class."""
        return [int(n) for n in self.classifier.n_components_]

    @property
    def initial_components(self) -> list[int] | None:
        """Components that each class started with, where it is known."""
        stored = (self.record.get("components") or {}).get("initial")
        if stored:
            return [int(n) for n in stored]
        classes = self.story.get("component_class")
        if classes is None:
            return None
        counts: list[int] = np.bincount(classes, minlength=len(self.class_names)).tolist()
        return counts

    @property
    def n_rows(self) -> int | None:
        """Rows that were learned from, where it is known."""
        if "n_rows" in self.story:
            return int(self.story["n_rows"][0])
        return (self.record.get("source") or {}).get("rows_used")


def report_content(
    model: Any,
    *,
    X: Any = None,
    y: Any = None,
    held_out: dict[str, Any] | None = None,
    title: str | None = None,
) -> Content:
    """The content of a report on a model; X, y are the rows that a classifier was fitted to."""
    classifier, _ = classifier_and_inputs(model)  # raises if it is not one of ours, or not fitted
    record: dict[str, Any] = dict(getattr(model, "record", {}))
    story: Story = dict(getattr(model, "story", {}))
    if not is_consistent(story, classifier):
        story = {}
    if X is not None and y is not None and not story:
        story = film(classifier, X, y)
    measured = held_out if held_out is not None else record.get("held_out")
    if not isinstance(measured, dict) or not {"rows", "error"} <= measured.keys():
        measured = None
    return Content(model, classifier, record, story, measured, title)
