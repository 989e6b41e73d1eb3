"""A classifier of encoded rows, with the record and the film of its learning."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from sdgm._typing import IntArray
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.report.story import film
from sdgm.tables.forms import Progress, fitted_classifier, forget_states, learning_record
from sdgm.tables.inputs import Input
from sdgm.tables.labels import class_counts
from sdgm.tables.leaks import leak_remarks
from sdgm.tables.settings import Settings
from sdgm.tables.training_rows import Encoded, TrainingRows


class Learned(NamedTuple):
    """What a model of a table has learned."""

    inputs: tuple[Input, ...]
    target: str
    classifier: BaseSDGM
    record: dict[str, Any]
    story: dict[str, np.ndarray[Any, Any]]
    id_column: str | None


def learned(
    data: TrainingRows,
    train: IntArray,
    rows: Encoded,
    settings: Settings,
    progress: Progress | None = None,
) -> Learned:
    """The classifier of the training rows, and how it came about."""
    classifier, forms, said = fitted_classifier(rows, settings, progress)
    record = learning_record(classifier, forms[0]["form"])
    record |= {"forms": forms, "warnings": said + leak_remarks(rows.notes)}
    if isinstance(classifier, KernelSDGMClassifier):  # as all rows of files, they count from 1
        record["relevance_rows"] = data.rows[train][classifier.relevance_] + 1
    record["source"] = {
        "name": data.name,
        "rows": len(data.frame),
        "rows_used": len(data.labels),
        "class_counts": class_counts(data.labels),
        "columns": [asdict(note) for note in rows.notes],
    }
    if data.weights_column is not None:
        record["source"]["weights"] = data.weights_column
    story = film(classifier, rows.X, rows.labels)
    forget_states(classifier)
    return Learned(rows.inputs, data.target, classifier, record, story, data.id_column)
