"""Fitted models of every kind, shared by the tests of ONNX and of the model card."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
    SemiSupervisedSDGMClassifier,
)
from sdgm.export.model import exportable
from sdgm.tables.inputs import Category, Number, feature_names
from sdgm.tables.model import TableModel

KINDS: dict[str, Any] = {
    "primal": lambda: SDGMClassifier(n_components=2, random_state=0, teacher=None),
    "diag": lambda: SDGMClassifier(
        n_components=2, covariance_type="diag", random_state=0, teacher=None
    ),
    "spherical": lambda: DiscriminativeGMMClassifier(1, covariance_type="spherical"),
    "tied": lambda: SDGMClassifier(
        n_components=2, covariance_type="tied", random_state=0, teacher=None
    ),
    "dense": lambda: DiscriminativeGMMClassifier(2, random_state=0),
    "poly": lambda: KernelSDGMClassifier(n_components=2, random_state=0, teacher=None),
    "cubic": lambda: KernelSDGMClassifier(n_components=1, degree=3, teacher=None),
    "quintic": lambda: KernelSDGMClassifier(n_components=1, degree=5, coef0=0.5, teacher=None),
    "homogeneous": lambda: KernelSDGMClassifier(n_components=1, coef0=0.0, teacher=None),
    "rbf": lambda: KernelSDGMClassifier(n_components=2, kernel="rbf", random_state=0, teacher=None),
    "linear": lambda: KernelSDGMClassifier(n_components=1, kernel="linear", teacher=None),
    "rvm": lambda: RVMClassifier(),
    "raw": lambda: KernelSDGMClassifier(n_components=1, standardize=False, teacher=None),
    "automatic": lambda: KernelSDGMClassifier(),
    "semi": lambda: SemiSupervisedSDGMClassifier(SDGMClassifier(n_components=1, teacher=None)),
}


def clusters(
    n_classes: int = 3, n_features: int = 3, n_rows: int = 150, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes that lie beside each other, in units that differ."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    centers = 1.5 * rng.standard_normal((n_classes, n_features))
    X = centers[y] + rng.standard_normal((n_rows, n_features))
    return 10.0 + X * 10.0 ** np.arange(-1, n_features - 1), y


def around(X: np.ndarray, n: int = 1000) -> np.ndarray:
    """Rows as far as twice the deviation of others, and these."""
    rng = np.random.default_rng(1)
    return np.vstack([X, X.mean(axis=0) + 2 * X.std(axis=0) * rng.standard_normal((n, X.shape[1]))])


@cache
def fitted(kind: str, n_classes: int = 3, n_features: int = 3) -> tuple[Any, np.ndarray]:
    """A model of a kind, and rows to try it on."""
    X, y = clusters(n_classes, n_features)
    return KINDS[kind]().fit(X, y), around(X)


@cache
def pruned_to_nothing() -> tuple[Any, np.ndarray]:
    """A model whose weights were all removed, since the labels say nothing."""
    X = np.repeat(np.arange(20.0)[:, None], 2, axis=0)
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, np.tile([0, 1], 20))
    assert model.coef_.shape[1] == 0
    return model, X


INPUTS = (
    Number("age"),
    Number("dose", fill=2.0, indicator=True),
    Number("height", fill=1.5),
    Category("colour", ("red", "blue", "ü </script>\n*/"), missing=True),
    Category("sex", ("f", "m")),
)


@cache
def table_classifier(form: str = "primal") -> Any:
    """A classifier of the features of `INPUTS`."""
    columns = table_columns(200, seed=0)
    X = encoded(INPUTS, columns)
    y = np.where(
        (columns["age"] > 40) | (columns["colour"] == "red"),
        "yes",
        np.where(columns["sex"] == "m", "no", "perhaps"),
    )
    model = (
        SDGMClassifier(1, teacher=None)
        if form == "primal"
        else KernelSDGMClassifier(1, kernel="rbf", teacher=None)
    )
    model.fit(X, y)
    model.feature_names_in_ = np.array(feature_names(INPUTS), dtype=object)
    return model


def table_model(form: str = "primal", **changes: Any) -> TableModel:
    """A model of a table with numbers, categories and missing values."""
    values = {"inputs": INPUTS, "target": "ill", "classifier": table_classifier(form), **changes}
    return TableModel(**values)


def table_columns(n: int, seed: int) -> dict[str, np.ndarray]:
    """Columns by name: NaN and None are missing, and one level was never seen."""
    rng = np.random.default_rng(seed)
    dose = rng.gamma(2.0, 1.0, n)
    dose[rng.random(n) < 0.2] = np.nan
    height = 1.7 + 0.1 * rng.standard_normal(n)
    height[rng.random(n) < 0.1] = np.nan
    levels = np.array([*INPUTS[3].levels, "green", None], dtype=object)  # type: ignore[union-attr]
    return {
        "age": rng.uniform(20, 70, n),
        "dose": dose,
        "height": height,
        "colour": levels[rng.integers(len(levels), size=n)],
        "sex": np.array(["f", "m"], dtype=object)[rng.integers(2, size=n)],
    }


def encoded(inputs: Any, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Features of columns, by the rules of the inputs."""
    return np.hstack(
        [
            each.encoded(
                columns[each.name]
                if isinstance(each, Number)
                else each.codes(columns[each.name].tolist())
            )
            for each in inputs
        ]
    )


def probabilities(model: Any, columns: dict[str, np.ndarray]) -> np.ndarray:
    """What a model of a table says of columns, computed in numpy."""
    return np.exp(exportable(model).model.log_proba(encoded(model.inputs, columns)))
