"""Among 179 published classifiers on 98 UCI sets.

Both forms without arguments, the dense teacher, and scikit-learn's logistic regression, support
vector machine, random forest and gradient boosting, on the four folds of those sets of
Fernández-Delgado et al. (2014) that come as one file. A cell is a model on all four folds of a set;
with its code in the cell, what was measured with other code is measured again.
"""

from __future__ import annotations

import csv
import hashlib
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import sdgm
from benchmarks import markdown
from benchmarks.accuracy import n_numbers
from benchmarks.data import Split
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, GREY, VERMILION, panels, save
from benchmarks.markdown import percent, table
from benchmarks.records import Cell, Record, failures, path_of, read, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from sdgm.datasets import MissingDataError, data_folder

FOLDER, PUBLISHED = "uci121", "uci121/published_accuracy.csv"
WHERE = "the sets of Fernández-Delgado et al. (JMLR 15, 2014), packed one file per set,"
N_FOLDS = 4


class Published(NamedTuple):
    """Accuracies in percent, one row per set and one column per classifier; NaN where none is."""

    names: list[str]
    accuracy: np.ndarray[Any, Any]


def training_rows() -> dict[str, int]:
    """Rows of the first fold of every set that comes as one file, the least work first."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(published_file().parent.glob("*.npz")):
        with np.load(path) as arrays:
            # of two files the second was scaled apart from the first
            if arrays["n_test"] == 0:
                rows = len(arrays["fold1_train"])
                found[path.stem] = rows * (1 + int(arrays["y"].max())), rows
    return {name: found[name][1] for name in sorted(found, key=lambda name: found[name])}


@cache
def arrays_of(name: str) -> dict[str, Any]:
    """All arrays of a set."""
    published_file()
    with np.load(data_folder() / FOLDER / f"{name}.npz") as arrays:
        return dict(arrays)


def fold_of(name: str, fold: int) -> Split:
    """Training and test rows; folds count from 0."""
    arrays = arrays_of(name)
    train, test = (arrays[f"fold{fold + 1}_{part}"] for part in ("train", "test"))
    X, y = arrays["X"], arrays["y"]
    return X[train], y[train], X[test], y[test]


def published(sets: list[str]) -> Published:
    """What is published on these sets."""
    with published_file().open(newline="") as file:
        (_, *names), *rows = csv.reader(file)
    of = {name: [float(value or "nan") for value in values] for name, *values in rows}
    return Published(names, np.array([of[name] for name in sets]))


def published_file() -> Path:
    """Which stands for all of them."""
    path = data_folder() / PUBLISHED
    if not path.is_file():
        raise MissingDataError(PUBLISHED, WHERE, data_folder())
    return path


# --- what is measured ---

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


# --- the page ---

SMALL_ROWS = 900  # for training
N_BEST = 10
N_NAMED = 6  # sets without a result; of more, their number says enough
# published values have one digit after the point; more digits here would break ties with them
DIGITS = 1
# up to here one row more or less shows in that digit
FEW_ROWS = 220
# two ranks or accuracies closer than this are equal
SAME = 1e-9


class Standing(NamedTuple):
    """Where a model stands among the published classifiers, on the sets it was measured on."""

    accuracy: Any  # percent, of every set; NaN where there is none
    rank: float
    place: int


def mean_ranks(accuracy: Any) -> Any:
    """Of classifiers (columns) over sets (rows); on each set among those that have a value."""
    return np.nanmean(stats.rankdata(-accuracy, axis=1, nan_policy="omit"), axis=0)


def standing(own: Any, others: Any) -> Standing:
    """One model among the others, without any other model of ours."""
    all_of_them = np.column_stack([own, others])[np.isfinite(own)]
    ranks = mean_ranks(all_of_them[:, np.isfinite(all_of_them).any(axis=0)])
    return Standing(own, float(ranks[0]), 1 + int((ranks[1:] < ranks[0] - SAME).sum()))


def accuracies(records: Sequence[Record], sets: Iterable[str]) -> Any:
    """Percent on every set, NaN where a model has none, with the digits of the published ones."""
    of: dict[str, list[float]] = {}
    for record in records:
        of.setdefault(record["data"], []).append(100.0 * record["accuracy"])
    return np.array([round(np.mean(of[name]), DIGITS) if name in of else np.nan for name in sets])


def newest(records: Sequence[Record], code: dict[str, str]) -> list[Record]:
    """Those of the code that a model was last measured with."""
    return [record for record in records if code.get(record["model"]) == record["code"]]


def write(output: Path) -> Path:
    """Tables and picture of the small sets and of all."""
    failed = [{**record["cell"], **record} for record in failures(output, "uci121")]
    cells = [record["cell"] for record in read(path_of(output, "uci121"))]
    code = {cell["model"]: cell["code"] for cell in cells}
    records, rows = newest(results(output, "uci121"), code), training_rows()
    groups = {
        "small": [name for name, n_rows in rows.items() if n_rows <= SMALL_ROWS],
        "all": list(rows),
    }
    values: dict[str, Any] = {}
    drawn = []
    for group, sets in groups.items():
        names, others = published(sets)
        ranks = mean_ranks(others)
        best = np.argsort(ranks)[:N_BEST]
        own = {
            model: standing(accuracies(select(records, model=model), sets), others)
            for model in code
            if any(record["data"] in sets for record in select(records, model=model))
        }
        lines = [own_line(*item, records, sets) for item in own.items()]
        blank = [""] * (len(HEAD) - 4)
        lines += [[names[i], *counted(others[:, i]), f"{ranks[i]:.1f}", *blank] for i in best]
        lines.sort(key=lambda line: float(line[3]))
        values[f"n_{group}"] = len(sets)
        values[f"{group}_sets"] = table(HEAD, lines)
        values[f"{group}_wins"] = wins(own, [names[i] for i in best], others[:, best])
        drawn.append((f"{len(sets)} sets", own, ranks))
    draw(drawn, output / "img" / "uci121-ranks.png")
    status = {(r["model"], r["data"]): r["status"] for r in newest(failed, code)}
    done = {(record["model"], record["data"]) for record in records}
    missing = {
        model: [
            (name, status.get((model, name), "not run"))
            for name in rows
            if (model, name) not in done
        ]
        for model in code
    }
    values |= {
        "missing": without_result(missing),
        "agreement": agreement(groups["all"]),
        "made_by": made_by(records),
    }
    text = (markdown.PAGES / "uci121.md").read_text(encoding="utf-8").format(**values)
    return markdown.write(output / "uci121.md", [text])


def without_result(missing: dict[str, list[tuple[str, str]]]) -> str:
    """A line for models that lack the same sets: the names of the first, the number of others."""
    models: dict[str, list[str]] = {}
    for model, sets in missing.items():
        named = [f"{name} ({status})" for name, status in sets[:N_NAMED]]
        others = Counter(status for _, status in sets[N_NAMED:])
        named += [f"{n} other{'s' * (n > 1)} ({status})" for status, n in others.items()]
        if named:
            models.setdefault(", ".join(named), []).append(model)
    return "\n".join(f"- {', '.join(who)}: {sets}" for sets, who in models.items()) or "- none"


HEAD = [
    "", "sets", "accuracy %", "mean rank", "place", "log loss", "fit s: mean", "median", "largest",
    "weights, median", "numbers, median",
]  # fmt: skip


def own_line(model: str, own: Standing, records: Sequence[Record], sets: list[str]) -> list[str]:
    """Of a table; every set counts the same in the log loss, every fit in the seconds."""
    fits = [r for r in select(records, model=model) if r["data"] in sets]
    per_set = [present(select(fits, data=name), "log_loss") for name in values_of(fits, "data")]
    loss = np.mean([np.mean(losses) for losses in per_set if losses])
    seconds = [f"{take(present(fits, 'seconds')):.2f}" for take in (np.mean, np.median, np.max)]
    sizes = [present(fits, field) for field in ("weights", "numbers")]
    medians = [f"{np.median(values):,.0f}" if values else "" for values in sizes]
    place = [f"{own.rank:.1f}", f"{own.place}"]
    return [f"**{model}**", *counted(own.accuracy), *place, f"{loss:.3f}", *seconds, *medians]


def present(records: Sequence[Record], field: str) -> list[float]:
    return [record[field] for record in records if record[field] is not None]


def counted(accuracy: Any) -> list[str]:
    """How many values there are, and their mean."""
    return [f"{np.isfinite(accuracy).sum()}", f"{np.nanmean(accuracy):.2f}"]


def wins(own: dict[str, Standing], names: Sequence[str], others: Any) -> str:
    """On how many sets a model is better, worse, equal."""
    rows = []
    for model, (accuracy, *_) in own.items():
        gap = accuracy[:, None] - others
        counts = [(gap > SAME).sum(0), (gap < -SAME).sum(0), (np.abs(gap) <= SAME).sum(0)]
        rows.append([model, *(" / ".join(map(str, each)) for each in zip(*counts, strict=True))])
    return table(["", *names], rows)


def agreement(sets: Iterable[str]) -> str:
    """Which published values can be a share of the test rows of these folds, and of all rows."""
    fits: dict[str, list[Any]] = {}
    for name in sets:
        n_rows = len(arrays_of(name)["y"])
        tests = {len(fold_of(name, fold)[3]) for fold in range(N_FOLDS)}
        if n_rows <= FEW_ROWS and len(tests) == 1:
            names, accuracy = published([name])
            both = [np.isin(accuracy[0], shares(n)) for n in (N_FOLDS * tests.pop(), n_rows)]
            for i in np.flatnonzero(np.isfinite(accuracy[0])):
                fits.setdefault(names[i].rsplit("_", 1)[-1], []).append([fit[i] for fit in both])
    rows = [
        [one, len(fit), *map(percent, np.mean(fit, axis=0), [0, 0])] for one, fit in fits.items()
    ]
    return table(["program", "values", "of these folds, %", "of all rows, %"], rows)


def shares(n: int) -> Any:
    """k of n in percent with one digit, rounded or cut off."""
    exact = 100.0 * np.arange(n + 1) / n
    return np.round(np.concatenate([exact, np.floor(10.0 * exact + SAME) / 10.0]), DIGITS)


def draw(groups: Sequence[tuple[str, dict[str, Standing], Any]], path: Path) -> None:
    """Mean ranks of the published classifiers in order, and ours in their places."""
    figure, axes = panels(1, len(groups), (5.2 * len(groups), 4.4), sharey=True)
    for ax, (title, own, ranks) in zip(axes[0], groups, strict=True):
        ax.plot(np.arange(1, len(ranks) + 1), np.sort(ranks), ".", color=GREY, ms=3)
        in_order = sorted(own.items(), key=lambda item: item[1].rank)
        for i, (model, (accuracy, rank, place)) in enumerate(in_order):
            n_sets = int(np.isfinite(accuracy).sum())
            fewer = f" ({n_sets} sets)" if n_sets < len(accuracy) else ""
            color = VERMILION if model.endswith("()") else BLUE
            ax.plot(place, rank, "o", color=color, ms=5)
            ax.annotate(
                f"{model}, {rank:.1f}{fewer}", (place, rank), (0.4, 0.95 - 0.055 * i),
                color=color, size=9, textcoords="axes fraction", va="center",
                arrowprops={"arrowstyle": "-", "color": color, "lw": 0.6, "relpos": (0, 0.5)},
            )  # fmt: skip
        ax.set(title=title, xlabel="place")
        ax.grid(color="0.9")
    axes[0, 0].invert_yaxis()
    axes[0, 0].set_ylabel("mean rank")
    save(figure, path)


BENCHMARK = Benchmark("uci121", cells, measure, write, timeout=86400.0, processor_seconds=1800)

if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["uci121", *sys.argv[1:]])
