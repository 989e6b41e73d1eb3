"""Error against the number of inputs.

`max_features` of both forms from 1 to 12 inputs, beside L1 logistic regression along its path and
recursive feature elimination, on the development sets. Logistic regression is tuned by
cross-validation on the inputs that were chosen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from benchmarks import markdown
from benchmarks.accuracy import logistic
from benchmarks.data import split_of
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, GREEN, VERMILION, panels, save
from benchmarks.markdown import table
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from benchmarks.uci121 import loss_of
from sdgm import KernelSDGMClassifier, SDGMClassifier

# with four inputs at least, the least work first
SETS = (
    "iris", "thyroid", "wine", "heart", "breast_cancer", "flare_solar", "wdbc", "ringnorm",
    "twonorm", "waveform", "german", "image", "digits",
)  # fmt: skip
NUMBERS, ALL = (1, 2, 3, 5, 8, 12), 0
PATH = np.logspace(-3.0, 1.0, 40)
OWN = {"SDGMClassifier": SDGMClassifier, "KernelSDGMClassifier": KernelSDGMClassifier}
L1, ELIMINATION = "L1 logistic regression", "recursive feature elimination"
STYLES = {"SDGMClassifier": (BLUE, "o-"), "KernelSDGMClassifier": (VERMILION, "o-"),
          L1: (GREEN, "s--"), ELIMINATION: (GREEN, "^:")}  # fmt: skip


def by_l1(X: Any, y: Any, k: int) -> Any:
    """The first k inputs that enter the path."""
    model = LogisticRegression(
        l1_ratio=1.0, solver="saga", tol=1e-3, max_iter=1000, warm_start=True, random_state=0
    )
    order: list[int] = []
    for cost in PATH:
        coef = model.set_params(C=cost).fit(X, y).coef_
        size = np.abs(coef).max(axis=0)
        order += [j for j in np.argsort(-size) if size[j] > 0.0 and j not in order]
        if len(order) >= k:
            break
    return np.array(order[:k])


def by_elimination(X: Any, y: Any, k: int) -> Any:
    """The k inputs that are left when the smallest weight goes, one after the other."""
    return np.flatnonzero(RFE(LogisticRegression(max_iter=3000), n_features_to_select=k)
                          .fit(X, y).support_)  # fmt: skip


CHOICES: dict[str, Callable[[Any, Any, int], Any]] = {L1: by_l1, ELIMINATION: by_elimination}


def cells(plan: Plan) -> list[Cell]:
    """Every method on every split."""
    return [
        {"data": name, "split": split, "method": method}
        for split in range(plan.repeats)
        for name in (("iris",) if plan.quick else SETS)
        for method in (*OWN, *CHOICES)
    ]


def measure(data: str, split: int, method: str) -> Iterator[Record]:
    """A record per number of inputs below that of all, and one with all."""
    X, y, X_test, y_test = split_of(data, split)
    D = X.shape[1]
    scaler = StandardScaler().fit(X)
    for k in (*(n for n in NUMBERS if n < D), D):
        with warnings.catch_warnings(action="ignore"):
            if method in OWN:
                model = OWN[method](max_features=k, random_state=split).fit(X, y)
                used, rows = model.features_used_, X_test
            else:
                Z = scaler.transform(X)
                used = np.arange(D) if k == D else CHOICES[method](Z, y, k)
                tuned: GridSearchCV = logistic()
                model = tuned.fit(Z[:, used], y)
                rows = scaler.transform(X_test)[:, used]
        yield {
            "budget": ALL if k == D else k,
            "inputs": D,
            "used": sorted(int(j) for j in used),
            "error": float(np.mean(model.predict(rows) != y_test)),
            "log_loss": loss_of(model, rows, y_test),
        }


def write(output: Path) -> Path:
    """Means over the sets that have more inputs, and every set."""
    records = results(output, "features")
    sets = [d for d in values_of(records, "data") if len(methods_of(records, d)) == len(STYLES)]
    records = [r for r in records if r["data"] in sets]
    curves: dict[str, Any] = {}
    rows = []
    for method in STYLES:
        values = {k: per_set(records, method, k) for k in (*NUMBERS, ALL)}
        curves[method] = values
        words = [f"{100 * v[0].mean():.2f} / {v[1].mean():.3f}" for v in values.values()]
        rows.append([method, *words])
    by_set = [
        [data, values_of(select(records, data=data), "inputs")[0], *(
            " / ".join(f"{100 * np.mean([r['error'] for r in own]):.1f}" if own else "-"
                       for own in (select(records, data=data, method=m, budget=k)
                                   for m in STYLES))
            for k in (2, 5)
        )]
        for data in sets
    ]  # fmt: skip
    draw(curves, output / "img" / "max-features.png")
    return markdown.write_filled(
        output,
        "features",
        made_by=made_by(records),
        n_sets=len(sets),
        n_splits=len(values_of(records, "split")),
        means=table(["", *map(str, NUMBERS), "all"], rows),
        by_set=table(["", "inputs", "2 inputs", "5 inputs"], by_set),
        methods=", ".join(STYLES),
    )


def methods_of(records: Sequence[Record], data: str) -> list[str]:
    """Methods that a set was measured with."""
    return values_of(select(records, data=data), "method")


def per_set(records: Sequence[Record], method: str, budget: int) -> Any:
    """Errors and log losses, means over splits: (2, sets). Sets with fewer inputs have all."""
    of = select(records, method=method)
    sets = [select(of, data=name) for name in values_of(of, "data")]
    own = [select(each, budget=budget) or select(each, budget=ALL) for each in sets]
    return np.array(
        [[np.mean([r[field] for r in each]) for each in own] for field in ("error", "log_loss")]
    )


def draw(curves: dict[str, Any], path: Path) -> None:
    """Means over sets against the number of inputs."""
    figure, axes = panels(1, 2, (9, 3.6))
    for method, values in curves.items():
        color, style = STYLES[method]
        for i, ax in enumerate(axes[0]):
            mean = [(100.0, 1.0)[i] * values[k][i].mean() for k in NUMBERS]
            ax.plot(NUMBERS, mean, style, color=color, ms=4, label=method)
    for ax, what in zip(axes[0], ("error, %", "log loss"), strict=True):
        ax.set(xlabel="inputs", ylabel=what)
        ax.grid(color="0.9")
    axes[0, 1].legend(frameon=False, fontsize=8)
    save(figure, path)


BENCHMARK = Benchmark("features", cells, measure, write, timeout=7200.0)
