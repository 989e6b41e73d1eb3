"""Error and log loss against size, beside what is used for small models.

Both forms of SDGM along their paths of weights, from the default teacher and from boosted trees,
and small models of other kinds, each along its own size: the best within 10 to 1,000 stored numbers
by cross-validation on the training rows. A student is not cross-validated: the model that loses
least of its teacher, off the rows, is taken. The parts are the development sets and small UCI sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.size import smooth, trees
from benchmarks.size.page import write
from benchmarks.size.sets import QUICK, SETS, SPLITS
from benchmarks.size.small import Family, Small, cross_validated, score, with_shares, within
from benchmarks.size.students import FORMS, IN_SHORT, TEACHERS, Student, students

BUDGETS = (10, 20, 50, 100, 200, 500, 1000)
# for two classes alone, and its time grows as the cube of the rows: with at most 200
RVM, FOR_RVM = "RVM (fastrvm)", (
    "titanic", "thyroid", "heart", "breast_cancer", "hepatitis", "planning", "parkinsons",
    "breast-cancer-wisc-prog", "conn-bench-sonar-mines-rocks",
)  # fmt: skip
PEERS: dict[str, tuple[Family, str | None]] = {
    "decision tree": (trees.decision_tree, None),
    "random forest": (trees.random_forest, None),
    "boosted trees": (trees.boosted_trees, None),
    "L1 logistic, linear": (smooth.linear, None),
    "L1 logistic, quadratic": (smooth.quadratic, None),
    "FIGS": (trees.figs, "imodels"),
    "rule list": (trees.rule_list, "imodels"),
    "EBM": (trees.additive, "interpret"),
    RVM: (smooth.relevance_vectors, "fastrvm"),
    "reduced kernel machine": (smooth.reduced_set, None),
    "network, 8 bits": (smooth.network, None),
    "Gaussian mixtures": (smooth.gaussian_mixtures, None),
}
CRITERIA = ("log_loss", "error")
EITHER = "either form"
DIGITS = 6  # of errors and log losses that are kept


def cells(plan: Plan) -> list[Cell]:
    """Every teacher and every family that is installed, set by set."""
    peers = [name for name, (_, needs) in PEERS.items() if needs is None or find_spec(needs)]
    methods = [f"SDGM, {teacher}" for teacher in TEACHERS] + peers
    if plan.quick:
        methods = ["SDGM, default teacher", "decision tree", "Gaussian mixtures"]
    due: list[Cell] = [
        {"topic": topic, "data": name, "split": split, "method": method}
        for split in range(plan.repeats)
        for topic, names in (QUICK if plan.quick else SETS).items()
        for name in names
        for method in methods
        if method != RVM or name in FOR_RVM
    ]
    return sorted(due, key=lambda cell: (cell["split"], cell["method"] == RVM))


def measure(topic: str, data: str, split: int, method: str) -> Iterator[Record]:
    """A record per budget and what the choice is made by; of students, per form too."""
    X, labels, X_test, labels_test = SPLITS[topic](data, split)
    classes, y = np.unique(labels, return_inverse=True)
    y_test = np.searchsorted(classes, labels_test)
    is_own = method.startswith("SDGM, ")
    found = of_students if is_own else of_family
    for who, criterion, budget, small in found(method.removeprefix("SDGM, "), X, y, split):
        tested = score(small, X_test, y_test)
        yield {
            "who": f"{method}, {who}" if is_own else method,
            "criterion": criterion,
            "budget": budget,
            "bytes": small.bytes,
            "error": round(tested.error, DIGITS),
            "log_loss": round(tested.log_loss, DIGITS),
        }


Found = Iterator[tuple[str, str, int, Small]]


def of_students(teacher: str, X: Any, y: Any, seed: int) -> Found:
    """The most faithful within each budget, of each form and of both, and in eight bits."""
    shares = next(with_shares(lambda *_: iter(()))(X, y, seed))
    known: list[Student] = list(students(teacher, X, y, seed))
    shown = {form: (form,) for form in FORMS} | {EITHER: tuple(FORMS)}
    shown[EITHER + IN_SHORT] = tuple(form + IN_SHORT for form in FORMS)
    for who, forms in shown.items():
        own = [each for each in known if each.form in forms]
        loss = {id(each.small): each.divergence for each in own} | {id(shares): np.inf}
        models = [each.small for each in own] + [shares]
        for budget in BUDGETS:
            best = within(models, lambda model, loss=loss: loss[id(model)], budget)
            for criterion in CRITERIA:
                yield who, criterion, budget, best


def of_family(name: str, X: Any, y: Any, seed: int) -> Found:
    """The best by cross-validation within each budget."""
    family = with_shares(PEERS[name][0])
    models, scores = cross_validated(family, X, y, seed, BUDGETS[-1])
    losses: dict[str, Callable[[Small], float]] = {
        "log_loss": lambda model: scores[model.setting].log_loss,
        "error": lambda model: scores[model.setting].error,
    }
    for criterion, budget in product(CRITERIA, BUDGETS):
        yield name, criterion, budget, within(models, losses[criterion], budget)


BENCHMARK = Benchmark(
    "size", cells, measure, write, timeout=7200.0, processor_seconds=1800, parts=tuple(SETS)
)
