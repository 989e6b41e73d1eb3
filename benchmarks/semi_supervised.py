"""What unlabelled rows are worth.

Error and log loss on test rows against the number of labels, the other training rows being
unlabelled. Two splits took less than twenty minutes on a busy machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks import markdown
from benchmarks.data import split_of
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, VERMILION, panels, save
from benchmarks.markdown import table
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import timed
from sdgm import SDGMClassifier, SemiSupervisedSDGMClassifier
from sdgm.datasets import make_ripley

SETS = ("ripley", "banana", "ringnorm", "twonorm", "waveform", "image", "wdbc", "digits")
N_LABELS = (6, 12, 25, 50, 100, 200)
ALL = 0  # all rows have labels
MAX_TRAIN, MAX_TEST = 400, 2000
# of digits three that are alike, and principal components in place of the pixels: all of it takes
# minutes per fit
DIGITS, N_AXES = (3, 5, 8), 10
LABELS_PER_CLASS = 2
PLAIN, SEMI = "labelled rows only", "semi-supervised"

METHODS: dict[str, Callable[[int], Any]] = {
    PLAIN: lambda seed: SDGMClassifier(random_state=seed),
    SEMI: lambda seed: SemiSupervisedSDGMClassifier(random_state=seed),
    "self-training, logistic": lambda seed: make_pipeline(
        StandardScaler(), SelfTrainingClassifier(LogisticRegression(max_iter=1000))
    ),
    "self-training, SVC": lambda seed: make_pipeline(
        StandardScaler(), SelfTrainingClassifier(SVC(probability=True, random_state=seed))
    ),
    "label spreading": lambda seed: make_pipeline(
        StandardScaler(), LabelSpreading(kernel="knn", n_neighbors=7, max_iter=200)
    ),
}


@lru_cache(maxsize=8)
def rows_of(name: str, split: int) -> tuple[Any, Any, Any, Any]:
    """Training and test rows, class indices for labels: -1 would mean unlabelled."""
    if name == "ripley":
        X, y, X_test, y_test = make_ripley(MAX_TRAIN, MAX_TEST, random_state=split).split()
    elif name == "digits":
        X, y, X_test, y_test = digits(split)
    else:
        X, y, X_test, y_test = split_of(name, split)
    classes = np.unique(y)
    y, y_test = np.searchsorted(classes, y), np.searchsorted(classes, y_test)
    order = np.random.default_rng(split).permutation(len(y))[:MAX_TRAIN]
    X, y, X_test, y_test = X[order], y[order], X_test[:MAX_TEST], y_test[:MAX_TEST]
    return X, y, X_test, y_test


def digits(split: int) -> tuple[Any, Any, Any, Any]:
    """Some classes and axes of scikit-learn's digits."""
    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, DIGITS)], y[np.isin(y, DIGITS)]
    X, X_test, y, y_test = train_test_split(X, y, train_size=300, random_state=split, stratify=y)
    axes = PCA(N_AXES, random_state=0).fit(X)
    return axes.transform(X), y, axes.transform(X_test), y_test


def labelled_rows(y: Any, n_labels: int) -> Any:
    """Which rows keep their label: the first ones, with two of each class at least."""
    if n_labels == ALL:
        return np.arange(len(y))
    first = np.concatenate([np.flatnonzero(y == c)[:LABELS_PER_CLASS] for c in np.unique(y)])
    rest = np.setdiff1d(np.arange(len(y)), first)
    return np.concatenate([first, rest])[:n_labels]


