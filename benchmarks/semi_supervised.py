"""What unlabelled rows are worth: ``python -m benchmarks.semi_supervised``.

Error and log loss on test rows against the number of labels, the other training rows being
unlabelled. Cells are kept in the output folder, so that a run that was stopped goes on. Two splits
took less than twenty minutes on a busy machine.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from time import perf_counter
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

from benchmarks.accuracy import split_of
from reproduction.cells import Key, Record, run_cells
from reproduction.environment import environment
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


def measured_cell(key: Key) -> Record:
    """Fit one method to one split with so many labels, and measure."""
    split, method = int(key["split"] or 0), str(key["method"])
    X, y, X_test, y_test = rows_of(str(key["data"]), split)
    labelled = labelled_rows(y, int(key["labels"] or 0))
    partly = np.full(len(y), -1)
    partly[labelled] = y[labelled]
    model = METHODS[method](split)
    begin = perf_counter()
    if method == PLAIN:
        model.fit(X[labelled], y[labelled])
    else:
        model.fit(X, partly)
    seconds = perf_counter() - begin
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


def wanted(names: Sequence[str], splits: int, methods: Sequence[str]) -> list[Key]:
    """All cells: with all labels the plain classifier only, as the bound."""
    keys: list[Key] = []
    for split in range(splits):
        for name in names:
            n_classes = len(np.unique(rows_of(name, split)[1]))
            for labels in (*N_LABELS, ALL):
                if labels != ALL and labels < LABELS_PER_CLASS * n_classes:
                    continue
                used = [PLAIN] if labels == ALL else methods
                keys += [
                    {"data": name, "split": split, "labels": labels, "method": method}
                    for method in used
                ]
    return keys


def mean(records: Sequence[Record], field: str, **where: Any) -> float:
    """Mean of a field over the records that match; NaN if there are none."""
    values = [r[field] for r in records if all(r[k] == v for k, v in where.items())]
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


def table(title: str, records: Sequence[Record], methods: Sequence[str]) -> list[str]:
    """A row per method, a column per number of labels."""
    counts = [n for n in N_LABELS if any(r["labels"] == n for r in records)]
    lines = [
        f"## {title}\n",
        f"| labels | {' | '.join(map(str, counts))} | all |",
        "|---" * (len(counts) + 2) + "|",
    ]
    for method in methods:
        cells = []
        for n in (*counts, ALL):
            error = 100 * mean(records, "error", labels=n, method=method)
            loss = mean(records, "log_loss", labels=n, method=method)
            cells.append("" if np.isnan(error) else f"{error:.1f} / {loss:.3f}")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    shares = [f"{mean(records, 'unlabelled_share', labels=n, method=SEMI):.2f}" for n in counts]
    lines.append(f"| share of models with unlabelled rows | {' | '.join(shares)} | |\n")
    return lines


def page(records: Sequence[Record], command: str) -> str:
    """The results as Markdown: means over the sets, then one table per set."""
    names = list(dict.fromkeys(r["data"] for r in records))
    methods = list(dict.fromkeys(r["method"] for r in records))
    lines = [
        "# What unlabelled rows are worth\n",
        f"Written by `{command}`. {environment()}.\n",
        f"At most {MAX_TRAIN} training rows, of which some have a label. Cells are error % / log "
        "loss on test rows; "
        f"digits: {', '.join(map(str, DIGITS))}, by their first {N_AXES} principal components.\n",
        "Semi-supervised against labelled rows only:\n",
        f"- error {comparison(records, 'error', 0.002)};",
        f"- log loss {comparison(records, 'log_loss', 0.005)}.\n",
    ]
    two_classes = [r for r in records if r["data"] != "digits"]
    lines += table("Mean over the sets of two classes", two_classes, methods)
    for name in names:
        lines += table(name, [r for r in records if r["data"] == name], methods)
    seconds = [f"{m} {np.median([r['seconds'] for r in records if r['method'] == m]):.2f} s"
               for m in methods]  # fmt: skip
    lines.append(f"Median time of a fit: {', '.join(seconds)}.")
    return "\n".join(lines) + "\n"


def draw(records: Sequence[Record], stem: Path) -> None:
    """Error against the number of labels, a panel per set."""
    from matplotlib.figure import Figure

    from reproduction.figures.files import save_picture

    names = list(dict.fromkeys(r["data"] for r in records))
    methods = list(dict.fromkeys(r["method"] for r in records))
    looks = {
        PLAIN: {"color": "#0072B2", "marker": "o", "lw": 1.8},
        SEMI: {"color": "#D55E00", "marker": "^", "lw": 2.4, "zorder": 3},
    }
    greys = iter([("0.45", "s", "--"), ("0.45", "D", ":"), ("0.65", "v", "-")])
    for method in methods:
        if method not in looks:
            color, marker, dash = next(greys)
            looks[method] = {"color": color, "marker": marker, "ls": dash, "lw": 1.2}
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    panels = figure.subplots(2, (len(names) + 1) // 2, squeeze=False).ravel()
    for ax in panels[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(panels, names, strict=False):
        counts = sorted({r["labels"] for r in records if r["data"] == name} - {ALL})
        for method in methods:
            error = [100 * mean(records, "error", data=name, labels=n, method=method)
                     for n in counts]  # fmt: skip
            ax.plot(counts, error, ms=4.5, label=method, **looks[method])
        bound = 100 * mean(records, "error", data=name, labels=ALL, method=PLAIN)
        ax.axhline(bound, color="k", lw=0.9, ls=(0, (4, 2)), label="all labels known")
        ax.set_title(name, size=10)
        ax.set(xscale="log", ylim=(0, None))
        ax.set_xticks(counts, [str(n) for n in counts])
        ax.minorticks_off()
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("labels", size=10)
    figure.supylabel("test error %", size=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=8.5
    )
    save_picture(figure, stem, dpi=100)


def main() -> None:
    """Run what is missing, write the page and the picture."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.semi_supervised", description=__doc__
    )
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--output", type=Path, default=Path("semi_supervised"))
    options = parser.parse_args()
    keys = wanted(options.data, options.splits, options.methods)

    def tell(done: int, total: int, key: Key | None) -> None:
        print(f"\r{done}/{total} {'' if key is None else ' '.join(map(str, key.values()))}\033[K",
              end="", flush=True)  # fmt: skip

    records = run_cells(
        options.output / "semi_supervised.jsonl",
        keys,
        measured_cell,
        jobs=options.jobs,
        progress=tell,
    )
    chosen = ["--splits", str(options.splits)]
    if options.data != list(SETS):
        chosen += ["--data", *options.data]
    if options.methods != list(METHODS):
        chosen += ["--methods", *options.methods]
    command = f"python -m benchmarks.semi_supervised {shlex.join(chosen)}"
    text = page(records, command)
    (options.output / "semi_supervised.md").write_text(text, encoding="utf-8")
    draw(records, options.output / "semi-supervised")
    print(f"\nwrote {options.output / 'semi_supervised.md'}")


if __name__ == "__main__":
    from benchmarks import semi_supervised  # workers import functions by the module's name

    semi_supervised.main()
