"""Measures of predictions against labels, of tables and of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from sdgm._typing import FloatArray, IntArray
from sdgm.metrics import brier_score, calibration_bins, expected_calibration_error
from sdgm.tables.errors import TableError, listed, quoted
from sdgm.tables.inputs import UNKNOWN
from sdgm.tables.labels import MISSING, label_codes, named_column
from sdgm.tables.matching import encoded, typed
from sdgm.tables.model import TableModel
from sdgm.tables.reading import whole_table
from sdgm.tables.training_rows import taken_rows, weights_of

# rows of each kind that are kept with the numbers
KEPT_ROWS = 10
# steps of 10%; fewer than the 15 of `calibration_bins`, since the rows held out are few
RELIABILITY_BINS = 10


@dataclass(frozen=True)
class Evaluation:
    """Metrics of predictions on labelled rows.

    Attributes
    ----------
    rows : int
        Number of rows with a label.
    error, log_loss, brier, calibration_error : float
        Misclassification rate, and metrics of the probabilities as in `sdgm.metrics`.
    confusion : list of lists of int
        Rows by true class, columns by predicted class, in the order of ``classes``.
    classes : list
    reliability : list of dict
        Mean confidence, accuracy and number of rows of each bin.
    uncertain, surprising : list of dict
        Rows with the lowest probability of the predicted class, and misclassified rows with the
        lowest probability of their label; row numbers start at 1.
    unlabelled, short_rows : int
        Number of rows without a label, which are left out, and of rows with missing fields.
    encoding : str
        Encoding with which a text file was read.
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
    encoding: str = "UTF-8"

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def evaluate_table(model: TableModel, source: Any) -> Evaluation:
    """Evaluate a model on a labelled table.

    Parameters
    ----------
    model : TableModel
    source : path, "-" or polars.DataFrame
        Must have the columns of the model and its target. Weights are used as in training.

    Examples
    --------
    >>> import polars as pl
    >>> from sdgm.tables import fit_table
    >>> rows = {"size": [1.0, 1.2, 0.9, 3.1, 2.9, 3.3] * 5, "kind": list("aaabbb") * 5}
    >>> model = fit_table(pl.DataFrame(rows), "kind", test_size=0)
    >>> evaluate_table(model, pl.DataFrame({"size": [1.1, 3.0], "kind": ["a", "a"]})).error
    0.5
    """
    table = whole_table(source, keep=(model.target,))
    frame = table.frame
    codes = label_codes(named_column(frame, model.target, "target"), model.classes_)
    unknown = np.flatnonzero(codes == UNKNOWN)
    if len(unknown):
        label = frame.get_column(model.target)[int(unknown[0])]
        raise TableError(
            f"Column {quoted(model.target)} has the label {quoted(label)} in row "
            f"{unknown[0] + 1:,}, which is none of the classes {listed(model.classes_)}."
        )
    rows = np.flatnonzero(codes != MISSING)
    if not len(rows):
        raise TableError(f"{table.name} has no row with a label in column {quoted(model.target)}.")
    n_unlabelled, s = len(frame) - len(rows), None
    weights = (model.record.get("source") or {}).get("weights")
    if weights is not None and weights in frame.columns:
        taken, s = taken_rows(weights_of(frame, weights, rows), len(rows))
        rows = rows[taken]
    inputs = typed(model.inputs, frame)[rows]
    P = model.proba_of(encoded(model.inputs, inputs))
    result = evaluation(P, codes[rows], model.classes_, partial(inputs.row, named=True), rows, s)
    return replace(
        result, unlabelled=n_unlabelled, short_rows=table.short_rows, encoding=table.encoding
    )