def measure(data: str, split: int, labels: int, method: str) -> Record:
    """Fit one method to one split with so many labels, and measure."""
    X, y, X_test, y_test = rows_of(data, split)
    labelled = labelled_rows(y, labels)
    partly = np.full(len(y), -1)
    partly[labelled] = y[labelled]
    model = METHODS[method](split)
    rows = (X[labelled], y[labelled]) if method == PLAIN else (X, partly)
    _, seconds, _ = timed(lambda: model.fit(*rows))
    P = np.asarray(model.predict_proba(X_test))
    P = np.where(np.isfinite(P), P, 1.0 / P.shape[1])
    # beyond this no method is punished further
    P = np.clip(P, 1e-6, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    return {
        "error": float(np.mean(model.predict(X_test) != y_test)),
        "log_loss": float(log_loss(y_test, P, labels=np.arange(P.shape[1]))),
        "weights": int(getattr(getattr(model, "estimator_", model), "n_active_weights_", 0)),
        "unlabelled_share": float(getattr(model, "unlabelled_share_", 0.0)),
        "seconds": seconds,
    }


def cells(plan: Plan) -> list[Cell]:
    """With all labels the plain classifier only, as the bound."""
    return [
        {"data": name, "split": split, "labels": labels, "method": method}
        for split in range(plan.repeats)
        for name in (("ripley", "digits") if plan.quick else SETS)
        for labels in ((12, ALL) if plan.quick else (*N_LABELS, ALL))
        if labels == ALL or labels >= LABELS_PER_CLASS * (len(DIGITS) if name == "digits" else 2)
        for method in ([PLAIN] if labels == ALL else METHODS)
    ]


def mean(records: Sequence[Record], field: str, **where: Any) -> float:
    """Mean of a field over the records that match; NaN if there are none."""
    values = [record[field] for record in select(records, **where)]
    return float(np.mean(values)) if values else float("nan")


def comparison(records: Sequence[Record], field: str, slack: float) -> str:
    """How often unlabelled rows help and hurt, in means over splits."""
    pairs = sorted({(r["data"], r["labels"]) for r in records if r["method"] == SEMI})
    gains = np.array(
        [
            mean(records, field, data=d, labels=n, method=PLAIN)
            - mean(records, field, data=d, labels=n, method=SEMI)
            for d, n in pairs
        ]
    )
    worst = pairs[int(gains.argmin())]
    return (
        f"lower in {(gains > slack).sum()}, alike in {(np.abs(gains) <= slack).sum()}, higher in "
        f"{(gains < -slack).sum()} of {len(gains)} pairs of data set and number of labels; "
        f"largest rise {-gains.min():.3f} ({worst[0]}, {worst[1]} labels)"
    )


def table_of(records: Sequence[Record]) -> str:
    """A row per method, a column per number of labels."""
    counts = [n for n in N_LABELS if select(records, labels=n)]
    rows = []
    for method in values_of(records, "method"):
        row = [method]
        for n in (*counts, ALL):
            error = 100 * mean(records, "error", labels=n, method=method)
            loss = mean(records, "log_loss", labels=n, method=method)
            row.append("" if np.isnan(error) else f"{error:.1f} / {loss:.3f}")
        rows.append(row)
    shares = [f"{mean(records, 'unlabelled_share', labels=n, method=SEMI):.2f}" for n in counts]
    rows.append(["share of models with unlabelled rows", *shares, ""])
    return table(["labels", *map(str, counts), "all"], rows)


def write(output: Path) -> Path:
    """Means over the sets, one table per set, and a picture."""
    records = results(output, "semi_supervised")
    names, methods = values_of(records, "data"), values_of(records, "method")
    seconds = {m: np.median([r["seconds"] for r in select(records, method=m)]) for m in methods}
    draw(records, output / "img" / "semi-supervised.png")
    return markdown.write_filled(
        output,
        "semi_supervised",
        made_by=made_by(records),
        most=MAX_TRAIN,
        digits=", ".join(map(str, DIGITS)),
        n_axes=N_AXES,
        errors=comparison(records, "error", 0.002),
        losses=comparison(records, "log_loss", 0.005),
        two_classes=table_of([r for r in records if r["data"] != "digits"]),
        sets="\n".join(f"## {name}\n\n{table_of(select(records, data=name))}" for name in names),
        seconds=", ".join(f"{method} {median:.2f} s" for method, median in seconds.items()),
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Error against the number of labels, a panel per set."""
    names, methods = values_of(records, "data"), values_of(records, "method")
    looks = {
        PLAIN: {"color": BLUE, "marker": "o", "lw": 1.8},
        SEMI: {"color": VERMILION, "marker": "^", "lw": 2.4, "zorder": 3},
    }
    greys = iter([("0.45", "s", "--"), ("0.45", "D", ":"), ("0.65", "v", "-")])
    for method in methods:
        if method not in looks:
            color, marker, dash = next(greys)
            looks[method] = {"color": color, "marker": marker, "ls": dash, "lw": 1.2}
    figure, axes = panels(2, (len(names) + 1) // 2, (10, 5.2))
    for ax in axes.ravel()[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.ravel(), names, strict=False):
        own = select(records, data=name)
        counts = sorted({r["labels"] for r in own} - {ALL})
        for method in methods:
            error = [100 * mean(own, "error", labels=n, method=method) for n in counts]
            ax.plot(counts, error, ms=4.5, label=method, **looks[method])
        bound = 100 * mean(own, "error", labels=ALL, method=PLAIN)
        ax.axhline(bound, color="k", lw=0.9, ls=(0, (4, 2)), label="all labels known")
        ax.set_title(name, size=10)
        ax.set(xscale="log", ylim=(0, None))
        ax.set_xticks(counts, [str(n) for n in counts])
        ax.minorticks_off()
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("labels", size=10)
    figure.supylabel("test error %", size=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    place = {"loc": "outside upper center", "ncols": len(labels), "frameon": False}
    figure.legend(handles, labels, fontsize=8.5, **place)
    save(figure, path, dpi=100)


BENCHMARK = Benchmark("semi_supervised", cells, measure, write, repeats=2)
