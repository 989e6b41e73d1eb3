"""Cross-validation of a candidate: plain, on part of the rows, and from the start of a full fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.criteria.problems import Settings, make_model, row_losses, timed_fit
from sdgm._typing import FloatArray
from sdgm.core.solvers.precision import FactorizationError

N_FOLDS = 3
# share of a component in each row of its class where the model says zero
LEAST_RESPONSIBILITY = 1e-12
# loss per row of a fold that could not be fitted: worse than anything that can be
FAILED = 100.0


def cross_validated(
    settings: Settings, X: Any, y: Any, seed: int, start: FloatArray | None = None
) -> dict[str, Any]:
    """Loss and error of every row by the fold without it; weights and seconds of the fits.

    Parameters
    ----------
    settings : dict
    X, y : arrays
    seed : int
        Of the folds.
    start : (N, K) array, optional
        Responsibilities that every fold starts from, in place of k-means.
    """
    loss, wrong = np.empty(len(y)), np.empty(len(y), dtype=bool)
    weights, seconds, failures = [], 0.0, 0
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        other = {} if start is None else {"init": start[train]}
        try:
            model, took = timed_fit(make_model(settings, **other), X[train], y[train])
        except FactorizationError:
            loss[test], wrong[test] = FAILED, True
            failures += 1
            continue
        loss[test] = row_losses(model, X[test], y[test])
        wrong[test] = model.predict(X[test]) != y[test]
        weights.append(model.n_active_weights_)
        seconds += took
    return {
        "losses": [float(f"{each:.5g}") for each in loss],
        "loss": float(loss.mean()),
        "error": float(wrong.mean()),
        "weights": float(np.mean(weights)) if weights else np.inf,
        "seconds": seconds,
        "failures": failures,
    }


def on_part(settings: Settings, X: Any, y: Any, share: float) -> dict[str, Any]:
    """Cross-validation on a share of the rows, the same for every candidate."""
    some, _, y_some, _ = train_test_split(X, y, train_size=share, stratify=y, random_state=0)
    result = cross_validated(settings, some, y_some, seed=0)
    del result["losses"]
    return result


def responsibilities(model: Any, X: Any, y: Any) -> FloatArray:
    """Of a fitted model, for the component count it has left: (N, K)."""
    own = model.classes_[model.component_class_] == y[:, None]
    return np.where(own, model.predict_component_proba(X) + LEAST_RESPONSIBILITY, 0.0)
