"""A model on rows held out, beside baselines that learned from the same rows."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgm._typing import IntArray
from sdgm.tables.evaluation import evaluation, lead, losses, scores
from sdgm.tables.labels import codes_among
from sdgm.tables.matching import encoded, typed
from sdgm.tables.model import TableModel
from sdgm.tables.training_rows import TrainingRows


def held_out_record(
    model: TableModel, data: TrainingRows, train: IntArray, test: IntArray
) -> dict[str, Any]:
    """Measures on the rows held out, of the model and of baselines."""
    inputs, classes = typed(model.inputs, data.frame), model.classes_
    features = encoded(model.inputs, inputs)
    X_train, X_test = (features[data.rows[rows]] for rows in (train, test))
    train_codes, codes = (codes_among(data.labels[rows], classes) for rows in (train, test))
    s_train, s_test = (data.weight_of(rows) for rows in (train, test))
    P = model.proba_of(X_test)
    values = partial(inputs[data.rows[test]].row, named=True)
    held_out = evaluation(P, codes, classes, values, data.rows[test], s_test)
    shares = np.bincount(train_codes, s_train, minlength=len(classes))
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # good enough for a baseline
        logistic.fit(X_train, train_codes, logisticregression__sample_weight=s_train)
    baselines = {
        "logistic regression": logistic.predict_proba(X_test),
        "majority class": np.tile(shares / shares.sum(), (len(test), 1)),
    }
    own = losses(P, codes)
    return {
        "held_out": held_out.as_dict(),
        "baselines": [
            {"name": name, **scores(Q, codes, s_test), **lead(own, losses(Q, codes), s_test)}
            for name, Q in baselines.items()
        ],
    }
