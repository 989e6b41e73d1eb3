"""What the record of a model of a table may say: how it was made, and how well it did.

Everything in it may be absent, and more may be there than is known here; but what the report and
the commands read must be what they take it for.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.persistence.documents import Count, Scalar, checked
from sdgm.persistence.errors import InvalidModelFile
from sdgm.tables.model import TableModel

Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[int, Meta(gt=0, le=(1 << 63) - 1)]
Plain = Scalar | None


class Scores(Struct, kw_only=True):
    """Measures on held-out rows."""

    log_loss: float | None = None
    brier: float | None = None
    calibration_error: float | None = None
    lead: float | None = None
    lead_error: float | None = None


class Baseline(Scores, kw_only=True):
    """Another classifier on the same rows."""

    name: str
    error: Share | None = None


class Bin(Struct):
    """A bar of the reliability diagram."""

    confidence: Share
    accuracy: Share
    count: Positive


class Row(Struct):
    """A held-out row that is shown."""

    row: Count
    values: dict[str, Plain]
    label: Plain
    predicted: Plain
    probability: Share
    own_probability: Share | UnsetType = UNSET


class HeldOut(Scores, kw_only=True):
    """What was measured on rows held out."""

    rows: Count | UnsetType = UNSET
    error: Share | UnsetType = UNSET
    confusion: list[list[Count]] | None = None
    reliability: list[Bin] | None = None
    uncertain: list[Row] | None = None
    surprising: list[Row] | None = None


class Column(Struct):
    """A column of the table."""

    name: str
    kind: str | None = None
    reason: str | None = None
    missing: Count | None = None


class Source(Struct):
    """The table."""

    name: str | None = None
    rows: Count | None = None
    rows_used: Count | None = None
    train_rows: Count | None = None
    class_counts: list[tuple[Plain, Count]] | None = None
    columns: list[Column] | None = None
    weights: str | None = None


class Weights(Struct):
    """Counts of weights before and after learning."""

    initial: Count | UnsetType = UNSET
    final: Count | UnsetType = UNSET


class Components(Struct):
    """Components of each class before and after learning."""

    initial: list[Count] | None = None
    final: list[Count] | None = None


class History(Struct):
    """The learning, one number per iteration."""

    iteration: list[Count] | None = None
    n_weights: list[Count] | None = None
    n_components: list[Count] | None = None
    log_evidence: list[float | None] | None = None
    log_likelihood: list[float | None] | None = None


class Provenance(Struct):
    """The whole of it."""

    form: str | UnsetType = UNSET
    created: str | None = None
    versions: dict[str, Any] | None = None
    seconds: float | None = None
    parameters: dict[str, Any] | None = None
    chosen: dict[str, Any] | None = None
    source: Source | None = None
    weights: Weights | None = None
    components: Components | None = None
    held_out: HeldOut | None = None
    baselines: list[Baseline] | None = None
    history: History | None = None
    warnings: list[str] | None = None
    refit: bool | None = None
    converged: bool | None = None
    relevance_rows: list[Positive] | None = None


def check_record(model: TableModel) -> None:
    """Whether the record of a model can be reported."""
    record: Provenance = checked(model.record, Provenance, "record")
    classifier = model.classifier
    n_classes = len(classifier.classes_)
    confusion = record.held_out.confusion if record.held_out else None
    if confusion is not None and [n_classes] * n_classes != [*map(len, confusion)]:
        raise InvalidModelFile(
            f"is invalid: record.held_out.confusion is not a table of {n_classes} classes"
        )
    is_dual = isinstance(classifier, KernelSDGMClassifier)
    n_vectors = len(classifier.relevance_) if is_dual else 0
    if record.relevance_rows is not None and len(record.relevance_rows) != n_vectors:
        raise InvalidModelFile(f"is invalid: record.relevance_rows is not a list of {n_vectors}")
