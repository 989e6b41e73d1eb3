"""Small fitted models of every kind, for the tests of model files."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, make_moons

from sdgm import (
    DiscriminativeGMMClassifier,
    FamiliarityDetector,
    KernelEnsembleClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
    SemiSupervisedSDGMClassifier,
)
from sdgm.tables.inputs import Category, Number, feature_names
from sdgm.tables.model import TableModel

HOSTILE = ['"quoted"\n', "*/ <script>", "\N{SNOWMAN} \N{GRINNING FACE}", "\ud800", "x" * 10_000]


def moons() -> tuple[Any, Any]:
    return make_moons(60, noise=0.2, random_state=0)


def table() -> TableModel:
    """A number with missing values and a category, under names that nobody should use."""
    rng = np.random.default_rng(0)
    inputs = (
        Number(HOSTILE[0], fill=40.0, indicator=True),
        Category(HOSTILE[1], (HOSTILE[2], HOSTILE[3]), missing=True),
        Number(HOSTILE[4]),
    )
    x = rng.normal(size=(60, 2))
    x[::7, 0] = np.nan
    codes = rng.integers(0, 3, size=60)
    X = np.hstack(
        [inputs[0].encoded(x[:, 0]), inputs[1].encoded(codes), inputs[2].encoded(x[:, 1])]
    )
    noisy = x[:, 1] + X[:, 2] + rng.normal(size=60)
    y = np.array(["<b>no</b>", "yes\0!"])[(noisy > 0.5).astype(int)]
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    model.feature_names_in_ = np.array(feature_names(inputs), dtype=object)
    record = {
        "created": "2024-01-01",
        "rows": 60,
        "held_out": {"error": 0.25, "confusion": [[9, 2], [3, 1]]},
    }
    story = {
        "grid": np.arange(12, dtype=np.uint8).reshape(3, 4),
        "alpha": np.array([[0.5, np.nan]], dtype=np.float32),
        "scalar": np.array(3),
    }
    return TableModel.of(inputs, HOSTILE[1] + "?", model, record, story, id_column="id\n")


def with_missing_labels() -> SemiSupervisedSDGMClassifier:
    X, y = moons()
    return SemiSupervisedSDGMClassifier(
        SDGMClassifier(1, teacher=None), random_state=np.int64(3), max_unlabelled=20
    ).fit(X, np.where(np.arange(60) < 12, y, -1))


@cache
def fitted(kind: str) -> Any:
    """One model of each kind, with rows of its own in `rows_of`."""
    X, y = moons()
    three = load_iris(return_X_y=True)
    match kind:
        case "primal":
            return SDGMClassifier(random_state=0).fit(X, y)
        case "diag":
            return SDGMClassifier(2, covariance_type="diag", random_state=0, teacher=None).fit(
                *three
            )
        case "spherical":
            return SDGMClassifier(
                {0: 1, 1: 2, 2: 1}, covariance_type="spherical", random_state=0, teacher=None
            ).fit(*three)
        case "tied":
            return SDGMClassifier(
                (1, 2, 1), covariance_type="tied", preset="paper", random_state=0
            ).fit(*three)
        case "poly":
            return KernelSDGMClassifier(random_state=0).fit(X, y)
        case "cubic":
            return KernelSDGMClassifier(1, degree=np.int64(3), coef0=2, teacher=None).fit(X, y)
        case "rbf":
            return RVMClassifier(record_states=True).fit(*three)
        case "linear":
            return RVMClassifier(kernel="linear", class_weight={0: 1.0, 1: 2.5}).fit(X, y)
        case "precomputed":
            return KernelSDGMClassifier(1, kernel="precomputed").fit(X @ X.T, y)
        case "shared":
            return KernelSDGMClassifier(
                2, shared_vectors=True, gamma="scale", random_state=0, teacher=None
            ).fit(X, y)
        case "ridge":
            return DiscriminativeGMMClassifier(2, alpha=0.5, random_state=0).fit(X, y)
        case "budget":
            return SDGMClassifier(2, max_weights=4, n_init=2, random_state=0, teacher=None).fit(
                X, y
            )
        case "few inputs":
            return KernelSDGMClassifier(max_features=1, random_state=0).fit(X, y)
        case "init":
            r = np.tile(np.random.default_rng(0).random((60, 2)), 2)
            return SDGMClassifier([2, 2], init=r, teacher=None).fit(X, y)
        case "nothing":
            noise = np.random.default_rng(1).normal(size=(40, 2))
            return SDGMClassifier(1, teacher=None).fit(noise, np.arange(40) % 2)
        case "partly labelled":
            return with_missing_labels()
        case "novelty":
            return FamiliarityDetector(0.1).fit(X, y)
        case "ensemble":
            return KernelEnsembleClassifier(class_weight={0: 1.0, 1: 2.0}).fit(X, y)
        case "skewed ensemble":
            X, y = three
            return KernelEnsembleClassifier().fit(np.exp(X[::2]), y[::2])
        case "constant ensemble":
            return KernelEnsembleClassifier().fit(np.ones((6, 2)), ["a", "b"] * 3)
        case "table":
            return table()
    raise AssertionError(kind)


KINDS = (
    *("primal", "diag", "spherical", "tied", "poly", "cubic", "rbf", "linear", "precomputed"),
    *(
        "shared",
        "ridge",
        "budget",
        "few inputs",
        "init",
        "nothing",
        "partly labelled",
        "novelty",
        "ensemble",
        "skewed ensemble",
        "constant ensemble",
        "table",
    ),
)


def classifier_of(model: Any) -> Any:
    """What predicts from numbers."""
    return model.classifier if isinstance(model, TableModel) else model


def outputs(classifier: Any) -> tuple[str, ...]:
    """The methods with which a model answers."""
    if isinstance(classifier, FamiliarityDetector):
        return "predict", "score_samples", "decision_function", "familiarity"
    if isinstance(classifier, KernelEnsembleClassifier):
        return "predict", "predict_proba"
    return "predict", "predict_proba", "predict_log_proba", "predict_component_proba"


def rows_of(model: Any, n_rows: int = 40) -> Any:
    """Rows that a model can be asked about, some of them far away."""
    classifier = classifier_of(model)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, classifier.n_features_in_)) * 3.0
    X[::9] *= 1e6
    return X
