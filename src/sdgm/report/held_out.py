"""How a classifier does on rows that it has not seen, as the values that a report shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from sdgm.metrics import brier_score, calibration_bins, expected_calibration_error

N_BINS = 10
N_SHOWN_ROWS = 8


def held_out_summary(classifier: Any, X: Any, y: Any) -> dict[str, Any]:
    """Errors, calibration, and the rows that a classifier is least sure of or most wrong about.

    Parameters
    ----------
    classifier : fitted classifier
    X, y : rows it was not fitted to

    Returns
    -------
    summary : dict
        As under ``held_out`` in the record of a `TableModel`.

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier
    >>> from sdgm.datasets import make_ripley
    >>> X, y, X_test, y_test = make_ripley().split()
    >>> model = KernelSDGMClassifier(2, random_state=0).fit(X, y)
    >>> summary = held_out_summary(model, X_test, y_test)
    >>> summary["error"] < 0.12, len(summary["confusion"])
    (True, 2)
    """
    P = classifier.predict_proba(X)
    rows = check_array(X, dtype=np.float64)
    y, classes = np.asarray(y), classifier.classes_
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {y[unknown].tolist()[0]!r}, which the model does not know; leave "
            "such rows out."
        )
    codes, predicted = np.searchsorted(classes, y), P.argmax(axis=1)
    own = P[np.arange(len(y)), codes]
    confusion = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(confusion, (codes, predicted), 1)
    bins = calibration_bins(predicted == codes, P.max(axis=1), N_BINS)
    names = getattr(classifier, "feature_names_in_", None)
    if names is None:
        names = [f"x{i + 1}" for i in range(rows.shape[1])]

    def row(i: int) -> dict[str, Any]:
        values = {str(name): f"{value:.4g}" for name, value in zip(names, rows[i], strict=True)}
        return {
            "row": i,
            "values": values,
            "label": str(classes[codes[i]]),
            "predicted": str(classes[predicted[i]]),
            "probability": float(P[i, predicted[i]]),
            "own_probability": float(own[i]),
        }

    uncertain = np.argsort(P.max(axis=1), kind="stable")[:N_SHOWN_ROWS]
    wrong = np.flatnonzero(predicted != codes)
    surprising = wrong[np.argsort(own[wrong], kind="stable")][:N_SHOWN_ROWS]
    return {
        "rows": len(y),
        "error": float(np.mean(predicted != codes)),
        "log_loss": float(-np.log(np.maximum(own, np.finfo(float).tiny)).mean()),
        "brier": brier_score(y, P, labels=classes),
        "calibration_error": expected_calibration_error(y, P, labels=classes),
        "confusion": confusion.tolist(),
        "reliability": [
            {"confidence": float(c), "accuracy": float(f), "count": int(n)}
            for n, c, f in zip(bins.n_rows, bins.confidence, bins.frequency, strict=True)
        ],
        "uncertain": [row(int(i)) for i in uncertain],
        "surprising": [row(int(i)) for i in surprising],
    }
