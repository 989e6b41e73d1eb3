"""Fitted heads on frozen features of PACS, and whether several modes per class help.

PACS has seven classes of pictures in four styles: photographs, paintings, cartoons and sketches.
The features are those of an EfficientNet-Lite0 that was trained on ImageNet. Heads:

- logistic regression on all features, standardised, its ridge by three folds from five values;
- `fit_head`, and `fit_head` with a sparse student;
- scores that are linear or quadratic in all features, with M components per class: those are
  k-means clusters of the class, or the true styles, and the ridge regression of `fit_head` learns
  to tell them apart;
- `SDGMClassifier` with M components and linear scores on 32 principal components, from labels.

Modes are compared on the first splits only. In the second part a style is left out of the training
rows, and is all that is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, GREEN, GREY, VERMILION, panels, save
from benchmarks.markdown import percent, table
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from sdgm import SDGMClassifier
from sdgm.datasets.files import MissingDataError, data_folder, read_verified
from sdgm.ensemble.calibration import calibrated
from sdgm.ensemble.fitting import LINEAR, QUADRATIC
from sdgm.ensemble.rows import labelled_rows
from sdgm.metrics import expected_calibration_error
from sdgm.nn import fit_head
from sdgm.nn.quadratic_ridge import RATE, FeatureMap, fit_member

FILE = "features/pacs_efficientnet_lite0_160px.npz"
SHA256 = "35442eaaa9dff814f5b104edb50c45f496e96751e026281a18f77f6b1f4ed42b"
SOURCE = "the mean features of EfficientNet-Lite0 (160 pixels) of the PACS pictures"
STYLES = ("photo", "painting", "cartoon", "sketch")
ROWS = (50, 200, 500, 2000, 7000)
MOST_TESTED = 3000
# splits with all modes, of few rows and of many, and splits at all of the most rows
FEW_SPLITS, MODE_SPLITS, MOST_SPLITS = 3, 1, 1
ALL, UNSEEN = "all styles", "a style left out"
UNSEEN_ROWS = 2000
MODES = (1, 2, 4, 8)
TRUE_STYLES = "styles"
LOGISTIC, FITTED, STUDENT = "logistic regression", "fit_head", "fit_head, sparse student"
KINDS = {"linear": LINEAR, "quadratic": QUADRATIC[1]}
SPARSE = "sparse linear, 32 components"
N_CLASSES = 7


def data() -> dict[str, Any]:
    """Features, labels and styles."""
    path = data_folder() / FILE
    if not path.is_file():
        raise MissingDataError(FILE, SOURCE, data_folder())
    with np.load(BytesIO(read_verified(path, SHA256))) as file:
        return {
            "X": file["X"].astype(np.float64),
            "y": file["y"].astype(np.intp),
            "style": file["domain"].astype(np.intp),
        }


def cells(plan: Plan) -> list[Cell]:
    """One process for all heads of a split."""
    if plan.quick:
        return [{"part": ALL, "rows": 200, "split": 0, "style": -1}]
    splits = {n: FEW_SPLITS for n in ROWS} | {2000: plan.repeats, max(ROWS): MOST_SPLITS}
    every = [
        {"part": ALL, "rows": n, "split": split, "style": -1}
        for n in (2000, *ROWS[:-2])
        for split in range(splits[n])
    ]
    most = [
        {"part": ALL, "rows": max(ROWS), "split": split, "style": -1}
        for split in range(splits[max(ROWS)])
    ]
    unseen = [
        {"part": UNSEEN, "rows": UNSEEN_ROWS, "split": 0, "style": style} for style in range(4)
    ]
    return every + unseen + most


def measure(part: str, rows: int, split: int, style: int) -> Iterator[Record]:
    """Every head of this split."""
    torch.set_num_threads(1)
    have = data()
    known, new = (np.flatnonzero(have["style"] != style), np.flatnonzero(have["style"] == style))
    drawn = StratifiedShuffleSplit(1, train_size=rows, random_state=split)
    train, rest = (known[index] for index in next(drawn.split(known, have["y"][known])))
    test = rest if style < 0 else new
    test = test[: len(test) if rows == UNSEEN_ROWS else MOST_TESTED]
    every = Rows(have, train, test)
    yield from every.heads()
    modes = split < (FEW_SPLITS if rows < 2000 else MODE_SPLITS)
    if modes:
        yield from every.modes((1, 4) if part == UNSEEN else (*MODES, TRUE_STYLES))
    if modes and part == ALL and rows < max(ROWS):
        yield from every.sparse_modes(MODES if rows < 2000 else MODES[:-1])


class Rows:
    """Training and test rows, and the heads that are compared on them."""

    def __init__(self, have: dict[str, Any], train: Any, test: Any) -> None:
        self.X, self.y, self.style = (have[name][train] for name in ("X", "y", "style"))
        self.X_test, self.y_test, self.style_test = (
            have[name][test] for name in ("X", "y", "style")
        )

    def heads(self) -> Iterator[Record]:
        """Logistic regression and fitted heads."""
        yield self.scored(LOGISTIC, 1, self.logistic)
        yield self.scored(FITTED, 1, self.fitted)
        student = SDGMClassifier(1, random_state=0)
        yield self.scored(STUDENT, 1, partial(self.fitted, student=student))

    def modes(self, numbers: Sequence[int | str]) -> Iterator[Record]:
        """Scores of components that are given."""
        for kind, M in product(KINDS, numbers):
            yield self.scored(kind, M, partial(self.clusters, kind, M))

    def sparse_modes(self, numbers: Sequence[int]) -> Iterator[Record]:
        """Components that are learned."""
        for M in numbers:
            yield self.scored(SPARSE, M, partial(self.sparse, M))

    def scored(self, name: str, M: int | str, fit: Callable[[], Any]) -> Record:
        """Error, log loss and calibration error on the test rows, and more of the components."""
        start = process_time()
        P, more = fit()
        seconds = process_time() - start
        P = np.maximum(P, 1e-12) / np.maximum(P, 1e-12).sum(axis=1, keepdims=True)
        return {
            "head": name,
            "M": M,
            "error": float(np.mean(P.argmax(axis=1) != self.y_test)),
            "log_loss": float(log_loss(self.y_test, P, labels=np.arange(N_CLASSES))),
            "ece": float(expected_calibration_error(self.y_test, P)),
            "seconds": seconds,
            **more,
        }

    def logistic(self) -> tuple[Any, Record]:
        """Tuned on all features."""
        grid = {"logisticregression__C": [0.001, 0.003, 0.01, 0.03, 0.1]}
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300, tol=1e-3))
        folds = min(3, int(np.bincount(self.y).min()))
        search = GridSearchCV(model, grid, cv=max(folds, 2), scoring="neg_log_loss")
        search.fit(self.X, self.y)
        return search.predict_proba(self.X_test), {"C": search.best_params_.popitem()[1]}

    def fitted(self, **settings: Any) -> tuple[Any, Record]:
        """In closed form, or a student of it."""
        head = fit_head(self.X, self.y, num_classes=N_CLASSES, **settings)
        with torch.no_grad():
            logits = head(torch.as_tensor(self.X_test).float())
        return logits.softmax(dim=1).double().numpy(), {
            "weights": int(head[-1].kept_weight().count_nonzero())
        }

    def clusters(self, kind: str, M: int | str) -> tuple[Any, Record]:
        """Ridge regression on the components of the classes."""
        own, of_class = components(self.X, self.y, self.style, M)
        rows, _ = labelled_rows(self.X, np.eye(len(of_class))[own])
        inputs = FeatureMap.of(rows.X, RATE / float(np.abs(rows.X).mean()))
        member = fit_member(KINDS[kind], inputs, rows)
        to_class = np.eye(N_CLASSES)[of_class]
        label, scorer = of_class[rows.cases.label], member.scorer
        left_out = np.log(np.maximum(member.P_left_out @ to_class, 1e-12))
        again = calibrated(left_out, label, rows.cases.weight)
        P = member.calibration.proba(scorer.scores(scorer.space.at(self.X_test)))
        classes = again.proba(np.log(np.maximum(P @ to_class, 1e-12)))
        return classes, {
            "loo_log_loss": again.loss,
            "share": shares(P, of_class, self.y_test, self.style_test),
        }

    def sparse(self, M: int) -> tuple[Any, Record]:
        """Sparse Bayesian learning from labels, on principal components."""
        model = make_pipeline(
            StandardScaler(with_std=False),
            PCA(min(32, len(self.X) - 1), random_state=0),
            SDGMClassifier(M, covariance_type="tied", teacher=None, random_state=0),
        )
        model.fit(self.X, self.y)
        return model.predict_proba(self.X_test), {"weights": model[-1].n_active_weights_}


def components(X: Any, y: Any, style: Any, M: int | str) -> tuple[Any, Any]:
    """Component of every row, and class of every component."""
    own, of_class = np.empty(len(y), dtype=np.intp), []
    for c in range(N_CLASSES):
        rows = np.flatnonzero(y == c)
        if M == TRUE_STYLES:
            label = style[rows]
        elif M == 1:
            label = np.zeros(len(rows), dtype=np.intp)
        else:
            label = KMeans(min(int(M), len(rows)), n_init=1, random_state=0).fit_predict(X[rows])
        found, label = np.unique(label, return_inverse=True)
        own[rows] = len(of_class) + label
        of_class += [c] * len(found)
    return own, np.array(of_class)


def shares(P: Any, of_class: Any, y: Any, style: Any) -> list[list[list[float]]]:
    """Of the rows of a class and style, how much each component of the class has."""
    found = []
    for c in range(N_CLASSES):
        own = P[:, of_class == c]
        own = own / np.maximum(own.sum(axis=1, keepdims=True), 1e-12)
        rows = [own[(y == c) & (style == s)] for s in range(4)]
        found.append([np.round(r.mean(axis=0), 3).tolist() if len(r) else [] for r in rows])
    return found


# --- the page ---


def mean_of(records: list[Record], field: str) -> float:
    return float(np.mean([r[field] for r in records]))


def figures_of(records: list[Record]) -> list[str]:
    """Error, log loss and calibration error, means over splits."""
    if not records:
        return ["", "", ""]
    error, loss, ece = (mean_of(records, field) for field in ("error", "log_loss", "ece"))
    return [percent(error, 1), f"{loss:.3f}", percent(ece, 1)]


def write(output: Path) -> Path:
    """Heads, modes, styles left out, and two pictures."""
    records = results(output, "pacs")
    every, unseen = (select(records, part=part) for part in (ALL, UNSEEN))
    numbers = sorted(values_of(every, "rows"))
    heads = [
        [n, name, *figures_of(own), f"{np.median([r['seconds'] for r in own]):.1f}", len(own)]
        for n in numbers
        for name in (LOGISTIC, FITTED, STUDENT)
        if (own := select(every, rows=n, head=name))
    ]
    modes = [
        [n, kind, *(" / ".join(figures_of(select(own, M=M))[:2]) for M in (*MODES, TRUE_STYLES))]
        for n in numbers
        for kind in (*KINDS, SPARSE)
        if (own := select(every, rows=n, head=kind))
    ]
    left_out = [
        [name, M, *(" / ".join(figures_of(select(own, style=s))[:2]) for s in range(4))]
        for name, M in dict.fromkeys((r["head"], r["M"]) for r in unseen)
        if (own := select(unseen, head=name, M=M))
    ]
    draw_modes(every, output / "img" / "pacs-modes.png")
    draw_styles(every, output / "img" / "pacs-styles.png")
    by_modes = [*(f"M = {M}" for M in MODES), "the true styles"]
    return markdown.write_filled(
        output,
        "pacs",
        made_by=made_by(records),
        progress=progress(records),
        heads=table(["rows", "head", "error %", "log loss", "ECE %", "CPU s", "splits"], heads),
        target=against_logistic(select(every, rows=2000)),
        modes=table(["rows", "scores", *by_modes], modes),
        unseen=table(["head", "M", *STYLES], left_out),
    )


def progress(records: list[Record]) -> str:
    """How much of the plan the records hold."""
    planned = cells(Plan(repeats=BENCHMARK.repeats))
    done = [cell for cell in planned if select(records, **cell)]
    left = len(planned) - len(done)
    return (
        ""
        if not left
        else (
            f"**{left} of {len(planned)} cells are not measured yet**; what follows is of those "
            "that are; the command goes on where it stopped."
        )
    )


def against_logistic(records: list[Record]) -> str:
    """How much lower error and log loss are, over the splits of one number of rows."""
    lines = []
    base = {r["split"]: r for r in select(records, head=LOGISTIC)}
    if not base:
        return ""
    for name in (FITTED, STUDENT):
        own = {r["split"]: r for r in select(records, head=name)}
        both = sorted(base.keys() & own.keys())
        points = np.array([100 * (base[s]["error"] - own[s]["error"]) for s in both])
        share = np.array([1 - own[s]["log_loss"] / base[s]["log_loss"] for s in both])
        lines.append(
            f"{name}: error lower by {points.mean():.2f} points ({points.min():.2f} to "
            f"{points.max():.2f}), log loss by {percent(share.mean(), 1)}% "
            f"({percent(share.min(), 1)} to {percent(share.max(), 1)}%)."
        )
    return " ".join(lines)


def draw_modes(records: list[Record], path: Path) -> None:
    """Error and log loss against rows, a line for each number of components."""
    figure, axes = panels(2, 3, (11, 6.4), sharex=True)
    colors = dict(
        zip((*MODES, TRUE_STYLES), (BLUE, GREEN, VERMILION, "#CC79A7", GREY), strict=True)
    )
    for column, kind in enumerate((*KINDS, SPARSE)):
        for (M, color), (row, field) in product(colors.items(), enumerate(("error", "log_loss"))):
            own = select(records, head=kind, M=M)
            numbers = sorted(values_of(own, "rows"))
            factor = 100.0 if field == "error" else 1.0
            means = [factor * mean_of(select(own, rows=n), field) for n in numbers]
            label = f"M = {M}" if M != TRUE_STYLES else "the true styles"
            if own:
                axes[row, column].plot(numbers, means, "o-", ms=4, color=color, label=label)
        axes[0, column].set_title(kind, fontsize=10)
        axes[1, column].set(xlabel="training rows")
    for row, unit in enumerate(("error %", "log loss")):
        top = max(ax.get_ylim()[1] for ax in axes[row])
        low = min(ax.get_ylim()[0] for ax in axes[row])
        for ax in axes[row]:
            ax.set(xscale="log", ylim=(low, top))
            ax.grid(color="0.9")
        axes[row, 0].set_ylabel(unit)
    axes[0, 0].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_styles(records: list[Record], path: Path) -> None:
    """Which component holds which style: four linear components per class, the most rows."""
    names = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
    own = max(select(records, head="linear", M=4), key=lambda r: (r["rows"], -r["split"]))
    figure, axes = panels(1, N_CLASSES, (12, 2.6), sharey=True)
    for ax, name, share in zip(axes[0], names, own["share"], strict=True):
        # components in the order of the style that each has most of
        values = np.array(share)
        order = np.lexsort([-values.max(axis=0), values.argmax(axis=0)])
        picture = ax.imshow(values[:, order], vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
        ax.set(title=name, xticks=range(values.shape[1]), yticks=range(4), xlabel="component")
        ax.set_xticklabels([str(i + 1) for i in range(values.shape[1])])
        ax.set_yticklabels(STYLES)
    figure.colorbar(picture, ax=axes[0, -1], label="share of the style")
    save(figure, path)


BENCHMARK = Benchmark("pacs", cells, measure, write, repeats=5, timeout=3600.0)
