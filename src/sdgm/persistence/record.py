"""What the record of a model of a table may say: how it was made, and how well it did.

Everything in it may be absent, and more may be there than is known here; but what the report and
the commands read must be what they take it for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.persistence.errors import Unsound
from sdgm.persistence.values import LARGEST_INTEGER
from sdgm.tables.model import TableModel


@dataclass(frozen=True)
class Leaf:
    """A value with nothing in it, of a kind that has a name."""

    wanted: str
    is_right: Callable[[Any], bool]


@dataclass(frozen=True)
class Items:
    """A list of things of one kind, of any number or of one that is known."""

    each: Kind
    length: int | None = None


@dataclass(frozen=True)
class Entries:
    """An object with entries that must be there, entries that may be, and others of one kind."""

    needed: Mapping[str, Kind] = field(default_factory=dict)
    known: Mapping[str, Kind] = field(default_factory=dict)
    others: Kind | None = None


@dataclass(frozen=True)
class OrNull:
    """Something, or null for what is not known."""

    kind: Kind


Kind = Leaf | Items | Entries | OrNull


def is_number(value: Any) -> bool:
    """Whether a value is a number; JSON has none that are not finite."""
    return type(value) in (int, float)


TEXT = Leaf("text", lambda value: isinstance(value, str))
BOOLEAN = Leaf("true or false", lambda value: isinstance(value, bool))
NUMBER = Leaf("a number", is_number)
SHARE = Leaf("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)
COUNT = Leaf(
    "a whole number that is not negative",
    lambda value: type(value) is int and 0 <= value < LARGEST_INTEGER,
)
POSITIVE = Leaf(
    "a positive whole number", lambda value: type(value) is int and 0 < value < LARGEST_INTEGER
)
PLAIN = Leaf(
    "text, a number, true, false or null",
    lambda value: value is None or isinstance(value, str | bool | int | float),
)
ANY = Leaf("anything", lambda value: True)
TWO = Leaf(
    "a label and a whole number",
    lambda value: (
        isinstance(value, list)
        and len(value) == 2
        and PLAIN.is_right(value[0])
        and COUNT.is_right(value[1])
    ),
)

SCORES: Mapping[str, Kind] = dict.fromkeys(
    ("log_loss", "brier", "calibration_error", "lead", "lead_error"), OrNull(NUMBER)
)
BASELINE = Entries({"name": TEXT}, {"error": OrNull(SHARE), **SCORES})
BIN = Entries({"confidence": SHARE, "accuracy": SHARE, "count": POSITIVE})
COLUMN = Entries(
    {"name": TEXT},
    {"kind": OrNull(TEXT), "reason": OrNull(TEXT), "missing": OrNull(COUNT), "levels": ANY},
)
SOURCE = Entries(
    known={
        "name": OrNull(TEXT),
        **dict.fromkeys(("rows", "rows_used", "train_rows"), OrNull(COUNT)),
        "class_counts": OrNull(Items(TWO)),
        "columns": OrNull(Items(COLUMN)),
    }
)
VALUES = Entries(others=PLAIN)
ROW = Entries(
    {"row": COUNT, "values": VALUES, "label": PLAIN, "predicted": PLAIN, "probability": SHARE},
    {"own_probability": SHARE},
)
COUNTS, NUMBERS = Items(COUNT), Items(OrNull(NUMBER))
HISTORY = Entries(
    known={
        **dict.fromkeys(("iteration", "n_weights", "n_components"), OrNull(COUNTS)),
        **dict.fromkeys(("log_evidence", "log_likelihood"), OrNull(NUMBERS)),
    }
)


def held_out(n_classes: int) -> Entries:
    """What was measured on rows held out."""
    return Entries(
        known={
            "rows": COUNT,
            "error": SHARE,
            **SCORES,
            "confusion": OrNull(Items(Items(COUNT, n_classes), n_classes)),
            "reliability": OrNull(Items(BIN)),
            "uncertain": OrNull(Items(ROW)),
            "surprising": OrNull(Items(ROW)),
        }
    )


def record(n_classes: int, n_vectors: int) -> Entries:
    """The whole of it."""
    known: dict[str, Kind] = {
        "created": TEXT,
        "versions": Entries(),
        "seconds": NUMBER,
        "parameters": Entries(),
        "chosen": Entries(),
        "source": SOURCE,
        "weights": Entries(known={"initial": COUNT, "final": COUNT}),
        "components": Entries(known={"initial": OrNull(COUNTS), "final": OrNull(COUNTS)}),
        "held_out": held_out(n_classes),
        "baselines": Items(BASELINE),
        "history": HISTORY,
        "warnings": Items(TEXT),
        "refit": BOOLEAN,
        "converged": BOOLEAN,
        "relevance_rows": Items(POSITIVE, n_vectors),
    }
    return Entries(known={"form": TEXT, **{name: OrNull(kind) for name, kind in known.items()}})


def check_record(model: TableModel) -> None:
    """Whether the record of a model is one that can be told."""
    classifier = model.classifier
    is_dual = isinstance(classifier, KernelSDGMClassifier)
    n_vectors = len(classifier.relevance_) if is_dual else 0
    check(record(len(classifier.classes_), n_vectors), model.record, "")


def check(kind: Kind, value: Any, where: str) -> None:
    """Compare a value with its kind, all the way down.

    Examples
    --------
    >>> check(BASELINE, {"name": "majority", "error": "none"}, "baselines[0]")
    Traceback (most recent call last):
    sdgm.persistence.errors.Unsound: is not sound: 'baselines[0].error' of its record is 'none'...
    """
    match kind:
        case OrNull(inner):
            if value is not None:
                check(inner, value, where)
        case Leaf(wanted, is_right):
            if not is_right(value):
                raise wrong(where, value, wanted)
        case Items(each, length):
            if not isinstance(value, list) or length not in (None, len(value)):
                size = "" if length is None else f" of {length}"
                raise wrong(where, value, f"a list{size}")
            for i, item in enumerate(value):
                check(each, item, f"{where}[{i}]")
        case Entries(needed, known, others):
            if not isinstance(value, dict):
                raise wrong(where, value, "an object")
            inside = f"{where}." if where else ""
            for name in sorted(needed.keys() - value.keys()):
                raise Unsound(f"is not sound: its record has no {inside}{name}")
            for name, entry in value.items():
                own = needed.get(name) or known.get(name) or others
                if own is not None:
                    check(own, entry, f"{inside}{name:.60}")


def wrong(where: str, value: Any, wanted: str) -> Unsound:
    """What to say of a value that is not what was wanted."""
    return Unsound(f"is not sound: {where!r} of its record is {value!r:.60}, which is not {wanted}")
