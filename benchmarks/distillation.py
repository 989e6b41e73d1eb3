"""From a forest or boosted trees to a few weights.

Random forest and histogram gradient boosting as teachers of both forms, on the 15 development sets:
what the student loses of its teacher, how small it is, and the same at given numbers of weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from benchmarks import markdown
from benchmarks.data import BUNDLED, IDA, split_of
from benchmarks.environment import made_by
from benchmarks.figures import BLUE, VERMILION, panels, save
from benchmarks.markdown import percent, table
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import timed
from benchmarks.uci121 import loss_of, own_code, stored_numbers
from sdgm import KernelSDGMClassifier, SDGMClassifier

TEACHERS: dict[str, Any] = {
    "random forest": RandomForestClassifier,
    "gradient boosting": HistGradientBoostingClassifier,
}
STUDENTS: dict[str, Any] = {
    "SDGMClassifier": SDGMClassifier,
    "KernelSDGMClassifier": KernelSDGMClassifier,
}
AS_CHOSEN = 0
BUDGETS = (AS_CHOSEN, 10, 20, 60)
FIELDS = ("error", "log_loss", "numbers", "weights", "seconds")
HEAD = [
    "", "error %", "log loss", "numbers, median", "weights, median", "fit s, median",
    "points behind the teacher",
]  # fmt: skip


def cells(plan: Plan) -> list[Cell]:
    """Every teacher of every form on every split."""
    code = own_code()
    return [
        {"data": name, "split": split, "teacher": teacher, "student": student, "code": code}
        for split in range(plan.repeats)
        for name in (("heart", "iris") if plan.quick else (*IDA, *BUNDLED))
        for teacher, student in product(TEACHERS, STUDENTS)
    ]


def measure(data: str, split: int, teacher: str, student: str, code: str) -> Iterator[Record]:
    """The teacher itself, then the student of every size."""
    rows = split_of(data, split)
    make = partial(TEACHERS[teacher], random_state=split)
    yield {"who": teacher, "budget": AS_CHOSEN, **one_fit(make(), rows)}
    for budget in BUDGETS:
        size = {} if budget == AS_CHOSEN else {"max_weights": budget}
        model = STUDENTS[student](teacher=make(), random_state=split, **size)
        yield {"who": student, "budget": budget, **one_fit(model, rows)}


def one_fit(model: Any, rows: Any) -> Record:
    """Fit, and measure on the test rows."""
    X, y, X_test, y_test = rows
    _, seconds, _ = timed(lambda: model.fit(X, y))
    return {
        "error": float(np.mean(model.predict(X_test) != y_test)),
        "log_loss": loss_of(model, X_test, y_test),
        "numbers": stored_numbers(model, X),
        "weights": int(getattr(model, "n_active_weights_", 0)),
        "seconds": seconds,
    }


def per_set(records: Sequence[Record], **values: Any) -> Any:
    """Means over the splits of every set, (sets, fields)."""
    sets = [select(records, data=name, **values) for name in values_of(records, "data")]
    return np.array([[np.mean([r[field] for r in own]) for field in FIELDS] for own in sets])


def write(output: Path) -> Path:
    """Teachers and their students, the difference on every set, and the curves."""
    records = results(output, "distillation")
    records = select(records, code=records[-1]["code"])
    lines, sets, curves = [], [], {}
    for teacher, student in product(TEACHERS, STUDENTS):
        own = select(records, teacher=teacher, student=student)
        ahead = per_set(own, who=teacher)
        sizes = [per_set(own, who=student, budget=budget) for budget in BUDGETS]
        gap = 100.0 * (sizes[0] - ahead)[:, 0]
        behind = f"{gap.mean():+.2f} ± {gap.std() / np.sqrt(max(len(gap) - 1, 1)):.2f}"
        lines += [line(f"**{teacher}**", ahead, ""), line(student, sizes[0], behind)]
        sets.append([f"{student}, {teacher}", *(f"{value:+.1f}" for value in gap)])
        curves[teacher, student] = np.mean([size - ahead for size in sizes[1:]], axis=1)
    draw(curves, output / "img" / "distillation.png")
    return markdown.write_filled(
        output,
        "distillation",
        made_by=made_by(records),
        n_sets=len(gap),
        n_splits=len(values_of(records, "split")),
        lines=table(HEAD, lines),
        sets=table(["", *values_of(records, "data")], sets),
    )


def line(name: str, who: Any, behind: str) -> list[str]:
    error, loss = who[:, :2].mean(axis=0)
    numbers, weights, seconds = np.median(who[:, 2:], axis=0)
    sizes = [f"{numbers:,.0f}", f"{weights:,.0f}" if weights else "", f"{seconds:.2f}"]
    return [name, percent(error), f"{loss:.3f}", *sizes, behind]


def draw(curves: dict[tuple[str, str], Any], path: Path) -> None:
    """What the student has more than its teacher, against the most weights it may have."""
    figure, axes = panels(1, 2, (9, 3.8))
    for (teacher, student), curve in curves.items():
        color = BLUE if student == "SDGMClassifier" else VERMILION
        style = "o-" if teacher == "random forest" else "s--"
        for ax, values in zip(axes[0], (100.0 * curve[:, 0], curve[:, 1]), strict=True):
            ax.plot(BUDGETS[1:], values, style, color=color, ms=4, label=f"{student}, {teacher}")
    for ax, unit in zip(axes[0], ("error, points", "log loss"), strict=True):
        ax.axhline(0.0, color="0.4", lw=1)
        ax.set(xscale="log", xlabel="weights at most", ylabel=f"behind the teacher: {unit}")
        ax.set_xticks(BUDGETS[1:], map(str, BUDGETS[1:]))
        ax.minorticks_off()
        ax.grid(color="0.9")
    axes[0, 1].legend(frameon=False, fontsize=8)
    save(figure, path)


BENCHMARK = Benchmark("distillation", cells, measure, write, timeout=7200.0)
