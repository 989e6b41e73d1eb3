"""Models that reports are tried with."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_wine

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.report import film
from sdgm.tables.inputs import Category, Number, feature_names
from sdgm.tables.model import TableModel

HOSTILE_CLASS = "<script>alert(1)</script>"
HOSTILE_COLUMN = 'dose"onmouseover=alert(2) '
HOSTILE_LEVEL = "</script><img src=x onerror=alert(3)>"


@cache
def ripley_model():
    """The dual form, with training rows, test rows and a film."""
    X, y, X_test, y_test = make_ripley(random_state=0).split()
    model = KernelSDGMClassifier(3, record_states=True, random_state=0, teacher=None).fit(X, y)
    return model, {"X": X, "y": y, "X_test": X_test, "y_test": y_test}


@cache
def wine_model():
    """The original form with names of its inputs."""
    pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = SDGMClassifier(1, record_states=True, random_state=0, teacher=None).fit(X, y)
    return model, {"X": X, "y": y}


@cache
def hostile_table(*, dual=False):
    """A model of a mixed table whose names would break out of a page if they could."""
    rng = np.random.default_rng(0)
    n = 240
    inputs = (
        Number("age\nin years", fill=40.0, indicator=True),
        Number(HOSTILE_COLUMN),
        Category("kind", (HOSTILE_LEVEL, "b"), missing=True),
    )
    age, dose = rng.normal(40.0, 10.0, n), rng.normal(size=n)
    age[rng.random(n) < 0.15] = np.nan
    codes = rng.integers(0, 3, n)
    X = np.hstack([inputs[0].encoded(age), inputs[1].encoded(dose), inputs[2].encoded(codes)])
    labels = np.array([HOSTILE_CLASS, "cured", "x" * 10_000])
    scores = np.stack([dose**2 + X[:, 1], 0.1 * (X[:, 0] - 40.0), dose + (codes == 0)], axis=1)
    y = labels[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    kind = KernelSDGMClassifier if dual else SDGMClassifier
    named = pytest.importorskip("pandas").DataFrame(X, columns=list(feature_names(inputs)))
    classifier = kind(1, record_states=True, random_state=0, teacher=None).fit(named, y)
    row = {
        "row": 7,
        "values": {"age\nin years": "", HOSTILE_COLUMN: "0.123456789", "kind": HOSTILE_LEVEL},
        "label": HOSTILE_CLASS,
        "predicted": "cured",
        "probability": 0.75,
    }
    record = {
        "created": "2026-01-01T00:00:00+00:00",
        "versions": {"sdgm": "0.1.0", "<b>": "<i>"},
        "seconds": 1.5,
        "source": {
            "name": f"{HOSTILE_CLASS}.csv",
            "rows": n + 60,
            "rows_used": n,
            "class_counts": [[str(label), 80] for label in labels],
            "columns": [
                {"name": HOSTILE_COLUMN, "kind": "number", "reason": None, "missing": 0},
                {"name": "kind", "kind": "category", "missing": 12, "levels": [HOSTILE_LEVEL, "b"]},
                {"name": "id", "kind": "left out", "reason": "all values <b>differ</b>"},
            ],
        },
        "held_out": {
            "rows": 60,
            "error": 0.25,
            "log_loss": 0.5,
            "brier": 0.3,
            "calibration_error": 0.05,
            "confusion": [[10, 5, 5], [0, 20, 0], [5, 0, 15]],
            "reliability": [
                {"confidence": 0.6, "accuracy": 0.5, "count": 20},
                {"confidence": 0.9, "accuracy": 0.95, "count": 40},
            ],
            "uncertain": [row],
            "surprising": [row | {"row": 9}],
        },
        "baselines": [
            {"name": "majority <class>", "error": 0.6, "log_loss": 1.0, "brier": 0.6},
        ],
    }
    return TableModel.of(inputs, "out<come>", classifier, record, film(classifier, X, y)), X
