"""The page and the picture of `benchmarks.uci121`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, GREY, VERMILION, panels, save
from benchmarks.markdown import percent, table
from benchmarks.records import Record, failures, path_of, read, results, select, values_of
from benchmarks.uci121_data import N_FOLDS, arrays_of, fold_of, published, training_rows

NAME = "uci121"
SMALL_ROWS = 900  # for training
N_BEST = 10
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
    failed = [{**record["cell"], **record} for record in failures(output, NAME)]
    cells = [record["cell"] for record in read(path_of(output, NAME))]
    code = {cell["model"]: cell["code"] for cell in cells}
    records, rows = newest(results(output, NAME), code), training_rows()
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
    missing = [
        f"{model}: "
        + ", ".join(f"{name} ({status.get((model, name), 'not run')})" for name in sets)
        for model in code
        if (sets := [name for name in rows if (model, name) not in done])
    ]
    values |= {
        "missing": "; ".join(missing) or "none",
        "agreement": agreement(groups["all"]),
        "made_by": made_by(records),
    }
    text = (markdown.PAGES / f"{NAME}.md").read_text(encoding="utf-8").format(**values)
    return markdown.write(output / f"{NAME}.md", [text])


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
        for i, (model, (_, rank, place)) in enumerate(sorted(own.items(), key=lambda m: m[1].rank)):
            color = VERMILION if model.endswith("()") else BLUE
            ax.plot(place, rank, "o", color=color, ms=5)
            ax.annotate(
                f"{model}, {rank:.1f}", (place, rank), (0.45, 0.95 - 0.07 * i), color=color, size=9,
                textcoords="axes fraction", va="center",
                arrowprops={"arrowstyle": "-", "color": color, "lw": 0.6, "relpos": (0, 0.5)},
            )  # fmt: skip
        ax.set(title=title, xlabel="place")
        ax.grid(color="0.9")
    axes[0, 0].invert_yaxis()
    axes[0, 0].set_ylabel("mean rank")
    save(figure, path)
