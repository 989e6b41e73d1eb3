"""How well a model does on rows with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.metrics import brier_score, calibration_bins, expected_calibration_error
from sdgm.tables.errors import TableError, listed, quoted
from sdgm.tables.inputs import UNKNOWN
from sdgm.tables.labels import MISSING, label_codes, named_column
from sdgm.tables.matching import encoded, typed
from sdgm.tables.model import TableModel
from sdgm.tables.reading import whole_table

# rows of each kind that are kept with the numbers
KEPT_ROWS = 10
RELIABILITY_BINS = 10


@dataclass(frozen=True)
class Evaluation:
    """Measures of predictions against labels.

    Attributes
    ----------
    rows : int
        Rows with a label.
    error : float
        Share of wrong labels.
    log_loss, brier, calibration_error : float
        See `sdgm.metrics`.
    confusion : list of lists of int
        Rows by true class, columns by predicted class, in the order of `classes`.
    classes : list
        Labels.
    reliability : list of dict
        Confidence, accuracy and count of predictions of similar confidence.
    uncertain : list of dict
        Rows whose most probable class has the least probability.
    surprising : list of dict
        Wrong rows whose own label has the least probability. Rows are counted from 1.
    unlabelled : int
        Rows without a label, left out.
    short_rows : int
        Rows of a text file that end before the last column; what they lack counts as missing.
    """

    rows: int
    error: float
    log_loss: float
    brier: float
    calibration_error: float
    confusion: list[list[int]]
    classes: list[Any]
    reliability: list[dict[str, Any]] = field(default_factory=list)
    uncertain: list[dict[str, Any]] = field(default_factory=list)
    surprising: list[dict[str, Any]] = field(default_factory=list)
    unlabelled: int = 0
    short_rows: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def evaluate_table(model: TableModel, source: Any) -> Evaluation:
    """Measure a model on a table with labels.

    Parameters
    ----------
    model : TableModel
    source : path, "-" or polars.DataFrame
        With the model's columns and its target.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import polars as pl
    >>> from sdgm.tables import fit_table
    >>> rows = {"size": [1.0, 1.2, 0.9, 3.1, 2.9, 3.3] * 5, "kind": list("aaabbb") * 5}
    >>> model = fit_table(pl.DataFrame(rows), "kind", test_size=0)
    >>> evaluate_table(model, pl.DataFrame({"size": [1.1, 3.0], "kind": ["a", "a"]})).error
    0.5
    """
    frame, name, short_rows = whole_table(source, keep=(model.target,))
    codes = label_codes(named_column(frame, model.target, "target"), model.classes_)
    unknown = np.flatnonzero(codes == UNKNOWN)
    if len(unknown):
        label = frame.get_column(model.target)[int(unknown[0])]
        raise TableError(
            f"Column {quoted(model.target)} has the label {quoted(label)} in row "
            f"{unknown[0] + 1:,}, which the model does not know; it knows {listed(model.classes_)}."
        )
    rows = np.flatnonzero(codes != MISSING)
    if not len(rows):
        raise TableError(f"{name} has no row with a label in column {quoted(model.target)}.")
    inputs = typed(model.inputs, frame)[rows]
    P = model.proba_of(encoded(model.inputs, inputs))
    result = measured(P, codes[rows], model.classes_, inputs, rows)
    return replace(result, unlabelled=len(frame) - len(rows), short_rows=short_rows)


def measured(
    P: FloatArray,
    codes: IntArray,
    classes: np.ndarray[Any, Any],
    inputs: Any,
    rows: IntArray,
) -> Evaluation:
    """Measures of probabilities (N, C) against class indices (N,).

    Parameters
    ----------
    inputs : polars.DataFrame
        Values of the rows, to be shown.
    rows : (N,) array
        Where they are in the file, counted from zero.
    """
    C = len(classes)
    predicted, confidence = P.argmax(axis=1), P.max(axis=1)
    right = predicted == codes
    own = P[np.arange(len(P)), codes]
    confusion = np.bincount(codes * C + predicted, minlength=C * C).reshape(C, C)
    bins = calibration_bins(right, confidence, RELIABILITY_BINS)
    described = RowsShown(P, codes, classes, inputs, rows)
    wrong = np.flatnonzero(~right)
    return Evaluation(
        rows=len(P),
        **scores(P, codes),
        confusion=confusion.tolist(),
        classes=classes.tolist(),
        reliability=[
            {"confidence": confidence, "accuracy": accuracy, "count": count}
            for count, confidence, accuracy in zip(*(each.tolist() for each in bins), strict=True)
        ],
        uncertain=described.shown(np.argsort(confidence, kind="stable")[:KEPT_ROWS]),
        surprising=described.shown(wrong[np.argsort(own[wrong], kind="stable")[:KEPT_ROWS]]),
    )


def scores(P: FloatArray, codes: IntArray) -> dict[str, Any]:
    """Error, log loss and the like of probabilities (N, C) against class indices (N,)."""
    classes = np.arange(P.shape[1])
    return {
        "error": float(np.mean(P.argmax(axis=1) != codes)),
        "log_loss": float(losses(P, codes).mean()),
        "brier": brier_score(codes, P, labels=classes),
        "calibration_error": expected_calibration_error(codes, P, labels=classes),
    }


def losses(P: FloatArray, codes: IntArray) -> FloatArray:
    """Log loss of every row: (N,)."""
    own = P[np.arange(len(P)), codes]
    smallest = np.finfo(np.float64).eps  # one row of probability zero would be infinite
    return -np.log(np.clip(own, smallest, 1.0))


def lead(losses: FloatArray, others: FloatArray) -> dict[str, float]:
    """How much smaller losses (N,) are than others of the same rows, with the standard error."""
    gains = others - losses
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
    return {"lead": float(gains.mean()), "lead_error": float(error)}


@dataclass(frozen=True)
class RowsShown:
    """Rows with what was predicted for them."""

    P: FloatArray
    codes: IntArray
    classes: np.ndarray[Any, Any]
    inputs: Any
    rows: IntArray

    def shown(self, which: Sequence[int] | IntArray) -> list[dict[str, Any]]:
        """Some of the rows as JSON values."""
        classes = self.classes.tolist()
        shown = []
        for i in map(int, which):
            values = self.inputs.row(i, named=True)
            predicted = int(self.P[i].argmax())
            shown.append(
                {
                    "row": int(self.rows[i]) + 1,
                    "values": {
                        name: "" if value is None else cell(value) for name, value in values.items()
                    },
                    "label": classes[self.codes[i]],
                    "predicted": classes[predicted],
                    "probability": float(self.P[i, predicted]),
                    "own_probability": float(self.P[i, self.codes[i]]),
                }
            )
        return shown


def cell(value: Any) -> str:
    """A value as a user would write it."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
