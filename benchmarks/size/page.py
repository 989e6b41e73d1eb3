"""The page of sizes: means and ranks at every budget, what wins where, and the curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, panels, save
from benchmarks.markdown import percent, table
from benchmarks.records import Record, results, select, values_of
from benchmarks.size.sets import SETS
from benchmarks.size.students import IN_SHORT

PARTS = {"development": "development sets", "uci": "small UCI sets"}
OWN = "SDGM"
# of our own, what is compared with the other methods, and ranked; and the same with short weights
HEADLINE = "SDGM, default teacher, either form"
SHORT = HEADLINE + IN_SHORT
# the budget of the tables by set and by bytes, and those with a target
TYPICAL = 50
# of so many sets, one is left out where the comparison is shown once more
ONE_IN = 5
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


class Means(NamedTuple):
    """Means over splits of every method on every set, at every budget."""

    methods: list[str]
    sets: list[str]
    budgets: list[int]
    loss: Any  # (methods, sets, budgets), of the models that were chosen by log loss
    error: Any  # of those that were chosen by error

    def without(self, sets: Sequence[str]) -> Means:
        """The same of fewer sets."""
        kept = [i for i, name in enumerate(self.sets) if name not in sets]
        return self._replace(
            sets=[self.sets[i] for i in kept], loss=self.loss[:, kept], error=self.error[:, kept]
        )


def write(output: Path) -> Path:
    """Sentences, and tables and a picture per part."""
    records = results(output, "size")
    found = {topic: of_all_methods(select(records, topic=topic)) for topic in PARTS}
    found = {topic: own for topic, own in found.items() if own}
    return markdown.write_filled(
        output,
        "size",
        at_typical=" ".join(sentence(means_of(own), PARTS[topic]) for topic, own in found.items()),
        made_by=made_by([record for own in found.values() for record in own]),
        parts="\n".join(
            part(topic, select(records, topic=topic), own, output) for topic, own in found.items()
        ),
    )


def part(topic: str, records: Sequence[Record], found: Sequence[Record], output: Path) -> str:
    """The tables of some sets; their picture is drawn beside."""
    m = means_of(found)
    by_loss, by_error = (
        means(found, "bytes", m.methods, m.sets, m.budgets, criterion)
        for criterion in ("log_loss", "error")
    )
    sizes = [np.exp(np.log(np.maximum(each, 1.0)).mean(axis=1)) for each in (by_loss, by_error)]
    loss, error = m.loss.mean(axis=1), 100.0 * m.error.mean(axis=1)
    draw(m, sizes, output / "img" / f"size-{topic}.png")
    ahead = farthest_ahead(m)
    return markdown.filled(
        "size-part",
        topic=topic,
        title=PARTS[topic],
        n_sets=len(m.sets),
        sets=", ".join(m.sets),
        n_splits=len(values_of(found, "split")),
        verdict=verdict(m),
        ahead=", ".join(ahead),
        verdict_without=verdict(m.without(ahead)),
        loss=by_budget(m, loss, ".3f"),
        error=by_budget(m, error, ".2f"),
        ranks=ranks(m),
        bytes=by_budget(m, np.median(by_loss, axis=1), ",.0f", best=False),
        front=front(m.methods, sizes[0], loss, "log loss", ".3f"),
        front_of_error=front(m.methods, sizes[1], error, "error, %", ".1f"),
        by_set=by_set(m),
        typical=TYPICAL,
        not_measured=", ".join(d for d in SETS[topic] if d not in m.sets) or "none",
        missing=of_some_sets(records, found),
    )


def means_of(records: Sequence[Record]) -> Means:
    """Of all methods, sets and budgets that there are."""
    who, sets, budgets = (values_of(records, field) for field in ("who", "data", "budget"))
    loss, error = (means(records, field, who, sets, budgets) for field in ("log_loss", "error"))
    return Means(who, sets, budgets, loss, error)


def of_all_methods(records: Sequence[Record]) -> list[Record]:
    """Splits that every method of the first set has been measured on, and those methods."""
    tasks = {(r["data"], r["split"]) for r in records}
    methods = {task: {r["who"] for r in select_task(records, task)} for task in tasks}
    finished = [own for own in methods.values() if is_finished(own)]
    every = set.intersection(*finished) if finished else {HEADLINE}
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


def by_budget(m: Means, values: Any, form: str, best: bool = True) -> str:
    """A line per method, the best of each column in bold."""
    lowest = values.min(axis=0)
    rows = []
    for name, line in zip(m.methods, values, strict=True):
        words = [
            f"**{value:{form}}**" if best and value == low else f"{value:{form}}"
            for value, low in zip(line, lowest, strict=True)
        ]
        rows.append([name, *words])
    return table(["", *(f"{budget:,}" for budget in m.budgets)], rows)


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


def ranks(m: Means) -> str:
    """Mean ranks over sets by log loss and by error."""
    own = compared(m.methods)
    by_loss, by_error = (
        rankdata(values[own], axis=0).mean(axis=1) for values in (m.loss, m.error)
    )  # (methods, budgets)
    rows = [
        [m.methods[i], *(f"{a:.1f} / {b:.1f}" for a, b in zip(x, y, strict=True))]
        for i, x, y in zip(own, by_loss, by_error, strict=True)
    ]
    return table(["", *(f"{budget:,}" for budget in m.budgets)], rows)


def best_of_all_and_others(m: Means, mean: Any) -> tuple[int, int]:
    """The method with the lowest mean, and the one with the lowest of all but ours."""
    order = sorted(compared(m.methods), key=lambda i: float(mean[i]))
    return order[0], next(i for i in order if m.methods[i] != HEADLINE)


def verdict(m: Means) -> str:
    """Who has the lowest means at each budget with a target, and how far we are behind."""
    head = m.methods.index(HEADLINE)
    rows = []
    for b, budget in enumerate(m.budgets):
        if not FROM <= budget <= TO:
            continue
        line = [f"{budget:,}"]
        for values, unit, form in ((m.loss, 1.0, "+.3f"), (m.error, 100.0, "+.2f")):
            best, other = best_of_all_and_others(m, values[:, :, b].mean(axis=1))
            difference = unit * (values[head, :, b] - values[other, :, b])
            spread = difference.std() / np.sqrt(max(len(difference) - 1, 1))
            line += [in_short(m.methods[best]), m.methods[other],
                     f"{difference.mean():{form}} ± {spread:{form[1:]}}"]  # fmt: skip
        rows.append(line)
    head_words = ["numbers", "lowest log loss", "best other", "SDGM less the best other",
                  "lowest error", "best other", "SDGM less the best other, points"]  # fmt: skip
    return table(head_words, rows)


def in_short(method: str) -> str:
    """Where one of our own is compared, it needs no longer name."""
    return OWN if method == HEADLINE else method


def farthest_ahead(m: Means) -> list[str]:
    """The sets where our log loss is farthest below that of the best other, at a typical budget."""
    loss = m.loss[:, :, m.budgets.index(TYPICAL)]
    _, other = best_of_all_and_others(m, loss.mean(axis=1))
    order = np.argsort(loss[m.methods.index(HEADLINE)] - loss[other], kind="stable")
    n_left_out = min(max(len(m.sets) // ONE_IN, 1), len(m.sets) - 1)
    return [m.sets[i] for i in order[:n_left_out]]


def sentence(m: Means, where: str) -> str:
    """What a user needs to know."""
    b, head = m.budgets.index(TYPICAL), m.methods.index(HEADLINE)
    loss, error = (values[:, :, b].mean(axis=1) for values in (m.loss, m.error))
    (_, by_loss), (_, by_error) = (best_of_all_and_others(m, mean) for mean in (loss, error))
    return (
        f"On {len(m.sets)} {where} and with at most {TYPICAL} stored numbers, SDGM has a mean "
        f"error of {percent(error[head], 1)}% and a log loss of {loss[head]:.3f}; of the others "
        f"the lowest error is {percent(error[by_error], 1)}% ({m.methods[by_error]}) and the "
        f"lowest log loss {loss[by_loss]:.3f} ({m.methods[by_loss]})."
    )


def by_set(m: Means) -> str:
    """Log loss and error of every ranked method on every set, at a typical budget."""
    own, b = compared(m.methods), m.budgets.index(TYPICAL)
    rows = []
    for s, name in enumerate(m.sets):
        loss, error = m.loss[own, s, b], 100.0 * m.error[own, s, b]
        words = [f"**{v:.3f}**" if v == loss.min() else f"{v:.3f}" for v in loss]
        rows.append([name, *(f"{w} / {e:.1f}" for w, e in zip(words, error, strict=True))])
    return table(["", *(in_short(m.methods[i]) for i in own)], rows)


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


def draw(m: Means, sizes: Any, path: Path) -> None:
    """Mean log loss and error against numbers and bytes of the models that were chosen."""
    methods, budgets = m.methods, m.budgets
    figure, axes = panels(2, 2, (10.5, 8.5), sharey="row")
    for row, (field, what) in enumerate(
        zip((m.loss, m.error), ("log loss", "error, %"), strict=True)
    ):
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