def evaluate_classifier(classifier: Any, X: Any, y: Any) -> Evaluation:
    """Evaluate a classifier on labelled rows.

    Parameters
    ----------
    classifier : fitted classifier
    X, y : arrays
        Held-out rows and their labels.

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier
    >>> from sdgm.datasets import make_ripley
    >>> X, y, X_test, y_test = make_ripley().split()
    >>> model = KernelSDGMClassifier(2, random_state=0).fit(X, y)
    >>> evaluate_classifier(model, X_test, y_test).error < 0.12
    True
    """
    P, y, classes = classifier.predict_proba(X), np.asarray(y), classifier.classes_
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {y[unknown].tolist()[0]!r}, which the model does not know; leave "
            "such rows out."
        )
    X = check_array(X, dtype=np.float64)
    names = getattr(classifier, "feature_names_in_", [f"x{i + 1}" for i in range(X.shape[1])])

    def values(i: int) -> dict[str, float]:
        return dict(zip(map(str, names), X[i].tolist(), strict=True))

    return evaluation(P, np.searchsorted(classes, y), classes, values, np.arange(len(X)))


def evaluation(
    P: FloatArray,
    codes: IntArray,
    classes: np.ndarray[Any, Any],
    values: Callable[[int], Mapping[str, Any]],
    rows: IntArray,
    sample_weight: FloatArray | None = None,
) -> Evaluation:
    """Measures of probabilities (N, C) against class indices (N,).

    ``values(i)`` are those of row i by column; ``rows`` (N,) is where rows are in the file, from 0.
    The measures are weighted; tables and rows that are shown are not.
    """
    C, labels = len(classes), classes.tolist()
    predicted, confidence = P.argmax(axis=1), P.max(axis=1)
    own = P[np.arange(len(P)), codes]
    wrong = np.flatnonzero(predicted != codes)
    bins = calibration_bins(predicted == codes, confidence, RELIABILITY_BINS)

    def row(i: int) -> dict[str, Any]:
        return {
            "row": int(rows[i]) + 1,
            "values": {name: cell(value) for name, value in values(i).items()},
            "label": labels[codes[i]],
            "predicted": labels[predicted[i]],
            "probability": float(confidence[i]),
            "own_probability": float(own[i]),
        }

    uncertain = np.argsort(confidence, kind="stable")[:KEPT_ROWS]
    surprising = wrong[np.argsort(own[wrong], kind="stable")[:KEPT_ROWS]]
    return Evaluation(
        rows=len(P),
        **scores(P, codes, sample_weight),
        confusion=np.bincount(codes * C + predicted, minlength=C * C).reshape(C, C).tolist(),
        classes=labels,
        reliability=[
            {"confidence": confidence, "accuracy": accuracy, "count": count}
            for count, confidence, accuracy in zip(*(each.tolist() for each in bins), strict=True)
        ],
        uncertain=[row(i) for i in uncertain.tolist()],
        surprising=[row(i) for i in surprising.tolist()],
    )


def scores(P: FloatArray, codes: IntArray, s: FloatArray | None = None) -> dict[str, Any]:
    """Error, log loss and the like of probabilities (N, C) against class indices (N,)."""
    given: dict[str, Any] = {"labels": np.arange(P.shape[1]), "sample_weight": s}
    return {
        "error": float(np.average(P.argmax(axis=1) != codes, weights=s)),
        "log_loss": float(np.average(losses(P, codes), weights=s)),
        "brier": brier_score(codes, P, **given),
        "calibration_error": expected_calibration_error(codes, P, **given),
    }


def losses(P: FloatArray, codes: IntArray) -> FloatArray:
    """Log loss of every row, clipped as scikit-learn's ``log_loss`` does: (N,)."""
    eps = np.finfo(np.float64).eps  # one row of probability zero would be infinite
    return -np.log(np.clip(P[np.arange(len(P)), codes], eps, 1.0 - eps))


def lead(losses: FloatArray, others: FloatArray, s: FloatArray | None = None) -> dict[str, float]:
    """How much smaller losses (N,) are than others of the same rows, with the standard error."""
    gains, n = others - losses, len(losses)
    mean = float(np.average(gains, weights=s))
    shares = np.full(n, 1.0 / n) if s is None else s / s.sum()
    squares = np.sum((shares * (gains - mean)) ** 2)
    return {"lead": mean, "lead_error": float(np.sqrt(squares * n / (n - 1))) if n > 1 else np.nan}


def cell(value: Any) -> str:
    """A value as a user would write it; empty where it is missing."""
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
