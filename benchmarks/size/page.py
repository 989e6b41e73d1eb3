"""The page of sizes: means and ranks at every budget, what wins where, and the curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, panels, save
from benchmarks.markdown import percent, table
from benchmarks.records import Record, results, select, values_of
from benchmarks.size.students import IN_SHORT

OWN = "SDGM"
# of our own, what is compared with the other methods, and ranked; and the same with short weights
HEADLINE = "SDGM, default teacher, either form"
SHORT = HEADLINE + IN_SHORT
# the budget of the tables by set and by bytes, and those with a target
TYPICAL = 50
FROM, TO = 20, 500
STYLES = {
    HEADLINE: (VERMILION, 2.6, "o-"),
    SHORT: (VERMILION, 1.6, "o:"),
    "network, 8 bits": ("black", 1.2, "D-"),
    "L1 logistic, linear": (BLUE, 1.2, "s-"),
    "L1 logistic, quadratic": (BLUE, 1.2, "s--"),
    "Gaussian mixtures": (PURPLE, 1.2, "v-"),
    "reduced kernel machine": (PURPLE, 1.2, "v--"),
    "boosted trees": (GREEN, 1.2, "^-"),
    "random forest": (GREEN, 1.2, "^--"),
    "decision tree": (GREEN, 1.2, "^:"),
    "EBM": (ORANGE, 1.2, "x-"),
    "FIGS": (ORANGE, 1.2, "x--"),
    "rule list": (ORANGE, 1.2, "x:"),
}


def write(output: Path) -> Path:
    """Tables, sentences and the picture."""
    records = results(output, "size")
    found = of_all_methods(records)
    budgets = values_of(found, "budget")
    sets = values_of(found, "data")
    methods = [who for who in values_of(found, "who") if is_shown(who)]
    loss, error = (means(found, field, methods, sets, budgets) for field in ("log_loss", "error"))
    by_loss, by_error = (
        means(found, "bytes", methods, sets, budgets, criterion)
        for criterion in ("log_loss", "error")
    )
    sizes = [np.exp(np.log(np.maximum(each, 1.0)).mean(axis=1)) for each in (by_loss, by_error)]
    draw(methods, budgets, (loss, error), sizes, output / "img" / "size.png")
    return markdown.write_filled(
        output,
        "size",
        made_by=made_by(found),
        n_sets=len(sets),
        sets=", ".join(sets),
        n_splits=len(values_of(found, "split")),
        n_seeds=len({(r["data"], r["split"]) for r in found}),
        at_typical=sentence(methods, budgets, loss, error),
        verdict=verdict(methods, budgets, loss, error),
        loss=by_budget(methods, budgets, loss.mean(axis=1), ".3f"),
        error=by_budget(methods, budgets, 100.0 * error.mean(axis=1), ".2f"),
        ranks=ranks(methods, budgets, loss, error),
        bytes=by_budget(methods, budgets, np.median(by_loss, axis=1), ",.0f", best=False),
        front=front(methods, sizes[0], loss.mean(axis=1), "log loss", ".3f"),
        front_of_error=front(methods, sizes[1], 100.0 * error.mean(axis=1), "error, %", ".1f"),
        by_set=by_set(methods, sets, loss[:, :, budgets.index(TYPICAL)]),
        typical=TYPICAL,
        missing=of_some_sets(records, found),
    )


def is_shown(who: str) -> bool:
    """Of our own with short weights, one."""
    return not (who.startswith(OWN) and who.endswith(IN_SHORT)) or who == SHORT


def of_all_methods(records: Sequence[Record]) -> list[Record]:
    """Splits that every method of the first set has been measured on, and those methods."""
    tasks = {(r["data"], r["split"]) for r in records}
    methods = {task: {r["who"] for r in select_task(records, task)} for task in tasks}
    every = set.intersection(*[own for task, own in methods.items() if is_finished(own)])
    whole = {task for task, own in methods.items() if every <= own}
    return [r for r in records if r["who"] in every and (r["data"], r["split"]) in whole]


def select_task(records: Sequence[Record], task: tuple[str, int]) -> list[Record]:
    return select(records, data=task[0], split=task[1])


def is_finished(methods: set[str]) -> bool:
    """Whether the last of the others has been measured, and our own."""
    return {"Gaussian mixtures", HEADLINE} <= methods


def means(
    records: Sequence[Record],
    field: str,
    methods: Sequence[str],
    sets: Sequence[str],
    budgets: Sequence[int],
    criterion: str | None = None,
) -> Any:
    """Means over splits of a field, chosen by it or by another: (methods, sets, budgets)."""
    cells: dict[tuple[str, str, int], list[float]] = {}
    for r in records:
        if r["criterion"] == (criterion or field):
            cells.setdefault((r["who"], r["data"], r["budget"]), []).append(r[field])
    return np.array([[[np.mean(cells[m, d, b]) for b in budgets] for d in sets] for m in methods])


def by_budget(
    methods: Sequence[str], budgets: Sequence[int], values: Any, form: str, best: bool = True
) -> str:
    """A line per method, the best of each column in bold."""
    lowest = values.min(axis=0)
    rows = []
    for name, line in zip(methods, values, strict=True):
        words = [
            f"**{value:{form}}**" if best and value == low else f"{value:{form}}"
            for value, low in zip(line, lowest, strict=True)
        ]
        rows.append([name, *words])
    return table(["", *(f"{budget:,}" for budget in budgets)], rows)


def compared(methods: Sequence[str]) -> list[int]:
    """The methods that are ranked: one of our own."""
    return [i for i, m in enumerate(methods) if not m.startswith(OWN) or m == HEADLINE]


def in_bytes(methods: Sequence[str]) -> list[int]:
    """The methods that are compared by bytes: ours with short weights too."""
    return [i for i, m in enumerate(methods) if not m.startswith(OWN) or m in (HEADLINE, SHORT)]


def frontier(methods: Sequence[str], sizes: Any, values: Any) -> list[tuple[float, float, str]]:
    """Where nothing with as few bytes has lower values: the Pareto front, from below."""
    points = sorted(
        (float(sizes[i, b]), float(values[i, b]), methods[i])
        for i in in_bytes(methods)
        for b in range(sizes.shape[1])
    )
    lowest = np.minimum.accumulate([np.inf, *(value for _, value, _ in points)])
    return [point for point, before in zip(points, lowest, strict=False) if point[1] < before]


def front(methods: Sequence[str], sizes: Any, values: Any, what: str, form: str) -> str:
    """The Pareto front as a table."""
    points = frontier(methods, sizes, values)
    rows = [[f"{size:,.0f}", name, f"{value:{form}}"] for size, value, name in points]
    return table(["bytes", "method", what], rows)


def ranks(methods: Sequence[str], budgets: Sequence[int], loss: Any, error: Any) -> str:
    """Mean ranks over sets by log loss and by error."""
    own = compared(methods)
    by_loss, by_error = (
        rankdata(values[own], axis=0).mean(axis=1) for values in (loss, error)
    )  # (methods, budgets)
    rows = [
        [methods[i], *(f"{a:.1f} / {b:.1f}" for a, b in zip(x, y, strict=True))]
        for i, x, y in zip(own, by_loss, by_error, strict=True)
    ]
    return table(["", *(f"{budget:,}" for budget in budgets)], rows)


def verdict(methods: Sequence[str], budgets: Sequence[int], loss: Any, error: Any) -> str:
    """Who has the lowest means at each budget with a target, and how far we are behind."""
    own, head = compared(methods), methods.index(HEADLINE)
    rows = []
    for b, budget in enumerate(budgets):
        if not FROM <= budget <= TO:
            continue
        line = [f"{budget:,}"]
        for values, unit, form in ((loss, 1.0, "+.3f"), (error, 100.0, "+.2f")):
            mean = unit * values[:, :, b].mean(axis=1)
            best = min(own, key=lambda i, mean=mean: mean[i])
            others = min((i for i in own if i != head), key=lambda i, mean=mean: mean[i])
            difference = unit * (values[head, :, b] - values[others, :, b])
            spread = difference.std() / np.sqrt(max(len(difference) - 1, 1))
            line += [methods[best], methods[others],
                     f"{difference.mean():{form}} ± {spread:{form[1:]}}"]  # fmt: skip
        rows.append(line)
    head_words = ["numbers", "lowest log loss", "best other", "SDGM less the best other",
                  "lowest error", "best other", "SDGM less the best other, points"]  # fmt: skip
    return table(head_words, rows)


def sentence(methods: Sequence[str], budgets: Sequence[int], loss: Any, error: Any) -> str:
    """What a user needs to know."""
    b, head = budgets.index(TYPICAL), methods.index(HEADLINE)
    mean_loss, mean_error = loss[:, :, b].mean(axis=1), error[:, :, b].mean(axis=1)
    others = [i for i in compared(methods) if i != head]
    by_loss = min(others, key=lambda i: mean_loss[i])
    by_error = min(others, key=lambda i: mean_error[i])
    return (
        f"With at most {TYPICAL} stored numbers, SDGM has a mean error of "
        f"{percent(mean_error[head], 1)}% and a log loss of {mean_loss[head]:.3f}; of the others "
        f"the lowest error is {percent(mean_error[by_error], 1)}% ({methods[by_error]}) and the "
        f"lowest log loss {mean_loss[by_loss]:.3f} ({methods[by_loss]})."
    )


def by_set(methods: Sequence[str], sets: Sequence[str], loss: Any) -> str:
    """Log loss of every ranked method on every set."""
    own = compared(methods)
    best = loss[own].min(axis=0)
    rows = [
        [methods[i], *(f"**{v:.3f}**" if v == low else f"{v:.3f}"
                       for v, low in zip(loss[i], best, strict=True))]
        for i in own
    ]  # fmt: skip
    return table(["", *sets], rows)


def of_some_sets(records: Sequence[Record], found: Sequence[Record]) -> str:
    """Methods that cannot do all sets, beside ours on the same."""
    known = values_of(found, "who")
    rows = []
    for name in values_of(records, "who"):
        own = select(records, who=name, criterion="log_loss")
        tasks = {(r["data"], r["split"]) for r in own}
        ours = select(found, who=HEADLINE, criterion="log_loss")
        shared = tasks & {(r["data"], r["split"]) for r in ours}
        if name in known or not shared:
            continue
        sets = ", ".join(dict.fromkeys(data for data, _ in sorted(shared)))
        for who, group in ((name, own), ("SDGM", ours)):
            line = [r for r in group if (r["data"], r["split"]) in shared]
            by = [np.mean([r["log_loss"] for r in select(line, budget=b)])
                  for b in values_of(line, "budget")]  # fmt: skip
            rows.append([who, sets, *(f"{value:.3f}" for value in by)])
    budgets = [f"{b:,}" for b in values_of(found, "budget")]
    return table(["", "sets", *budgets], rows) if rows else ""


def draw(
    methods: Sequence[str], budgets: Sequence[int], values: Any, sizes: Any, path: Path
) -> None:
    """Mean log loss and error against numbers and bytes of the models that were chosen."""
    figure, axes = panels(2, 2, (10.5, 8.5), sharey="row")
    for row, (field, what) in enumerate(zip(values, ("log loss", "error, %"), strict=True)):
        mean = (100.0 if row else 1.0) * field.mean(axis=1)
        for ax, x, shown in (
            (axes[row, 0], np.broadcast_to(budgets, mean.shape), compared(methods)),
            (axes[row, 1], sizes[row], in_bytes(methods)),
        ):
            for i in shown:
                color, width, style = STYLES.get(methods[i], (GREY, 0.9, "-"))
                ax.plot(x[i], mean[i], style, color=color, lw=width, ms=4, label=methods[i],
                        zorder=3 if methods[i] == HEADLINE else 2)  # fmt: skip
        points = frontier(methods, sizes[row], mean)
        axes[row, 1].step([p[0] for p in points], [p[1] for p in points], where="post",
                          color="0.85", lw=7, zorder=1, label="Pareto front")  # fmt: skip
        # class shares, where a method has nothing else to offer, would hide the rest
        top = [mean[i, 1] for i in compared(methods)]
        axes[row, 0].set_ylim(0.92 * mean.min(), np.median(top) * 1.25)
        for ax, words in zip(axes[row], ("numbers at most", "bytes, geometric mean"), strict=True):
            ax.set(xscale="log", xlabel=words, ylabel=what)
            ax.grid(color="0.9")
        axes[row, 0].set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        axes[row, 0].minorticks_off()
    handles, labels = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8.5)
    save(figure, path)
