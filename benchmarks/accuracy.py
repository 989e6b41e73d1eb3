"""Accuracy without tuning by hand: ``python -m benchmarks.accuracy``.

The no-argument classifiers against tuned and untuned peers, on Rätsch's sets with their original
splits and on scikit-learn's: error, log loss, model size in numbers, fit time, ranks.
Cells are kept in the output folder, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from reproduction.cells import Key, Record, run_cells
from reproduction.datasets import load_ida, redrawn
from reproduction.environment import environment
from reproduction.generative import GaussianMixtureBayesClassifier
from reproduction.tuned_svm import TunedSVMClassifier
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.metrics import brier_score, expected_calibration_error

Split = tuple[Any, Any, Any, Any]
BUNDLED = {
    "iris": (load_iris, 90),
    "wine": (load_wine, 106),
    "wdbc": (load_breast_cancer, 300),
    "digits": (load_digits, 500),
}
IDA = (
    "banana",
    "breast_cancer",
    "titanic",
    "waveform",
    "german",
    "image",
    "heart",
    "ringnorm",
    "twonorm",
    "flare_solar",
    "thyroid",
)
# sets with more than two classes, or with so many rows that a fit takes longer than ten minutes
BEYOND = {"fastrvm": ("iris", "wine", "digits", "image")}
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)


@lru_cache(maxsize=32)
def data(name: str) -> Any:
    if name in BUNDLED:
        return BUNDLED[name][0](return_X_y=True)
    loaded = load_ida(name)
    return loaded if len(loaded.splits) > 1 else redrawn(loaded, 10)


def split_of(name: str, split: int) -> Split:
    """Training and test rows of a split."""
    if name in BUNDLED:
        X, y = data(name)
        drawn = StratifiedShuffleSplit(1, train_size=BUNDLED[name][1], random_state=split)
        train, test = next(drawn.split(X, y))
        return X[train], y[train], X[test], y[test]
    loaded = data(name)
    return loaded.split(split % len(loaded.splits))


def logistic() -> Any:
    return GridSearchCV(LogisticRegression(max_iter=3000), {"C": COSTS}, scoring="neg_log_loss")


METHODS: dict[str, Callable[[int, int], Any]] = {
    "KernelSDGMClassifier()": lambda D, seed: KernelSDGMClassifier(random_state=seed),
    "SDGMClassifier()": lambda D, seed: SDGMClassifier(random_state=seed),
    "SVM, tuned": lambda D, seed: make_pipeline(
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
    "Gaussian mixtures, BIC": lambda D, seed: make_pipeline(
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


def measured_cell(key: Key) -> Record:
    """Fit one method to one split, and measure."""
    X, y, X_test, y_test = split_of(str(key["data"]), int(key["split"] or 0))
    model = METHODS[str(key["method"])](X.shape[1], int(key["split"] or 0))
    begin = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - begin
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


def page(records: Sequence[Record], command: str) -> str:
    """The results as Markdown: one line per method, then errors and losses per data set."""
    everywhere = with_all_sets(records)
    of = {field: means(everywhere, field) for field in ("error", "log_loss")}
    names = list(of["error"])
    lines = [
        "# Accuracy without tuning\n",
        f"Means over {len(names)} data sets. Written by `{command}`. {environment()}.\n",
        *summary(everywhere),
    ]
    for method in dict.fromkeys(r["method"] for r in records):
        own = dict.fromkeys(r["data"] for r in records if r["method"] == method)
        if len(own) < len(names):
            lines.append(f"\n## On the {len(own)} sets that {method} can do\n")
            lines += summary([r for r in records if r["data"] in own])
    for field, factor, digits in (("error", 100.0, 1), ("log_loss", 1.0, 3)):
        lines += [f"\n## {field.replace('_', ' ')}\n", f"| | {' | '.join(names)} |"]
        lines.append("|---" * (len(names) + 1) + "|")
        for m in of[field][names[0]]:
            cells = [f"{factor * of[field][d][m]:.{digits}f}" for d in names]
            lines.append(f"| {m} | {' | '.join(cells)} |")
    return "\n".join([*lines, *behind(everywhere)]) + "\n"


def with_all_sets(records: Sequence[Record]) -> list[Record]:
    """Records of the methods that can do every data set."""
    of = means(records, "error")
    return [r for r in records if all(r["method"] in of[name] for name in of)]


def summary(records: Sequence[Record]) -> list[str]:
    """A table with one line per method."""
    fields = ("error", "log_loss", "ece", "numbers", "weights", "seconds")
    of = {field: means(records, field) for field in fields}
    names = list(of["error"])
    methods = list(of["error"][names[0]])
    ranks = {
        field: np.mean([stats.rankdata([of[field][d][m] for m in methods]) for d in names], axis=0)
        for field in ("error", "log_loss")
    }
    lines = [
        "| | error % | log loss | ECE % | rank by error | rank by log loss | numbers, median | "
        "weights, median | fit s, median |",
        "|---" * 9 + "|",
    ]
    for i, m in enumerate(methods):
        column = {field: np.array([of[field][d][m] for d in names]) for field in fields}
        size = f"{np.median(column['numbers']):.0f}" if column["numbers"].any() else ""
        weights = f"{np.median(column['weights']):.0f}" if column["weights"].any() else ""
        lines.append(
            f"| {m} | {100 * column['error'].mean():.2f} | {column['log_loss'].mean():.3f} | "
            f"{100 * column['ece'].mean():.1f} | {ranks['error'][i]:.1f} | "
            f"{ranks['log_loss'][i]:.1f} | {size} | {weights} | "
            f"{np.median(column['seconds']):.2f} |"
        )
    return lines


def behind(records: Sequence[Record]) -> list[str]:
    """Lines on the sets where an automatic fit errs more than the better of two simple rivals."""
    methods = dict.fromkeys(record["method"] for record in records)
    rivals = [name for name in ("SVM, tuned", "logistic regression") if name in methods]
    if not rivals:
        return []
    errors: dict[tuple[str, str], dict[int, float]] = {}
    for record in records:
        by_split = errors.setdefault((record["data"], record["method"]), {})
        by_split[record["split"]] = 100.0 * record["error"]
    lines = [
        f"\n## Behind the better of {' and '.join(rivals)}\n",
        "Points of error, with the standard error of the difference over the splits; only where it "
        "is positive.\n",
        "| | data | points behind | beyond one standard error |",
        "|---|---|---|---|",
    ]
    for method in (name for name in methods if "SDGM" in name):
        for data in dict.fromkeys(record["data"] for record in records):
            own = errors[data, method]
            rival = min((errors[data, r] for r in rivals), key=lambda e: np.mean(list(e.values())))
            difference = np.array([own[split] - rival[split] for split in own])
            if (mean := difference.mean()) > 0.0:
                deviation = difference.std(ddof=1) if len(difference) > 1 else 0.0
                error = deviation / np.sqrt(len(difference))
                beyond = f"{max(mean - error, 0.0):.2f}"
                lines.append(f"| {method} | {data} | {mean:.2f} ± {error:.2f} | {beyond} |")
    return lines


def draw_ranks(records: Sequence[Record], stem: Path) -> None:
    """Mean ranks by error and by log loss, with the critical difference of Nemenyi's test."""
    from matplotlib.figure import Figure

    from reproduction.figures.files import save_picture

    names = list(means(records, "error"))
    methods = list(dict.fromkeys(record["method"] for record in records))
    k, n = len(methods), len(names)
    critical = (
        stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    )
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for ax, field in zip(figure.subplots(1, 2, sharey=True), ("error", "log_loss"), strict=True):
        of = means(records, field)
        rank = np.mean([stats.rankdata([of[d][m] for m in methods]) for d in names], axis=0)
        order = np.argsort(-rank)
        colors = ["#D55E00" if "SDGM" in methods[i] else "#0072B2" for i in order]
        ax.barh([methods[i] for i in order], rank[order], color=colors)
        ax.axvline(rank.min() + critical, color="0.4", ls="--", lw=1)
        ax.set(xlabel=f"mean rank by {field.replace('_', ' ')}", xlim=(1, k))
    figure.suptitle("left of the dashed line: not told apart from the best (Nemenyi, 5 %)", size=9)
    save_picture(figure, stem)


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", nargs="*", default=[*IDA, *BUNDLED])
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--output", type=Path, default=Path("accuracy"))
    options = parser.parse_args()
    keys: list[Key] = [
        {"data": name, "split": split, "method": method}
        for name in options.data
        for split in range(options.splits)
        for method in options.methods
        if name not in BEYOND.get(method, ())
    ]

    def tell(done: int, total: int, key: Key | None) -> None:
        print(f"\r{done}/{total} {'' if key is None else ' '.join(map(str, key.values()))}\033[K",
              end="", flush=True)  # fmt: skip

    records = run_cells(
        options.output / "accuracy.jsonl", keys, measured_cell, jobs=options.jobs, progress=tell
    )
    chosen = ["--splits", str(options.splits)]
    if options.data != [*IDA, *BUNDLED]:
        chosen += ["--data", *options.data]
    if options.methods != list(METHODS):
        chosen += ["--methods", *options.methods]
    command = f"python -m benchmarks.accuracy {shlex.join(chosen)}"
    (options.output / "accuracy.md").write_text(page(records, command), encoding="utf-8")
    draw_ranks(with_all_sets(records), options.output / "accuracy-ranks")
    print(f"\nwrote {options.output / 'accuracy.md'}")


if __name__ == "__main__":
    from benchmarks import accuracy  # workers import functions by the module's name

    accuracy.main()
