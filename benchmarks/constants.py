"""Constants of automatic fits.

Each constant at several values, the others as they are: error, log loss and stored numbers of both
forms on the development sets. What is faithful, how far weights may leave, and how often the rows
of the teacher count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import markdown
from benchmarks.accuracy import n_numbers
from benchmarks.data import BUNDLED, IDA, split_of
from benchmarks.environment import made_by
from benchmarks.markdown import percent, table
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from benchmarks.uci121 import loss_of, own_code
from sdgm import KernelSDGMClassifier, SDGMClassifier

FORMS = {"SDGMClassifier": SDGMClassifier, "KernelSDGMClassifier": KernelSDGMClassifier}
CHOOSING = "sdgm.estimators.choosing"
# where a constant is, if not in the form, and what is tried in place of its value
CONSTANTS: dict[str, tuple[str, tuple[float, ...]]] = {
    "FAITHFUL": (CHOOSING, (0.003, 0.01)),
    "FAITHFUL_SHARE": (CHOOSING, (0.02, 0.1)),
    "NEEDLESS": (CHOOSING, (0.0, 0.0005, 0.002)),
    "SPENT": (CHOOSING, (0.0, 0.005)),
    "replicates": ("", (8.0, 16.0, 32.0, 64.0)),
}
AS_IT_IS = "none"
PLACES = {
    "SDGMClassifier": "sdgm.estimators.quadratic_form.QuadraticForm",
    "KernelSDGMClassifier": "sdgm.estimators.kernel_form.KernelForm",
}


def place_of(form: str, constant: str) -> Any:
    """The module or class that has it."""
    name = CONSTANTS[constant][0] or PLACES[form]
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def cells(plan: Plan) -> list[Cell]:
    """Both forms as they are, then every other value of every constant."""
    shared = {"splits": plan.repeats, "code": own_code()}
    changes = [] if plan.quick else [(name, v) for name, (_, vs) in CONSTANTS.items() for v in vs]
    return [
        {"form": form, "constant": constant, "value": value, **shared}
        for constant, value in ((AS_IT_IS, 0.0), *changes)
        for form in FORMS
        if constant == AS_IT_IS or value != getattr(place_of(form, constant), constant)
    ]


def measure(form: str, constant: str, value: float, splits: int, code: str) -> Iterator[Record]:
    """All development sets with one constant changed, if any."""
    with (
        nullcontext()
        if constant == AS_IT_IS
        else patch.object(place_of(form, constant), constant, value)
    ):
        for data in (*IDA, *BUNDLED):
            for split in range(splits):
                X, y, X_test, y_test = split_of(data, split)
                begin = process_time()
                model = FORMS[form](random_state=split).fit(X, y)
                yield {
                    "data": data,
                    "split": split,
                    "seconds": process_time() - begin,
                    "error": float(np.mean(model.predict(X_test) != y_test)),
                    "log_loss": loss_of(model, X_test, y_test),
                    "numbers": n_numbers(model, X),
                }


def write(output: Path) -> Path:
    """A table per form, the models as they are first."""
    records = results(output, "constants")
    records = select(records, code=records[-1]["code"])
    head = ["constant", "value", "in use", "error %", "log loss", "numbers, median", "fit s, mean"]
    parts = []
    for form in values_of(records, "form"):
        own = select(records, form=form)
        tried = dict.fromkeys((record["constant"], record["value"]) for record in own)
        rows = [line(form, *each, select(own, constant=each[0], value=each[1])) for each in tried]
        parts += [f"## {form}", table(head, rows)]
    return markdown.write_filled(
        output, "constants", made_by=made_by(records), tables="\n\n".join(parts)
    )


def line(form: str, constant: str, value: float, records: list[Record]) -> list[str]:
    """Of a table: means over data sets of means over splits."""

    def per_set(field: str) -> Any:
        sets = values_of(records, "data")
        return np.array([np.mean([r[field] for r in select(records, data=d)]) for d in sets])

    changes = constant != AS_IT_IS
    return [
        constant,
        f"{value:g}" if changes else "",
        f"{getattr(place_of(form, constant), constant):g}" if changes else "",
        percent(per_set("error").mean()),
        f"{per_set('log_loss').mean():.4f}",
        f"{np.median(per_set('numbers')):.0f}",
        f"{per_set('seconds').mean():.2f}",
    ]


BENCHMARK = Benchmark("constants", cells, measure, write, repeats=3, timeout=7200.0)
