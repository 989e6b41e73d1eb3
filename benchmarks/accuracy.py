"""Accuracy without tuning by hand.

The no-argument classifiers against tuned and untuned peers, on Rätsch's sets with their original
splits and on scikit-learn's: error, log loss, model size in numbers, fit time, ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks import markdown
from benchmarks.data import BUNDLED, IDA, split_of
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, VERMILION, panels, save
from benchmarks.markdown import number, percent, table
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import timed
from reproduction.generative import GaussianMixtureBayesClassifier
from reproduction.tuned_svm import TunedSVMClassifier
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.metrics import brier_score, expected_calibration_error

# sets with more than two classes, or with so many rows that a fit takes longer than ten minutes
BEYOND = {"fastrvm": ("iris", "wine", "digits", "image")}
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)


def logistic() -> Any:
    return GridSearchCV(LogisticRegression(max_iter=3000), {"C": COSTS}, scoring="neg_log_loss")


METHODS: dict[str, Callable[[int, int], Any]] = {
    "KernelSDGMClassifier()": lambda D, seed: KernelSDGMClassifier(random_state=seed),
    "SDGMClassifier()": lambda D, seed: SDGMClassifier(random_state=seed),
    "tuned SVM": lambda D, seed: make_pipeline(
        StandardScaler(), TunedSVMClassifier(gammas=[f / D for f in (0.1, 0.3, 1.0, 3.0)])
    ),
    "logistic regression": lambda D, seed: make_pipeline(StandardScaler(), logistic()),
    "quadratic logistic regression": lambda D, seed: make_pipeline(
        StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler(), logistic()
    ),
    "Gaussian process": lambda D, seed: make_pipeline(
        StandardScaler(), GaussianProcessClassifier(1.0 * RBF(np.sqrt(D)))
    ),
    "random forest": lambda D, seed: RandomForestClassifier(300, random_state=seed),
    "gradient boosting": lambda D, seed: HistGradientBoostingClassifier(random_state=seed),
    "Gaussian mixtures by BIC": lambda D, seed: make_pipeline(
        StandardScaler(), GaussianMixtureBayesClassifier(4, n_init=1, random_state=seed)
    ),
}
if find_spec("fastrvm"):
    from fastrvm import RVC

    METHODS["fastrvm"] = lambda D, seed: make_pipeline(StandardScaler(), RVC())


def n_numbers(model: Any, X: Any) -> int:
    """Numbers that the model stores; zero where that is not a fair question."""
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, KernelSDGMClassifier | SDGMClassifier):
        vectors = getattr(last, "relevance_vectors_", np.empty(0))
        return last.n_active_weights_ + vectors.size
    if isinstance(last, TunedSVMClassifier):
        return last.n_support_vectors_ * (X.shape[1] + 1)
    if isinstance(last, GaussianMixtureBayesClassifier):
        return last.n_parameters_
    if isinstance(last, GridSearchCV):
        best = last.best_estimator_
        return int(best.coef_.size + best.intercept_.size)
    return 0


QUICK = {"data": ("heart", "iris"), "method": ("SDGMClassifier()", "logistic regression")}


def cells(plan: Plan) -> list[Cell]:
    """Every method on every split of every set that it can do."""
    names = QUICK["data"] if plan.quick else (*IDA, *BUNDLED)
    methods = QUICK["method"] if plan.quick else METHODS
    return [
        {"data": name, "split": split, "method": method}
        for name in names
        for split in range(plan.repeats)
        for method in methods
        if name not in BEYOND.get(method, ())
    ]


def measure(data: str, split: int, method: str) -> Record:
    """Fit one method to one split, and measure."""
    X, y, X_test, y_test = split_of(data, split)
    model = METHODS[method](X.shape[1], split)
    _, seconds, _ = timed(lambda: model.fit(X, y), process_time)
    P = np.clip(model.predict_proba(X_test), 1e-15, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    last = model[-1] if hasattr(model, "steps") else model
    return {
        "error": float(np.mean(model.predict(X_test) != y_test)),
        "log_loss": float(log_loss(y_test, P, labels=model.classes_)),
        "brier": brier_score(y_test, P, labels=model.classes_),
        "ece": expected_calibration_error(y_test, P, labels=model.classes_),
        "numbers": n_numbers(model, X),
        "weights": int(getattr(last, "n_active_weights_", 0)),
        "seconds": seconds,
    }


def means(records: Sequence[Record], field: str) -> dict[str, dict[str, float]]:
    """Mean over splits, by data set and method."""
    result: dict[str, dict[str, list[float]]] = {}
    for record in records:
        result.setdefault(record["data"], {}).setdefault(record["method"], []).append(record[field])
    return {d: {m: float(np.mean(v)) for m, v in row.items()} for d, row in result.items()}


def write(output: Path) -> Path:
    """One line per method, then errors and losses per data set; a picture of the ranks."""
    found = results(output, "accuracy")
    order = dict.fromkeys([*METHODS, *values_of(found, "method")])
    records = [record for name in order for record in select(found, method=name)]
    everywhere = with_all_sets(records)
    of = {field: means(everywhere, field) for field in ("error", "log_loss")}
    names = list(of["error"])
    parts = [
        "# Accuracy without tuning",
        f"Means over {len(names)} data sets. Written by {made_by(records)}",
        summary(everywhere),
    ]
    for method in values_of(records, "method"):
        own = values_of(select(records, method=method), "data")
        if len(own) < len(names):
            some = [record for record in records if record["data"] in own]
            parts += [f"## On the {len(own)} sets that {method} can do", summary(some)]
    for field, factor, digits in (("error", 100.0, 1), ("log_loss", 1.0, 3)):
        rows = [
            [m, *(number(factor * of[field][d][m], f".{digits}f") for d in names)]
            for m in of[field][names[0]]
        ]
        parts += [f"## {field.replace('_', ' ')}", table(["", *names], rows)]
    draw_ranks(everywhere, output / "img" / "accuracy-ranks.png")
    return markdown.write(output / "results" / "accuracy.md", [*parts, *behind(everywhere)])


def with_all_sets(records: Sequence[Record]) -> list[Record]:
    """Records of the methods that can do every data set."""
    of = means(records, "error")
    return [r for r in records if all(r["method"] in of[name] for name in of)]


def mean_ranks(records: Sequence[Record], field: str) -> Any:
    """Of the methods in the order of `values_of`, over data sets."""
    methods = values_of(records, "method")
    ranks = [stats.rankdata([row[m] for m in methods]) for row in means(records, field).values()]
    return np.mean(ranks, axis=0)


def summary(records: Sequence[Record]) -> str:
    """A table with one line per method."""
    fields = ("error", "log_loss", "ece", "numbers", "weights", "seconds")
    of = {field: means(records, field) for field in fields}
    ranks = [mean_ranks(records, field) for field in ("error", "log_loss")]
    rows = []
    for i, m in enumerate(values_of(records, "method")):
        column = {field: np.array([row[m] for row in of[field].values()]) for field in fields}
        sizes = [
            f"{np.median(column[field]):.0f}" if column[field].any() else ""
            for field in ("numbers", "weights")
        ]
        rows.append(
            [
                m,
                percent(column["error"].mean()),
                f"{column['log_loss'].mean():.3f}",
                percent(column["ece"].mean(), 1),
                *(f"{rank[i]:.1f}" for rank in ranks),
                *sizes,
                f"{np.median(column['seconds']):.2f}",
            ]
        )
    head = ["", "error %", "log loss", "ECE %", "rank by error", "rank by log loss"]
    return table([*head, "numbers, median", "weights, median", "fit s, median"], rows)


def behind(records: Sequence[Record]) -> list[str]:
    """The sets where an automatic fit errs more than the better of two simple rivals."""
    methods = values_of(records, "method")
    rivals = [name for name in ("tuned SVM", "logistic regression") if name in methods]
    if not rivals:
        return []

    def errors(data: str, method: str) -> Any:
        own = select(records, data=data, method=method)
        return 100.0 * np.array([r["error"] for r in sorted(own, key=lambda r: r["split"])])

    rows = []
    for method in (name for name in methods if "SDGM" in name):
        for data in values_of(records, "data"):
            rival = min((errors(data, name) for name in rivals), key=np.mean)
            difference = errors(data, method) - rival
            if (mean := difference.mean()) > 0.0:
                deviation = difference.std(ddof=1) if len(difference) > 1 else 0.0
                error = deviation / np.sqrt(len(difference))
                beyond = f"{max(mean - error, 0.0):.2f}"
                rows.append([method, data, f"{mean:.2f} ± {error:.2f}", beyond])
    return [
        f"## Behind the better of {' and '.join(rivals)}",
        "Points of error, with the standard error of the difference over the splits; only where it "
        "is positive.",
        table(["", "data", "points behind", "beyond one standard error"], rows),
    ]


def draw_ranks(records: Sequence[Record], path: Path) -> None:
    """Mean ranks by error and by log loss, with the critical difference of Nemenyi's test."""
    methods = values_of(records, "method")
    k, n = len(methods), len(values_of(records, "data"))
    critical = (
        stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    )
    figure, axes = panels(1, 2, (8, 3.6), sharey=True)
    for ax, field in zip(axes[0], ("error", "log_loss"), strict=True):
        rank = mean_ranks(records, field)
        order = np.argsort(-rank)
        colors = [VERMILION if "SDGM" in methods[i] else BLUE for i in order]
        ax.barh([methods[i] for i in order], rank[order], color=colors)
        ax.axvline(rank.min() + critical, color="0.4", ls="--", lw=1)
        ax.set(xlabel=f"mean rank by {field.replace('_', ' ')}", xlim=(1, k))
    figure.suptitle("left of the dashed line: not told apart from the best (Nemenyi, 5%)", size=9)
    save(figure, path)


BENCHMARK = Benchmark("accuracy", cells, measure, write, repeats=3)
