"""Among 179 published classifiers on 98 UCI sets.

Both forms without arguments, the dense teacher, and scikit-learn's logistic regression, support
vector machine, random forest and gradient boosting, on the four folds of those sets of
Fernández-Delgado et al. (2014) that come as one file. A cell is a model on all four folds of a set;
with its code in the cell, what was measured with other code is measured again. `uci121_page` writes
what came out.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import sdgm
from benchmarks.accuracy import n_numbers
from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.uci121_data import N_FOLDS, fold_of, training_rows
from benchmarks.uci121_page import write

OWN = ("SDGMClassifier", "KernelSDGMClassifier", "KernelEnsembleClassifier")
# what a fit of these runs through, below the package
LEARNING = ("core", "ensemble", "estimators", "scale")
COSTS, CV = (0.01, 0.1, 1.0, 10.0, 100.0), 3
# no single row decides a mean: probabilities below this count as this much in the log loss
SMALLEST = 1e-6
WARM_UP = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
QUICK = ("balloons", "lenses", "iris")


def logistic(X: Any, y: Any, seed: int) -> Any:
    return GridSearchCV(LogisticRegression(max_iter=3000), {"C": COSTS}, cv=CV).fit(X, y)


def tuned_svm(X: Any, y: Any, seed: int) -> Any:
    """Nine candidates in three folds, then probabilities for the best."""
    grid = {"C": (1.0, 10.0, 100.0), "gamma": [factor / X.shape[1] for factor in (0.2, 1.0, 5.0)]}
    best = GridSearchCV(SVC(), grid, cv=CV).fit(X, y).best_params_
    return SVC(probability=True, random_state=seed, **best).fit(X, y)


PEERS: dict[str, Callable[[Any, Any, int], Any]] = {
    "logistic regression": logistic,
    "tuned SVM": tuned_svm,
    "random forest": lambda X, y, seed: RandomForestClassifier(random_state=seed).fit(X, y),
    "gradient boosting": lambda X, y, seed: HistGradientBoostingClassifier(random_state=seed).fit(
        X, y
    ),
}


def own(name: str, X: Any, y: Any, seed: int) -> Any:
    """One of sdgm's without arguments but the seed, if it takes one."""
    model = getattr(sdgm, name)()
    seeded = {"random_state": seed} if "random_state" in model.get_params() else {}
    return model.set_params(**seeded).fit(X, y)


def own_code() -> str:
    """A name for the code that sdgm learns with: other code, another name."""
    package = Path(sdgm.__file__).parent
    files = sorted(path for part in LEARNING for path in (package / part).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:10]


def cells(plan: Plan) -> list[Cell]:
    """Every model that there is on every set, the largest sets last."""
    code = own_code()
    models = {f"{name}()": code for name in OWN if hasattr(sdgm, name)}
    models |= dict.fromkeys(PEERS, f"scikit-learn {sklearn.__version__}")
    return [
        {"data": name, "model": model, "code": code}
        for name in (QUICK if plan.quick else training_rows())
        for model, code in models.items()
    ]


def measure(data: str, model: str, code: str) -> Iterator[Record]:
    """Fit and test on every fold; seconds are of the processor."""
    fit = PEERS.get(model) or partial(own, model[:-2])
    with warnings.catch_warnings(action="ignore"):
        fit(*WARM_UP, 0)  # so that no time holds first imports
    for fold in range(N_FOLDS):
        X, y, X_test, y_test = fold_of(data, fold)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            begin = process_time()
            fitted = fit(X, y, fold)
            seconds = process_time() - begin
        yield {
            "fold": fold,
            "accuracy": float(np.mean(fitted.predict(X_test) == y_test)),
            "log_loss": loss_of(fitted, X_test, y_test),
            "seconds": round(seconds, 4),
            "weights": getattr(fitted, "n_active_weights_", None),
            "numbers": stored_numbers(fitted, X),
            "warned": sorted({warning.category.__name__ for warning in caught}),
        }


def loss_of(model: Any, X: Any, y: Any) -> float | None:
    """Mean log loss of the rows whose class was among the training rows."""
    known = np.isin(y, model.classes_)
    if not known.any():
        return None
    P = np.clip(model.predict_proba(X[known]), SMALLEST, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    return float(log_loss(y[known], P, labels=model.classes_))


def stored_numbers(model: Any, X: Any) -> int | None:
    """Numbers that a model predicts with: of a tree two per split, and what its leaves say."""
    if isinstance(model, SVC):
        arrays = model.support_vectors_, model.dual_coef_, model.intercept_
        return sum(array.size for array in arrays)
    if isinstance(model, RandomForestClassifier):
        trees = [tree.tree_ for tree in model.estimators_]
        per_leaf = len(model.classes_)
        return int(sum(2 * (t.node_count - t.n_leaves) + per_leaf * t.n_leaves for t in trees))
    if isinstance(model, HistGradientBoostingClassifier):
        leaves = [tree.nodes["is_leaf"] for trees in model._predictors for tree in trees]
        return int(sum(2 * (leaf == 0).sum() + leaf.sum() for leaf in leaves))
    return n_numbers(model, X) or None


BENCHMARK = Benchmark("uci121", cells, measure, write, timeout=86400.0, processor_seconds=1800)

if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["uci121", *sys.argv[1:]])
